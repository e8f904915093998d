// Choosing GPU tasks, and the host's share of them, by name, place and mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recording.h"

namespace headroom::python {

/// What a task must be; what is not given, any is. Regular expressions are RE2 and match anywhere
/// in a name.
struct Criteria {
  std::optional<std::string> kernel;       ///< Name of the GPU task.
  std::optional<std::string> op;           ///< An operator around its launch, at any depth.
  std::optional<std::string> layer;        ///< The innermost layer.
  std::optional<std::string> phase;        ///< Exactly, as NameOfPhase() tells.
  std::optional<std::string> family;       ///< Exactly, as Name(WorkFamily) tells.
  std::optional<std::int64_t> stream;      ///< Number of the profiler.
  std::optional<std::int64_t> device;      ///< Ordinal.
  std::optional<std::int64_t> step;        ///< Row of the recorded steps.
  std::optional<std::vector<bool>> where;  ///< By task of the graph.

  /// No criterion is given.
  bool Empty() const { return OfHostAlone() && !op && !layer && !phase; }
  /// No criterion is given that only a GPU task can meet.
  bool OfHostAlone() const { return !kernel && !family && !stream && !device && !step && !where; }
};

/// Parts of a job.
struct Selected {
  std::vector<TaskIndex> tasks;  ///< GPU tasks, in the graph's order.
  /// By row of host_events: operators and all that happens inside. With criteria of the host alone
  /// (operator, layer, phase) those that meet them, whether or not they launch anything; else the
  /// innermost operators that launched the tasks.
  std::vector<bool> host;
  bool everything = false;  ///< No criterion at all: also host work under no recorded event.
};

/// Throws StatusError where a criterion is no regular expression, no name that exists, or a mask of
/// another length.
Selected Select(const Recording& recording, const Criteria& criteria);

}  // namespace headroom::python
