// Selects GPU tasks and their host work by name, place and mask.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recording.h"

namespace headroom::python {

/// Criteria for tasks; a missing criterion matches every task. Regular expressions are RE2 and
/// match anywhere in a name.
struct Criteria {
  std::optional<std::string> kernel;       ///< Name of the GPU task.
  std::optional<std::string> op;           ///< An operator around its launch, at any depth.
  std::optional<std::string> layer;        ///< The innermost layer.
  std::optional<std::string> phase;        ///< A name of NameOfPhase().
  std::optional<std::string> family;       ///< A name of Name(WorkFamily).
  std::optional<std::int64_t> stream;      ///< Stream number in the trace.
  std::optional<std::int64_t> device;      ///< Ordinal of the GPU.
  std::optional<std::int64_t> step;        ///< The trace's own number of the step.
  std::optional<std::vector<bool>> where;  ///< By task of the graph: true for a match.

  /// Returns true if there is no criterion.
  bool Empty() const { return OfHostAlone() && !op && !layer && !phase; }
  /// Returns true if no criterion requires a GPU task.
  bool OfHostAlone() const { return !kernel && !family && !stream && !device && !step && !where; }
};

/// Selected tasks and host events of a job.
struct Selected {
  std::vector<TaskIndex> tasks;  ///< GPU tasks, in the graph's order.
  /// By row of host_events: operators and everything inside. If all criteria also fit operators
  /// (operator, layer, phase), the operators that meet them, with or without launches. Otherwise,
  /// the innermost operators that launched the tasks.
  std::vector<bool> host;
  bool everything = false;  ///< No criterion given: includes host work outside recorded events.
};

/// Throws StatusError for an invalid regular expression, an unknown name, or a mask of another
/// length.
Selected Select(const Recording& recording, const Criteria& criteria);

}  // namespace headroom::python
