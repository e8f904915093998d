// From one frozen trace to one report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/report.h"
#include "base/interval_set.h"
#include "base/status.h"
#include "store/trace_store.h"

namespace headroom {

class DeviceCatalog;
struct DeviceSpec;
class Knowledge;

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

/// Computes every section. Deterministic; reads the store only. Fails (kUsage) where the options
/// name steps or a marker that the trace does not have.
Result<TraceReport> Analyze(const TraceStore& store, const Knowledge& knowledge,
                            const AnalysisOptions& options);

}  // namespace headroom
