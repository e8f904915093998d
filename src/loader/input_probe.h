// Results of `headroom record --probe-input`: the loop without its loader, and the loader without
// its loop (python/headroom/_probe.py).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// A mean with its 95 % interval. Uses Student's t over the means of turns or of groups of batches,
/// because neighbouring steps and batches are not independent.
struct ProbedMs {
  double low = 0, mid = 0, high = 0;
  std::size_t count = 0;  ///< Number of means.
};

/// Time to read from storage: the difference of two means, with three standard errors on either
/// side. A difference within three standard errors has only `high`.
struct StorageMs {
  std::optional<double> low, mid;
  double high = 0;
};

/// Milliseconds per step or per batch; nullopt if not measured.
struct InputProbe {
  std::optional<ProbedMs> loop;         ///< Steps that reuse one batch.
  std::optional<ProbedMs> step;         ///< Normal steps, which alternate with those of `loop`.
  std::optional<ProbedMs> loader_cost;  ///< Paired difference `step` - `loop`.
  std::optional<ProbedMs> loader;       ///< One batch of the loader alone.
  std::optional<ProbedMs> again;        ///< The same samples again, which are in memory by then.
  std::optional<StorageMs> storage;     ///< `loader` - `again`.
  std::vector<std::string> doubts;      ///< Reasons to doubt the figures, as text for users.

  /// Returns the slower of loop and preparation: the minimum time of a step with the recorded
  /// number of workers and all samples in memory. Returns nullopt if either was not measured.
  std::optional<double> LimitMs() const;
};

/// Returns the intervals in which probes ran, in order of time. Events within them do not show the
/// program's normal behaviour.
std::vector<Interval> ProbeSpans(const TraceStore& store);

/// Returns nullopt if the trace has no probe.
std::optional<InputProbe> FindInputProbe(const TraceStore& store);

}  // namespace headroom
