// Copies rows from one trace to another, for slices and joined recordings.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// New ids of a trace's tracks in the other trace, by old id. An empty vector leaves ids unchanged.
struct TrackMaps {
  std::vector<ProcessId> processes;
  std::vector<ThreadId> threads;
  std::vector<DeviceId> devices;
  std::vector<StreamId> streams;
  DurationNs shift;  ///< Added to all times.
};

/// Copies rows between the tables of two stores and interns the strings again. The caller must set
/// columns that Freeze() computes, and the task of a collective.
class RowCopier {
 public:
  RowCopier(const TraceStore& from, TraceStore& to) : from_(from), to_(to) {
    ids_.resize(from.strings.size());
  }

  /// Maps the ids of tracks and the times of all later copies.
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
      } else if constexpr (!std::same_as<Value, HostEventId> &&  // Freeze() computes these.
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
  std::vector<StringId> ids_;  ///< New ids by old id.
};

}  // namespace headroom
