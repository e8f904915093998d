// The rows of a trace that `headroom export --to chakra` wrote: nodes of work that say what row
// they are of, and nodes of metadata with what no work stands for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/chakra/node.h"
#include "store/trace_store.h"

namespace headroom::chakra {

/// One value in place of a column: tables of these are rows.
template <typename T>
struct Cell {
  using value_type = T;
  T value = UnknownValue<T>();
};

/// Rows by their numbers in the trace that was exported, by which others refer to them: damage may
/// have taken some.
struct OwnRowNumbers {
  using Rows = std::map<std::int64_t, std::uint32_t>;
  Rows processes, threads, devices, streams;

  /// None: there is no such row.
  ProcessId RowOf(ProcessId, std::int64_t number) const {
    return Find<ProcessId>(processes, number);
  }
  ThreadId RowOf(ThreadId, std::int64_t number) const { return Find<ThreadId>(threads, number); }
  DeviceId RowOf(DeviceId, std::int64_t number) const { return Find<DeviceId>(devices, number); }
  StreamId RowOf(StreamId, std::int64_t number) const { return Find<StreamId>(streams, number); }

 private:
  template <typename Id>
  static Id Find(const Rows& rows, std::int64_t number) {
    const auto found = rows.find(number);
    return found == rows.end() ? Id() : Id(found->second);
  }
};

class OwnRows {
 public:
  explicit OwnRows(TraceStore& store) : store_(store) {}

  void ReadMetadata(const Metadata& metadata);
  /// A row or some, or none: work between events, and times of no work, are in no table.
  void Add(const Node& node, std::int64_t offset);
  /// Puts rows in their order, as rows of equal times are told apart by it alone.
  void Finish();

 private:
  template <typename Row>
  struct Numbered {
    std::int64_t number;  ///< Of the row in the trace that was exported.
    Row row;
  };
  struct Collective {
    std::int64_t task;  ///< Number of the row.
    CollectiveColumns<Cell> row;
  };

  void AddTable(const Node& node, std::int64_t offset);
  void AddHostEvent(const Node& node, std::int64_t offset);
  void AddTask(const Node& node, std::int64_t offset);
  StreamId StreamOf(std::int64_t device, std::int64_t number);
  void Lose(std::int64_t offset, std::string_view what);

  TraceStore& store_;
  OwnRowNumbers numbers_;
  std::vector<Numbered<HostEventColumns<Cell>>> host_events_;
  std::vector<Numbered<GpuTaskColumns<Cell>>> tasks_;
  std::vector<Collective> collectives_;
  std::map<std::pair<std::int64_t, std::int64_t>, StreamId> streams_;  ///< By device and number.
  std::size_t streams_seen_ = 0;
  std::int64_t work_nodes_ = 0;  ///< That are still to come, if the file says how many it has.
};

}  // namespace headroom::chakra
