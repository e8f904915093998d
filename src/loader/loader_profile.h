// A recorded data loader: each fetch of the loop, each prepared batch with its worker, and the
// stages of a sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/interval_set.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

struct LoaderSettings {
  std::int64_t workers = 0;  ///< 0 if the loop prepares its batches.
  /// Maximum number of batches that each worker prepares ahead.
  std::int64_t prefetch = 0;
  std::optional<std::int64_t> batch_size = {};  ///< nullopt if the program makes its own batches.
  /// Samples; nullopt for a stream without a length.
  std::optional<std::int64_t> dataset_size = {};
  bool pin = false, persistent = false;
  /// Logical CPUs available to the program, and hardware threads per core.
  std::optional<std::int64_t> cpus = {};
  std::optional<double> threads_per_core = {};
  bool virtual_machine = false;  ///< A virtual machine can report hardware threads as cores.
  /// Free bytes of the shared memory through which workers pass tensors (/dev/shm).
  std::optional<double> shared_memory = {};
};

/// One batch, as recorded by the thread that prepared it.
struct LoaderBatch {
  Interval span;           ///< Samples and collation.
  std::size_t worker = 0;  ///< Row of LoaderProfile::workers.
  DurationNs collate = {};
  /// Can differ from the size of `samples`, because some datasets return many samples at once.
  std::int64_t sample_count = 0;
  std::vector<DurationNs> samples = {};  ///< Time of each sample, in order.
  std::optional<DurationNs> cpu = {};    ///< CPU time of the thread in `span`.
  /// CPU time of the whole process since the previous batch.
  std::optional<DurationNs> process_cpu = {};
  /// Time in `span` in which the thread was runnable without a core.
  std::optional<DurationNs> queued = {};
  std::optional<double> bytes = {};  ///< Bytes of its tensors and arrays.
  /// Tensors, arrays and scalars that a worker passes to the loop.
  std::optional<double> objects = {};
  std::optional<double> read_bytes = {};  ///< Bytes that the process read from storage.
  /// Bytes that the process read with system calls, including from the page cache.
  std::optional<double> called_bytes = {};

  /// Returns the time in which the thread was neither running nor runnable: it waited for files, a
  /// network, a lock or a sleep. Returns nullopt if this was not recorded.
  std::optional<DurationNs> Blocked() const;
};

/// One request of the loop for a batch.
struct LoaderFetch {
  Interval span;
  bool first = false;                      ///< True for the first fetch of an epoch.
  std::optional<std::int64_t> ready = {};  ///< Batches that were ready at the request.
  std::optional<DurationNs> cpu = {};      ///< CPU time of the calling thread in `span`.
  /// Time in `span` in which that thread was runnable without a core.
  std::optional<DurationNs> queued = {};
  /// Time since the previous fetch; nullopt if `first`.
  std::optional<DurationNs> step = {};
  std::optional<DurationNs> step_cpu = {};  ///< CPU time of the process in `step`.
  /// Time in `step` in which the thread was runnable without a core.
  std::optional<DurationNs> step_queued = {};
};

/// A stage of a sample, or another part of preparing batches. Times are sums over all batches.
struct LoaderStage {
  std::string name;  ///< As recorded, without its prefix.
  /// False for a part that contains stages: "sample", "batch" or "collate".
  bool is_stage = false;
  std::int64_t count = 0;
  DurationNs total = {}, own = {};     ///< `own` excludes nested stages.
  std::optional<DurationNs> cpu = {};  ///< CPU time in `own`.
};

/// A process that prepares batches.
struct LoaderWorker {
  std::string pid;
  DurationNs starting = {};  ///< Time from the loop's iter(loader) to the worker's first event.
  DurationNs busy = {};      ///< Time spent preparing batches.
  /// Time spent waiting for an index, because the maximum number of batches is prepared ahead.
  DurationNs waiting = {};
  Interval alive = {};       ///< Span from its first event to its last.
  DurationNs recorded = {};  ///< Part of `alive` outside of probes.
};

/// One loader of the program, over all its iterators with the same settings.
struct LoaderProfile {
  LoaderSettings settings;
  std::vector<LoaderFetch> fetches;  ///< In order of time.
  std::vector<LoaderBatch> batches;  ///< In order of the end of preparation.
  std::vector<LoaderStage> stages;   ///< In descending order of own time.
  std::vector<LoaderWorker> workers;
  /// Total time in which workers pack batches, and in which the pinning thread works.
  DurationNs sending, pinning;
  DurationNs starting;  ///< Total time of iter(loader), recorded as `dataloader_start`.
  std::int64_t epochs = 0;
  bool probed = false;                ///< True if `headroom record --probe-input` probed it.
  std::vector<std::string> failures;  ///< Samples that raised and workers that died, as recorded.

  /// Returns the time that the loop waited for batches, without the first batch of each epoch.
  DurationNs Wait() const;
};

/// Returns the number of initial rows to exclude from all figures, because caches, libraries and
/// allocators warm up.
inline std::size_t WarmUpOf(std::size_t rows) {
  constexpr std::size_t kMax = 10;
  return std::min(kMax, rows / 5);
}

/// Returns the loaders of a trace, in descending order of the loop's wait, with loaders without
/// fetches last. Returns an empty list if neither `headroom record` nor headroom.torch recorded a
/// loader.
std::vector<LoaderProfile> FindLoaders(const TraceStore& store);

}  // namespace headroom
