// Joins the rows of reader threads into the store, in file order.
#pragma once

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "ingest/kineto/row_batch.h"
#include "store/trace_store.h"

namespace headroom::kineto {

/// What is kept while a file is read beside the tables themselves.
struct LateRows {
  std::vector<HalfSpan> half_spans;  ///< Ids of the store, here and below.
  std::vector<AsyncHalf> async_halves;
  std::vector<BandwidthSample> bandwidths;
  StampFacts stamps;
  bool fractional_times = false;
};

/// One reader thread's ids in terms of the store's. Grows as new ids turn up in merged rows.
struct IdMap {
  std::vector<StringId> strings;
  std::vector<ThreadId> threads;
  std::vector<StreamId> streams;
};

/// Appends batches to a store. Store ids are given out in order of first use in merged rows, so
/// they do not depend on the number of reader threads. One caller at a time.
class Merger {
 public:
  Merger(TraceStore& store, LateRows& late) : store_(store), late_(late) {}

  void Append(RowBatch& batch, const WorkerIds& ids, IdMap& map);

  ThreadId ThreadOf(StringId process, StringId thread);
  bool HasThread(ProcessId process, StringId thread) const {
    return threads_.contains({process, thread});
  }
  DeviceId DeviceOf(std::int64_t ordinal);

 private:
  StringId Map(StringId local, const WorkerIds& ids, IdMap& map);
  ThreadId Map(ThreadId local, const WorkerIds& ids, IdMap& map);
  StreamId Map(StreamId local, const WorkerIds& ids, IdMap& map);
  template <typename StoreTable, typename BatchTable>
  void AppendTable(StoreTable& to, BatchTable& from, const WorkerIds& ids, IdMap& map);
  void MapHalf(HalfSpan& half, const WorkerIds& ids, IdMap& map);
  void SetTrackName(const TrackName& row, const WorkerIds& ids, IdMap& map);

  TraceStore& store_;
  LateRows& late_;
  std::unordered_map<StringId, ProcessId> processes_;
  // Ordered: a file chooses these numbers, and could choose them to collide in a hash table.
  std::map<std::pair<ProcessId, StringId>, ThreadId> threads_;
  std::map<std::int64_t, DeviceId> devices_;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> streams_;  ///< By device, number.
};

}  // namespace headroom::kineto
