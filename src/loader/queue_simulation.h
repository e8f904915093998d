// How fast a training loop goes that a data loader with worker processes feeds: batch by batch,
// with the measured times of batches and steps. The slower of "what the workers make" and "what the
// loop takes" is too good an answer wherever times vary: a slow batch stalls the loop once what was
// prefetched is used up, and what is lost then nothing makes good.
#pragma once

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/time.h"

namespace headroom {

/// What one batch takes of the worker that prepares it. It is blocked first and then computes.
struct BatchDemand {
  DurationNs cpu{};      ///< On a core that does nothing else.
  DurationNs blocked{};  ///< Neither running nor runnable: files, network, sleep.
  /// Samples: each in turn is blocked, then computes, for its share of both.
  std::int32_t chunks = 1;
};

/// What the loop does from receiving a batch to asking for the next one.
struct StepDemand {
  /// With nothing else on the machine, and its threads on cores of their own: else see
  /// WithCoresOfItsOwn().
  DurationNs wall{};
  /// Of its process. More than `wall`: several threads compute all along. Less: it waits, e.g. for
  /// a GPU, and the waits take as long on a busy machine.
  DurationNs cpu{};
};

/// A data loader as PyTorch's.
struct LoaderSetting {
  std::int32_t workers = 0;   ///< 0: the loop prepares each batch itself when it wants it.
  std::int32_t prefetch = 2;  ///< Batches a worker: PyTorch's prefetch_factor.
  bool pin = false;       ///< One thread copies the batches to pinned memory, in order of arrival.
  DurationNs pin_time{};  ///< CPU time of that thread, a batch. Without workers, of the loop.
  /// CPU time of the loop's thread to unpack a batch. Nothing is unpacked without workers, and with
  /// `pin` that is work of the pinning thread: say 0 here, and more there.
  DurationNs receive{};
  /// Batches of an epoch; 0: no end. Nothing is prefetched across its end.
  std::int64_t epoch_batches = 0;
  /// From an epoch's start until the workers begin their first batches. Persistent workers: 0.
  DurationNs start_up{};
};

/// What loop and workers share.
struct Machine {
  double cores = 1;  ///< Logical CPUs that they may use; a quota may leave a fraction of one.
  /// Work of two hardware threads that share a core, as a multiple of one's (1 to 2). Logical CPUs
  /// are taken to be pairs of such threads. 2: each is a core of its own, and so is a quota.
  double smt_gain = 2;
  /// How many are blocked at once before they slow each other down. 1: one worker alone takes all
  /// the bandwidth; infinite: only latency matters.
  double storage_parallelism = std::numeric_limits<double>::infinity();
};

/// Means a batch in steady state, but for the last two.
struct SimulatedRun {
  double period_ns = 0;     ///< From one step's end to the next.
  double wait_ns = 0;       ///< From asking for a batch to having it, unpacked.
  double waited_share = 0;  ///< Of the batches: the loop stood still for them.
  double ready = 0;         ///< Batches that have arrived when the loop asks for one.
  double busy_cpus = 0;     ///< Logical CPUs in use, of Machine::cores.
  double worker_use = 0;    ///< Of the workers' time: with a batch. 0 without workers.
  double epoch_ns = 0;      ///< From an epoch's start to its last step's end. 0: epochs do not end.
  /// Of `epoch_ns`: more than its batches take in the middle of an endless run. That is to start
  /// the workers, to fill the queue and to let it run dry.
  double epoch_edge_ns = 0;
};

/// Runs loop and loader until `count` batches of the steady state are through. Batch n has the
/// demands n modulo the length of each series. Left out are as many batches before as are under way
/// at a time and, as the queue may take long to find its level, another pass of the longer series
/// or `count`, whatever is less; they are the ones that precede the first in the series, so that
/// each demand counts alike where `count` is a multiple of the lengths. Where epochs end, `count`
/// is rounded up to whole ones: they run from their start for epoch_ns, and all else is that of the
/// same batches without the epochs' ends. (A multiple of the workers, too, has no remainder of a
/// round in it.)
///
/// The rules are those of PyTorch's DataLoader. Worker n mod k prepares batch n of the epoch, in
/// order. The indices of the first k x prefetch batches are handed out at the epoch's start,
/// another whenever the loop has a batch, not when a worker has finished one. The loop takes
/// batches in order: what comes too early it unpacks while it waits, and puts aside. Without
/// workers nothing overlaps.
///
/// CPUs are shared equally. Of n threads that would run on C logical CPUs each has min(1, C/n) of
/// one; up to C/2 of them run at full speed, and from there to C what all do together grows to
/// smt_gain x C/2 on a straight line. A step of p threads counts as p; one that mostly waits counts
/// as the share of its time that it is runnable, which grows as its CPU part is slowed down.
/// b blocked workers progress at min(1, storage_parallelism / b) of the speed of one.
///
/// Exact but for rounding: time advances from event to event, O(log workers) each. Memory depends
/// on the batches under way and nothing else. What it knows nothing of: caches and memory
/// bandwidth, the threads of a worker beyond its first, other programs.
///
/// As on a real machine, more of anything may now and then be a little slower, where it changes the
/// order in which batches come or lets one worker run ahead of another that is waited for.
///
/// Usage where an input makes no sense.
Result<SimulatedRun> SimulateLoading(std::span<const BatchDemand> batches,
                                     std::span<const StepDemand> steps,
                                     const LoaderSetting& setting, const Machine& machine,
                                     std::int64_t count);

/// A step that was measured alone on a machine where its own threads shared cores: what it takes
/// where they do not, which is what SimulateLoading() asks for. It runs at the measured speed in a
/// simulation of the same machine. REQUIRES: a machine that SimulateLoading() takes.
StepDemand WithCoresOfItsOwn(StepDemand measured, const Machine& machine);

/// A series that might have been recorded instead: blocks of it one after the other, each from
/// a random place and of random length (geometric, sqrt(n) on average), past its end from the start
/// again (the stationary bootstrap of Politis and Romano, 1994). So a burst remains a burst. The
/// same for the same state of `random` on every machine. REQUIRES: `values` not empty, and fewer
/// than 2^32.
template <typename T>
std::vector<T> Resample(std::span<const T> values, std::size_t count, std::mt19937_64& random) {
  assert(!values.empty() && values.size() >> 32 == 0);
  // Not the distributions of the standard library: each one's are different.
  const double length = std::sqrt(static_cast<double>(values.size()));
  const std::uint64_t end_below =  // Of 2^64, which itself does not fit.
      length == 1 ? 0 : static_cast<std::uint64_t>(std::ldexp(1.0, 64) / length);
  std::vector<T> out;
  out.reserve(count);
  std::size_t at = 0;
  while (out.size() < count) {
    if (out.empty() || random() < end_below) {
      at = static_cast<std::size_t>(((random() >> 32) * values.size()) >> 32);
    }
    out.push_back(values[at]);
    if (++at == values.size()) at = 0;
  }
  return out;
}

/// What to expect of a setting.
struct LoadingForecast {
  SimulatedRun run;  ///< Of the recorded series, over and over.
  /// 5th and 95th percentile of the periods of series that might have been recorded instead,
  /// widened to hold that of `run`.
  double low_ns = 0, high_ns = 0;
};

/// Simulates the recorded series and `replications` series resampled from them, each as long as
/// what was recorded, and each repeated for as many batches as a steady state takes. The interval
/// is sampling noise only: how much the period depends on which batches and steps happened to be
/// recorded. It says nothing about demands that change with the setting, about the model's own
/// error, or about slow batches so rare that none was recorded. Batches and steps are resampled
/// apart, as if what slows one did not slow the other. The same for the same seed.
///
/// Usage where an input makes no sense.
Result<LoadingForecast> PredictLoading(std::span<const BatchDemand> batches,
                                       std::span<const StepDemand> steps,
                                       const LoaderSetting& setting, const Machine& machine,
                                       std::uint64_t seed, int replications);

}  // namespace headroom
