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

/// Data kept while a file is read, in addition to the tables.
struct LateRows {
  std::vector<HalfSpan> half_spans;  ///< With the store's ids, like the fields below.
  std::vector<AsyncHalf> async_halves;
  std::vector<BandwidthSample> bandwidths;
  StampFacts stamps;
  bool fractional_times = false;
};

/// Maps one reader thread's ids to the store's. Grows as merged rows use new ids.
struct IdMap {
  std::vector<StringId> strings;
  std::vector<ThreadId> threads;
  std::vector<StreamId> streams;
};

/// Appends batches to a store. Store ids are assigned in order of first use in merged rows, so they
/// do not depend on the number of reader threads. Allows one caller at a time.
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
  // Ordered maps: a file chooses these numbers and could make them collide in a hash table.
  std::map<std::pair<ProcessId, StringId>, ThreadId> threads_;
  std::map<std::int64_t, DeviceId> devices_;
  std::map<std::pair<DeviceId, std::int64_t>, StreamId> streams_;  ///< Key: device, number.
};

}  // namespace headroom::kineto
