// Finds steps from the order of kernels, for traces without marks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/names/name_facts.h"
#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Steps that repeat the same kernels on one stream.
struct KernelSteps {
  std::vector<Interval> spans;  ///< In order, without overlap; empty if no steps were recognized.

  /// Spans are on the GPU's clock and start with a step's first kernel. If false, they are on the
  /// host's clock and start with its launch.
  bool on_gpu = false;

  /// Process that launches the kernels; None() if no launch was recorded.
  ProcessId process;
  std::size_t kernels = 0;   ///< Kernels per step, on the stream of the repetition.
  std::size_t exact = 0;     ///< Number of steps with exactly these kernels.
  double covered = 0;        ///< Share of the stream's kernel time, 0 to 1.
  bool of_families = false;  ///< Products and convolutions of all sizes count as identical.
  bool by_times = false;     ///< Only the times show where a step ends, not the kernels.
  bool has_update = false;   ///< Each step contains an optimizer's kernels, and others.
  /// If there are no steps, the number of repetitions of a unit in what looks like one pass.
  std::size_t layers = 0;
};

/// Searches the kernel names of each stream for a unit that repeats at least three times. The unit
/// is a step unless it looks like a layer: docs/steps.md has the rules.
KernelSteps FindKernelSteps(const TraceStore& store, NameFacts& names);

}  // namespace headroom
