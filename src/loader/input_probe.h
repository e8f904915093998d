// What the probes of `headroom record --probe-input` measured: the loop without its loader, and the
// loader without its loop (python/headroom/_probe.py).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Mean with its 95 % interval: Student's t over means of turns or of groups of batches, since
/// neighbours are not independent.
struct ProbedMs {
  double low = 0, mid = 0, high = 0;
  std::size_t count = 0;  ///< Means.
};

/// What reading from storage takes: a difference that is more than three standard errors, with so
/// many to either side; else its upper limit alone.
struct StorageMs {
  std::optional<double> low, mid;
  double high = 0;
};

/// Milliseconds a step, or a batch; none: not measured.
struct InputProbe {
  std::optional<ProbedMs> loop;         ///< Steps with one batch again and again.
  std::optional<ProbedMs> step;         ///< Steps as ever, in turns with them.
  std::optional<ProbedMs> loader_cost;  ///< Paired difference of the two.
  std::optional<ProbedMs> loader;       ///< A batch of the loader alone.
  std::optional<ProbedMs> again;        ///< The same samples once more, in memory by then.
  std::optional<StorageMs> storage;     ///< `loader` - `again`.
  std::vector<std::string> doubts;      ///< What speaks against the figures, for people.

  /// What no step gets below with the recorded number of workers, wherever its samples lie: the
  /// slower of loop and preparation. None where either was not measured.
  std::optional<double> LimitMs() const;
};

/// While probes ran, by time: nothing in there is of the program as it is.
std::vector<Interval> ProbeSpans(const TraceStore& store);

/// None where there was none.
std::optional<InputProbe> FindInputProbe(const TraceStore& store);

}  // namespace headroom
