// Restores the rows of a trace that `headroom export --to chakra` wrote. Each node of work states
// the number of its row. Nodes of metadata contain the rows that no node of work represents.
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

/// One value in place of a column, so that a table of cells is a row.
template <typename T>
struct Cell {
  using value_type = T;
  T value = UnknownValue<T>();
};

/// Maps row numbers of the exported trace to rows of the store. Other rows refer to these numbers.
/// Rows that were lost to damage are missing.
struct OwnRowNumbers {
  using Rows = std::map<std::int64_t, std::uint32_t>;
  Rows processes, threads, devices, streams;

  /// Returns none if there is no such row.
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
  /// Adds the rows of a node: several, one, or none. Nodes for host work between events, and for
  /// idle intervals, have no rows.
  void Add(const Node& node, std::int64_t offset);
  /// Sorts rows by number, because only the number distinguishes rows with equal times.
  void Finish();

 private:
  template <typename Row>
  struct Numbered {
    std::int64_t number;  ///< Number of the row in the exported trace.
    Row row;
  };
  struct Collective {
    std::int64_t task;  ///< Number of the task's row.
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
  std::map<std::pair<std::int64_t, std::int64_t>, StreamId> streams_;  ///< Key: device, number.
  std::size_t streams_seen_ = 0;
  /// Number of work nodes that are still expected; at most 0 if the file does not state a number.
  std::int64_t work_nodes_ = 0;
};

}  // namespace headroom::chakra
