// Options of an analysis: which steps of a trace to analyze, and facts from its caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"

namespace headroom {

/// One step on the host's clock.
struct HostStep {
  std::int64_t index;
  Interval host;
  HostEventId mark = {};  ///< The range that marks the step; None() if no range does.
};

struct AnalysisOptions {
  std::string path;                  ///< As given, for the report and its check commands.
  std::optional<std::int64_t> rank;  ///< Used if the trace does not state its rank.
  std::optional<std::int64_t> first_step, last_step;  ///< Keeps steps with first <= index <= last.
  /// Annotation that begins each step; if empty, the analysis finds the marker.
  std::string step_marker;

  /// Steps in a window of a longer trace, and the process that runs them. If empty, the analysis
  /// finds the steps.
  std::vector<HostStep> known_steps;
  ProcessId process_of_steps;
};

}  // namespace headroom
