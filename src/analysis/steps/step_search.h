// Where the steps of a trace begin and end on the host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/host_rules.h"
#include "analysis/values/options.h"
#include "analysis/values/report.h"

namespace headroom {

/// Steps in order of time; they do not overlap.
struct FoundSteps {
  StepSource source = StepSource::kNone;
  std::string confidence;  ///< Of inferred steps: "high", "medium", "low".
  std::string reason;      ///< Why the confidence is no higher or lower.
  std::string marker;      ///< What they were told by.
  ProcessId process;       ///< Whose steps they are; none: not of one process.
  bool on_gpu = false;     ///< The steps are spans of the GPU's time, not of the host's.
  std::vector<HostStep> steps;
};

/// Returns whether the roles are of work that a loop does only now and then: evaluation,
/// checkpoints, epoch edges, compilation, garbage collection, autotuning.
bool IsOccasional(HostRoles roles);

/// The steps that the options tell or name; else the annotated ones; else those told by what
/// returns evenly: Optimizer.step, another annotation, kernels. Fails (kUsage) where the named
/// marker is not there.
Result<FoundSteps> FindSteps(const TraceStore& store, NameFacts& names,
                             const AnalysisOptions& options);

}  // namespace headroom
