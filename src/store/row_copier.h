// Takes rows of one trace into another, as the parts of it that are made into a trace of their own.
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "store/trace_store.h"

namespace headroom {

/// Copies rows of one store's tables to another's, with strings interned anew. Columns that
/// Freeze() computes, and the task of a collective, are left to the caller.
class RowCopier {
 public:
  RowCopier(const TraceStore& from, TraceStore& to) : from_(from), to_(to) {
    ids_.resize(from.strings.size());
  }

  template <typename Table>
  void Copy(const Table& from, std::size_t row, Table& to) {
    to.ForEachColumnPair(from, [&](auto& into, const auto& column) {
      using Value = typename std::remove_cvref_t<decltype(into)>::value_type;
      if constexpr (std::same_as<Value, StringId>) {
        into.Append(NewId(column[row]));
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
  StringId NewId(StringId old) {
    if (!old.valid()) return old;
    StringId& id = ids_[old.index()];
    if (!id.valid()) id = to_.strings.Intern(from_.strings.Get(old));
    return id;
  }

  const TraceStore& from_;
  TraceStore& to_;
  std::vector<StringId> ids_;  ///< By old id.
};

}  // namespace headroom
