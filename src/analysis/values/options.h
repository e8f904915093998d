// Which steps of a trace are analyzed, and what is known of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"

namespace headroom {

/// A step as the host sees it.
struct HostStep {
  std::int64_t index;
  Interval host;
  HostEventId mark = {};  ///< The range that marks it; none: nothing does.
};

struct AnalysisOptions {
  std::string path;                  ///< As given, for the report and its check commands.
  std::optional<std::int64_t> rank;  ///< Used where the trace does not say its rank.
  std::optional<std::int64_t> first_step, last_step;  ///< Keep steps with first <= index <= last.
  std::string step_marker;  ///< Annotation that begins each step; empty: found from the trace.

  /// The steps and whose they are, where that is known (of a stretch of a longer trace); empty:
  /// found from the trace.
  std::vector<HostStep> known_steps;
  ProcessId process_of_steps;
};

}  // namespace headroom
