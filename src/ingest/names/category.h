// The meaning of the categories that profilers give their events, in any file format.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/tables.h"

namespace headroom {

enum class CategoryRule : std::uint8_t {
  kOperator,
  kAnnotation,
  kRuntimeCall,
  kDriverCall,
  kPythonFrame,
  kOverhead,
  kGpuAnnotation,
  kStep,  ///< An annotation that is a step of the training loop.
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kCudaEvent,
  kOther,
};

/// Returns the meaning of a category; kOther if unknown. O(number of known categories).
CategoryRule RuleOfCategory(std::string_view category);

inline bool IsGpuTask(CategoryRule rule) {
  return rule == CategoryRule::kKernel || rule == CategoryRule::kMemcpy ||
         rule == CategoryRule::kMemset;
}

/// Returns the kind of a span with this category on a host thread.
HostEventKind HostKindOf(CategoryRule rule);
/// Requires IsGpuTask(rule).
GpuTaskKind GpuKindOf(CategoryRule rule);

/// Returns the direction of a copy from its name; kOther if unknown.
CopyKind CopyKindOf(std::string_view name);

}  // namespace headroom
