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

/// Mean with its 95 % interval: Student's t over means of consecutive values, since neighbours are
/// not independent.
struct ProbedMs {
  double low = 0, mid = 0, high = 0;
  std::size_t count = 0;
};

/// Milliseconds a step, or a batch; none: not measured.
struct InputProbe {
  std::optional<ProbedMs> loop;         ///< Steps with one batch again and again.
  std::optional<ProbedMs> step;         ///< Steps as ever, in turns with them.
  std::optional<ProbedMs> loader_cost;  ///< Paired difference of the two.
  std::optional<ProbedMs> loader;       ///< A batch of the loader alone.
  std::optional<ProbedMs> again;        ///< The same samples once more, in memory by then.
  /// What storage takes of a batch of the loader alone: `loader` - `again`, where that is more than
  /// three standard errors; else only `high` is known, and the others are 0.
  std::optional<ProbedMs> storage;
  bool storage_is_clear = false;
  std::vector<std::string> doubts;  ///< What speaks against the figures, for people.

  /// What no loader setting gets below: the slowest of loop, preparation and storage. None where
  /// the loop was not measured.
  std::optional<double> LimitMs() const;
};

/// While probes ran, by time: nothing in there is of the program as it is.
std::vector<Interval> ProbeSpans(const TraceStore& store);

/// None where there was none.
std::optional<InputProbe> FindInputProbe(const TraceStore& store);

}  // namespace headroom
