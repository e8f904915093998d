// Finds the start and end of a trace's steps on the host.
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
  std::string confidence;  ///< "high", "medium" or "low" for inferred steps.
  std::string reason;      ///< Evidence for the confidence.
  std::string marker;      ///< Name of the marks, or how the steps were identified.
  /// Process that runs the steps; None() if they are not from one process.
  ProcessId process;
  bool on_gpu = false;  ///< The steps are spans on the GPU's clock, not on the host's.
  std::vector<HostStep> steps;
};

/// Returns true for roles of work that a loop does only occasionally: evaluation, checkpoints,
/// epoch edges, compilation, garbage collection, autotuning.
bool IsOccasional(HostRoles roles);

/// Returns the steps that the options give or name, else the annotated ones. Otherwise infers them
/// from an event that repeats evenly: Optimizer.step, another annotation, kernels. Fails with
/// kUsage if the named marker does not occur.
Result<FoundSteps> FindSteps(const TraceStore& store, NameFacts& names,
                             const AnalysisOptions& options);

}  // namespace headroom
