// What the categories mean that profilers give their events, in whatever file format.
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

/// What a category means; kOther where it is not known. O(number of known ones).
CategoryRule RuleOfCategory(std::string_view category);

inline bool IsGpuTask(CategoryRule rule) {
  return rule == CategoryRule::kKernel || rule == CategoryRule::kMemcpy ||
         rule == CategoryRule::kMemset;
}

/// What a span of such a category is on a host thread.
HostEventKind HostKindOf(CategoryRule rule);
/// REQUIRES: IsGpuTask(rule).
GpuTaskKind GpuKindOf(CategoryRule rule);

/// Which way a copy goes, from its name.
CopyKind CopyKindOf(std::string_view name);

}  // namespace headroom
