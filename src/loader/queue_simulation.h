// Simulates a training loop fed by a data loader with worker processes: batch by batch, with the
// measured times of batches and steps. The slower of the workers' rate and the loop's rate is too
// optimistic if times vary. A slow batch stalls the loop once the prefetched batches are used up,
// and the lost time is never recovered.
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

/// Demands of one batch on its worker. The batch is blocked first and then computes.
struct BatchDemand {
  DurationNs cpu{};      ///< CPU time on an unshared core.
  DurationNs blocked{};  ///< Neither running nor runnable: waiting for files, a network or a sleep.
  /// Number of samples, which are prepared one after another. Each is blocked and then computes,
  /// for an equal share of both times.
  std::int32_t chunks = 1;
};

/// Demands of the loop between receiving a batch and asking for the next.
struct StepDemand {
  /// Wall time on an otherwise idle machine, with its threads on separate cores. If they shared
  /// cores, see WithCoresOfItsOwn().
  DurationNs wall{};
  /// CPU time of its process. If it exceeds `wall`, several threads compute all the time. If it is
  /// less, the step waits, e.g. for a GPU, and these waits are as long on a busy machine.
  DurationNs cpu{};
};

/// Settings of a data loader that follows PyTorch's rules.
struct LoaderSetting {
  std::int32_t workers = 0;   ///< 0 if the loop prepares each batch on request.
  std::int32_t prefetch = 2;  ///< Batches per worker: PyTorch's prefetch_factor.
  bool pin = false;  ///< One thread copies the batches to pinned memory, in order of arrival.
  /// CPU time of the pinning thread per batch. Without workers, CPU time of the loop.
  DurationNs pin_time{};
  /// CPU time of the loop's thread to unpack a batch. Without workers, nothing is unpacked. With
  /// `pin`, the pinning thread unpacks: set 0 here and add the time to `pin_time`.
  DurationNs receive{};
  /// Batches per epoch; 0 for an endless run. Nothing is prefetched across the end of an epoch.
  std::int64_t epoch_batches = 0;
  /// Time from an epoch's start until the workers begin their first batches; 0 for persistent
  /// workers.
  DurationNs start_up{};
};

/// Resources that the loop and the workers share.
struct Machine {
  double cores = 1;  ///< Available logical CPUs; a quota can allow a fraction of one.
  /// Work of two hardware threads that share a core, as a multiple of one thread's work (1 to 2).
  /// Assumes that logical CPUs are pairs of such threads. 2 if each is a full core; a quota also
  /// counts as full cores.
  double smt_gain = 2;
  /// Number of workers that can be blocked at once at full speed. With 1, a single worker uses all
  /// the bandwidth; infinity means that only latency matters.
  double storage_parallelism = std::numeric_limits<double>::infinity();
};

/// Means per batch in steady state, except for the last two members.
struct SimulatedRun {
  double period_ns = 0;     ///< Time from the end of one step to the end of the next.
  double wait_ns = 0;       ///< Time from the request for a batch until it is unpacked.
  double waited_share = 0;  ///< Share of the batches for which the loop idles.
  double ready = 0;         ///< Batches that have arrived when the loop asks for one.
  double busy_cpus = 0;     ///< Logical CPUs in use, out of Machine::cores.
  double worker_use = 0;    ///< Share of the workers' time spent on a batch. 0 without workers.
  /// Time from an epoch's start to the end of its last step; 0 if epochs do not end.
  double epoch_ns = 0;
  /// Excess of `epoch_ns` over the same batches within an endless run: the time to start the
  /// workers, to fill the queue and to drain it.
  double epoch_edge_ns = 0;
};

/// Simulates loop and loader for `count` batches of the steady state. Fails with kUsage if an input
/// is invalid.
///
/// Batch n has the demands n modulo the length of each series. A warm-up is discarded first: as
/// many batches as can be under way, plus one pass of the longer series (at most `count` batches).
/// The queue can take that long to settle. The warm-up uses the demands that precede the first one
/// of the series. Each demand thus has equal weight if `count` is a multiple of the lengths.
///
/// If epochs end, `count` is rounded up to whole epochs. epoch_ns covers these epochs from their
/// start. All other results are for the same batches without epoch ends. A `count` that is also a
/// multiple of the workers leaves no partial round.
///
/// The rules are those of PyTorch's DataLoader:
/// - Worker n mod k prepares batch n of the epoch, in order.
/// - The epoch's start hands out the indices of the first k x prefetch batches.
/// - Each batch that the loop takes hands out one more index. A batch that a worker finishes does
///   not.
/// - The loop takes batches in order. It unpacks early arrivals while it waits, and puts them
///   aside.
/// - Without workers nothing overlaps.
///
/// The CPUs are shared equally:
/// - Of n runnable threads on C logical CPUs, each gets min(1, C/n) of one.
/// - Up to C/2 of them run at full speed. From there to C, their total grows linearly to smt_gain x
///   C/2.
/// - A step of p threads counts as p. A step that mostly waits counts as the share of its time in
///   which it is runnable. That share grows as its CPU part slows down.
/// - b blocked workers progress at min(1, storage_parallelism / b) of the speed of one.
///
/// The simulation is exact except for rounding: time advances from event to event, O(log workers)
/// each. Memory depends only on the batches under way. Caches, memory bandwidth, a worker's threads
/// beyond its first, and other programs are not modelled.
///
/// As on a real machine, more of a resource can occasionally be a little slower. The additional
/// resource can change the order of batches, or let one worker run ahead of the worker that the
/// loop waits for.
Result<SimulatedRun> SimulateLoading(std::span<const BatchDemand> batches,
                                     std::span<const StepDemand> steps,
                                     const LoaderSetting& setting, const Machine& machine,
                                     std::int64_t count);

/// Converts a step measured alone on a machine where its threads shared cores. Returns its demand
/// with unshared cores, which SimulateLoading() requires. In a simulation of the same machine, the
/// step takes the measured time. Requires a machine that SimulateLoading() accepts.
StepDemand WithCoresOfItsOwn(StepDemand measured, const Machine& machine);

/// Returns another series that could have been recorded: random blocks of the series, until `count`
/// values are drawn. A block has a random start and a random length (geometric, sqrt(n) on
/// average), and wraps around at the end. This is the stationary bootstrap of Politis and Romano
/// (1994); it preserves bursts. The result depends only on the state of `random`, on every machine.
/// Requires `values` to have at least 1 and fewer than 2^32 elements.
template <typename T>
std::vector<T> Resample(std::span<const T> values, std::size_t count, std::mt19937_64& random) {
  assert(!values.empty() && values.size() >> 32 == 0);
  // Avoids the standard library's distributions, which differ between implementations.
  const double length = std::sqrt(static_cast<double>(values.size()));
  const std::uint64_t end_below =  // A share of 2^64, which itself does not fit.
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

/// Forecast of a setting.
struct LoadingForecast {
  SimulatedRun run;  ///< Result for the recorded series, repeated.
  /// 5th and 95th percentile of the periods of resampled series, widened to contain the period of
  /// `run`.
  double low_ns = 0, high_ns = 0;
};

/// Simulates the recorded series and `replications` series resampled from them. Each has the
/// recorded length, and repeats for as many batches as a steady state requires. Fails with kUsage
/// if an input is invalid.
///
/// The interval is sampling noise only: how much the period depends on which batches and steps were
/// recorded. It excludes demands that change with the setting, the model's own error, and slow
/// batches too rare to be recorded. Batches and steps are resampled separately, as if their
/// slowdowns were independent. The result is the same for the same seed.
Result<LoadingForecast> PredictLoading(std::span<const BatchDemand> batches,
                                       std::span<const StepDemand> steps,
                                       const LoaderSetting& setting, const Machine& machine,
                                       std::uint64_t seed, int replications);

}  // namespace headroom
