#include "ingest/memory_snapshot/pickle_values.h"

namespace headroom::memory_snapshot {

void PickleValues::Append(Value container, std::span<const Value> items) {
  if (!IsContainer(container) || IsRecord(container) || items.empty()) return;
  Container& to = containers_[static_cast<std::size_t>(container.payload())];
  const std::uint64_t begin = items_.size();
  items_.insert(items_.end(), items.begin(), items.end());
  const auto count = static_cast<std::uint32_t>(items.size());
  if (to.last != kNone && chunks_[to.last].begin + chunks_[to.last].count == begin &&
      chunks_[to.last].count <= UINT32_MAX - count) {
    chunks_[to.last].count += count;
    return;
  }
  const auto chunk = static_cast<std::uint32_t>(chunks_.size());
  chunks_.push_back({begin, count, kNone});
  (to.last == kNone ? to.first : chunks_[to.last].next) = chunk;
  to.last = chunk;
}

void PickleValues::BecomeRecord(Value container, std::uint32_t record) {
  if (IsContainer(container))
    containers_[static_cast<std::size_t>(container.payload())] = {kRecord, record};
}

Value PickleValues::Find(Value dict, std::string_view key) const {
  Value found;
  if (!dict.is(Value::Kind::kDict)) return found;
  // A run must not end between a key and its value; the parser makes no such runs.
  ForEachRun(dict, [&](std::span<const Value> items) {
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      if (items[i].is(Value::Kind::kText) && TextOf(items[i]) == key) found = items[i + 1];
    }
    return true;
  });
  return found;
}

std::size_t PickleValues::CountOf(Value container) const {
  std::size_t count = 0;
  ForEachRun(container, [&](std::span<const Value> items) {
    count += items.size();
    return true;
  });
  return count;
}

}  // namespace headroom::memory_snapshot
