// Takes rows of one trace into another, as the parts of it that are made into a trace of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// Where rows of a trace's tracks stand in another; an empty table: where they stood.
struct TrackMaps {
  std::vector<ProcessId> processes;
  std::vector<ThreadId> threads;
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  DurationNs shift;  ///< Of all times.
};

/// Copies rows of one store's tables to another's, with strings interned anew. Columns that
/// Freeze() computes, and the task of a collective, are left to the caller.
class RowCopier {
 public:
  RowCopier(const TraceStore& from, TraceStore& to) : from_(from), to_(to) {
    ids_.resize(from.strings.size());
  }

  /// From here on, ids of tracks and times are mapped.
  void Map(const TrackMaps& maps) { maps_ = maps; }

  template <typename Table>
  void Copy(const Table& from, std::size_t row, Table& to) {
    to.ForEachColumnPair(from, [&](auto& into, const auto& column) {
      using Value = typename std::remove_cvref_t<decltype(into)>::value_type;
      if constexpr (std::same_as<Value, StringId>) {
        into.Append(NewId(column[row]));
      } else if constexpr (std::same_as<Value, ProcessId>) {
        into.Append(Mapped(maps_.processes, column[row]));
      } else if constexpr (std::same_as<Value, ThreadId>) {
        into.Append(Mapped(maps_.threads, column[row]));
      } else if constexpr (std::same_as<Value, DeviceId>) {
        into.Append(Mapped(maps_.devices, column[row]));
      } else if constexpr (std::same_as<Value, StreamId>) {
        into.Append(Mapped(maps_.streams, column[row]));
      } else if constexpr (std::same_as<Value, TimeNs>) {
        into.Append(column[row] + maps_.shift);
      } else if constexpr (!std::same_as<Value, HostEventId> &&  // Those Freeze() computes.
                           !std::same_as<Value, GpuTaskId>) {
        into.Append(column[row]);
      }
    });
  }

  template <typename Table>
  void CopyAll(const Table& from, Table& to) {
    for (std::size_t row = 0; row < from.rows(); ++row) Copy(from, row, to);
  }

 private:
  template <typename Id>
  static Id Mapped(const std::vector<Id>& map, Id old) {
    return map.empty() || !old.valid() ? old : map[old.index()];
  }

  StringId NewId(StringId old) {
    if (!old.valid()) return old;
    StringId& id = ids_[old.index()];
    if (!id.valid()) id = to_.strings.Intern(from_.strings.Get(old));
    return id;
  }

  const TraceStore& from_;
  TraceStore& to_;
  TrackMaps maps_;
  std::vector<StringId> ids_;  ///< By old id.
};

}  // namespace headroom
