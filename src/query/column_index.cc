#include "query/column_index.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

namespace headroom {
namespace {

/// Returns the position of a key of a ranked column; kNoRow comes first.
std::size_t Slot(std::int64_t key) {
  return key == std::int64_t{kNoRow} ? 0 : static_cast<std::size_t>(key) + 1;
}

/// Returns the rank of each key that occurs, by slot, in the order of `less`. Rank 0 is kNoRow.
template <typename Less>
std::pair<std::vector<std::uint32_t>, std::size_t> RankOccurring(const std::vector<bool>& occurs,
                                                                 const Less& less) {
  std::vector<std::uint32_t> slots;
  for (std::size_t slot = 1; slot < occurs.size(); ++slot) {
    if (occurs[slot]) slots.push_back(static_cast<std::uint32_t>(slot));
  }
  std::sort(slots.begin(), slots.end(), less);
  std::vector<std::uint32_t> ranks(occurs.size());
  for (std::size_t i = 0; i < slots.size(); ++i)
    ranks[slots[i]] = static_cast<std::uint32_t>(i) + 1;
  return {std::move(ranks), slots.size() + 1};
}

}  // namespace

bool HasRanks(ColumnKind kind) {
  return kind == ColumnKind::kString || kind == ColumnKind::kRow || kind == ColumnKind::kLabel ||
         kind == ColumnKind::kFlag;
}

ColumnIndex::ColumnIndex(const TraceTables& tables, const Table& table, std::size_t column)
    : table_(table), column_(column), rows_(table.rows) {
  const TableColumn& facts = table.columns[column];
  if (!HasRanks(facts.kind)) {
    SortNumbers();
    return;
  }
  std::vector<bool> occurs;
  for (std::size_t row = 0; row < table.rows; ++row) {
    const std::size_t slot = Slot(table.Key(column, row));
    if (slot >= occurs.size()) occurs.resize(std::max(slot + 1, occurs.size() * 2));
    occurs[slot] = true;
  }
  const auto text = [&](std::uint32_t slot) {
    return facts.kind == ColumnKind::kString ? tables.store().Text(StringId(slot - 1))
                                             : facts.labels[slot - 1];
  };
  auto [ranks, count] =
      facts.kind == ColumnKind::kString || facts.kind == ColumnKind::kLabel
          ? RankOccurring(occurs,
                          [&](std::uint32_t a, std::uint32_t b) { return text(a) < text(b); })
          : RankOccurring(occurs, std::less<>());
  rank_of_key_ = std::move(ranks);
  SortRanked(rank_of_key_, count);
}

void ColumnIndex::SortRanked(const std::vector<std::uint32_t>& rank_of_key, std::size_t ranks) {
  begin_.assign(ranks + 1, 0);
  for (std::size_t row = 0; row < table_.rows; ++row)
    ++begin_[rank_of_key[Slot(table_.Key(column_, row))] + 1];
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (std::size_t row = 0; row < table_.rows; ++row) {
    rows_[next[rank_of_key[Slot(table_.Key(column_, row))]]++] = static_cast<std::uint32_t>(row);
  }
}

void ColumnIndex::SortNumbers() {
  LargeVector<std::pair<std::int64_t, std::uint32_t>> values(table_.rows);
  for (std::size_t row = 0; row < table_.rows; ++row)
    values[row] = {table_.Key(column_, row), static_cast<std::uint32_t>(row)};
  std::sort(values.begin(), values.end());
  for (std::size_t i = 0; i < values.size(); ++i) rows_[i] = values[i].second;
}

std::span<const std::uint32_t> ColumnIndex::Lookup(std::int64_t key) const {
  if (!begin_.empty()) {
    const std::size_t slot = Slot(key);
    if (key < 0 || slot >= rank_of_key_.size()) return {};
    const std::uint32_t rank = rank_of_key_[slot];
    if (rank == 0 && slot != 0) return {};
    return std::span(rows_).subspan(begin_[rank], begin_[rank + 1] - begin_[rank]);
  }
  const auto first = std::lower_bound(
      rows_.begin(), rows_.end(), key,
      [&](std::uint32_t row, std::int64_t value) { return table_.Key(column_, row) < value; });
  const auto last = std::upper_bound(
      first, rows_.end(), key,
      [&](std::int64_t value, std::uint32_t row) { return value < table_.Key(column_, row); });
  return std::span(rows_).subspan(static_cast<std::size_t>(first - rows_.begin()),
                                  static_cast<std::size_t>(last - first));
}

}  // namespace headroom
