// Steps told by the order in which kernels run, where nothing marks them.
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
  std::vector<Interval> spans;  ///< In order; no two overlap. Empty: none was recognized.

  /// Spans are of the GPU's time, from the start of a step's first kernel. Else they are of the
  /// host's, from its launch.
  bool on_gpu = false;

  ProcessId process;         ///< Whose launches they are; none: no kernel was launched.
  std::size_t kernels = 0;   ///< A step, on the stream that tells them.
  std::size_t exact = 0;     ///< Steps with exactly these kernels.
  double covered = 0;        ///< Share of the stream's kernel time, 0 to 1.
  bool of_families = false;  ///< Products and convolutions of any size were taken for the same.
  bool by_times = false;     ///< Only the times tell where a step ends, not the kernels.
  bool has_update = false;   ///< Each holds an optimizer's kernels, and others.
  std::size_t layers = 0;    ///< Where there are no steps: a part that repeats so often in what
                             ///< looks like one pass.
};

/// Searches the sequences of kernel names of each stream for a unit that repeats at least three
/// times, and takes it for a step unless it looks like a layer: see docs/steps.md for the rules.
KernelSteps FindKernelSteps(const TraceStore& store, NameFacts& names);

}  // namespace headroom
