// What a recording tells of a data loader: each fetch of the loop, each batch that was prepared and
// by whom, and the stages of a sample.
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
  std::int64_t workers = 0;                       ///< 0: the loop prepares its batches itself.
  std::int64_t prefetch = 0;                      ///< Batches that each worker is ahead at most.
  std::optional<std::int64_t> batch_size = {};    ///< None: the program batches by itself.
  std::optional<std::int64_t> dataset_size = {};  ///< Samples; none: a stream without a length.
  bool pin = false, persistent = false;
  /// Logical CPUs on which the program may run, and how many of them share a core.
  std::optional<std::int64_t> cpus = {};
  std::optional<double> threads_per_core = {};
  bool virtual_machine = false;  ///< Which may call hardware threads cores.
  /// Free bytes of what workers hand tensors over in (/dev/shm).
  std::optional<double> shared_memory = {};
};

/// One batch, as the thread that prepared it saw it.
struct LoaderBatch {
  Interval span;           ///< Samples and collation.
  std::size_t worker = 0;  ///< Row of LoaderProfile::workers.
  DurationNs collate = {};
  std::int64_t sample_count = 0;  ///< Which `samples` may not be: some datasets take many at once.
  std::vector<DurationNs> samples = {};        ///< Of each, in order.
  std::optional<DurationNs> cpu = {};          ///< CPU time of the thread in `span`.
  std::optional<DurationNs> process_cpu = {};  ///< Of the whole process since the batch before.
  std::optional<DurationNs> queued = {};  ///< Time in `span` in which it could run and had no core.
  std::optional<double> bytes = {};       ///< Of its tensors and arrays.
  std::optional<double> objects = {};     ///< Tensors, arrays and bare values that cross.
  std::optional<double> read_bytes = {};  ///< From storage, by the process.
  std::optional<double> called_bytes = {};  ///< By calls of the process, from the page cache, too.

  /// Time in which it neither ran nor could: it waited for files, a network, a lock, a sleep. None
  /// where that was not recorded.
  std::optional<DurationNs> Blocked() const;
};

/// The loop asked for a batch and got it.
struct LoaderFetch {
  Interval span;
  bool first = false;                          ///< Of an epoch.
  std::optional<std::int64_t> ready = {};      ///< Batches that were there when it asked.
  std::optional<DurationNs> cpu = {};          ///< CPU time of the calling thread in it.
  std::optional<DurationNs> queued = {};       ///< Time in it in which that thread had no core.
  std::optional<DurationNs> step = {};         ///< Time since the fetch before; none: `first`.
  std::optional<DurationNs> step_cpu = {};     ///< CPU time of the process in `step`.
  std::optional<DurationNs> step_queued = {};  ///< Time in `step` in which the thread had no core.
};

/// A stage of a sample, or what else batches go through. Times are over all batches.
struct LoaderStage {
  std::string name;       ///< As recorded, without its prefix.
  bool is_stage = false;  ///< Else what is around stages: "sample", "batch", "collate".
  std::int64_t count = 0;
  DurationNs total = {}, own = {};     ///< Own: without the stages inside.
  std::optional<DurationNs> cpu = {};  ///< CPU time in `own`.
};

/// A process that prepares batches.
struct LoaderWorker {
  std::string pid;
  DurationNs starting = {};  ///< From the loop's wish to the worker's first wait for an index.
  DurationNs busy = {};      ///< Preparing batches.
  DurationNs waiting = {};   ///< For an index: it was as far ahead as it may be.
  Interval alive = {};       ///< From its first event to its last.
  DurationNs recorded = {};  ///< Of that, what no probe took.
};

/// One loader of the program, over all its iterators with the same settings.
struct LoaderProfile {
  LoaderSettings settings;
  std::vector<LoaderFetch> fetches;  ///< By time.
  std::vector<LoaderBatch> batches;  ///< By the end of preparation.
  std::vector<LoaderStage> stages;   ///< Largest own time first: stages, then what is around them.
  std::vector<LoaderWorker> workers;
  DurationNs sending, pinning;  ///< Packing in workers; the pinning thread. In all.
  DurationNs starting;          ///< `dataloader_start`: what iter(loader) took. In all.
  std::int64_t epochs = 0;
  bool probed = false;  ///< It is the one that `headroom record --probe-input` probed.
  std::vector<std::string> failures;  ///< Samples that raised, workers that died: as told.

  /// What the loop waited for batches, without the first of each epoch.
  DurationNs Wait() const;
};

/// How many rows at the beginning are left out of all figures: caches, libraries and allocators
/// warm up.
inline std::size_t WarmUpOf(std::size_t rows) {
  constexpr std::size_t kMax = 10;
  return std::min(kMax, rows / 5);
}

/// The loaders of a trace, the one that the loop waited for longest first, those that gave it no
/// batch last; none where nothing of a loader was recorded by `headroom record` or headroom.torch.
std::vector<LoaderProfile> FindLoaders(const TraceStore& store);

}  // namespace headroom
