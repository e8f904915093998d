#include "query/table_scan.h"

#include <algorithm>

namespace headroom {
namespace {

/// Below this number of rows, a full scan is faster than preparing a lookup.
constexpr std::size_t kFewRows = 4096;

/// Passes `visit` a function for the column's kind that returns keys, so that the loop over rows
/// has no branch on the kind.
template <typename Visit>
void WithKeys(const Table& table, std::size_t column, const Visit& visit) {
  const void* const data = column == kIdColumn ? nullptr : table.columns[column].data;
  const auto as = [&]<typename T>(T) {
    visit([values = static_cast<const char*>(data)](std::uint32_t row) {
      T value;
      __builtin_memcpy(&value, values + std::size_t{row} * sizeof(T), sizeof(T));
      return std::int64_t{value};
    });
  };
  if (column == kIdColumn) {
    visit([](std::uint32_t row) { return std::int64_t{row}; });
    return;
  }
  switch (table.columns[column].kind) {
    case ColumnKind::kInt64:  // NOLINT(bugprone-branch-clone): types differ.
      return as(std::int64_t());
    case ColumnKind::kInt32:
      return as(std::int32_t());
    case ColumnKind::kString:
    case ColumnKind::kRow:
      return as(std::uint32_t());
    case ColumnKind::kLabel:
    case ColumnKind::kFlag:
      return as(std::uint8_t());
    case ColumnKind::kReal:
      return;
  }
}

}  // namespace

bool KeyCondition::Fulfils(std::int64_t key) const {
  return low <= key && key <= high &&
         (!any_of || std::binary_search(any_of->begin(), any_of->end(), key));
}

const ColumnIndex& TableIndexes::Made(std::size_t column) {
  std::unique_ptr<ColumnIndex>& index = indexes_[column];
  if (!index) index = std::make_unique<ColumnIndex>(tables_, tables_.table(table_), column);
  return *index;
}

const ColumnIndex& TableIndexes::Of(std::size_t column) {
  const std::lock_guard lock(mutex_);
  return Made(column);
}

const ColumnIndex* TableIndexes::ForLookup(std::size_t column) {
  const std::lock_guard lock(mutex_);
  if (indexes_.find(column) == indexes_.end() && lookups_[column]++ == 0) return nullptr;
  return &Made(column);
}

const KeyCondition* TableScan::Find(std::size_t column) const {
  if (column == Table::kNoColumn) return nullptr;
  for (const KeyCondition& condition : conditions_) {
    if (condition.column == column) return &condition;
  }
  return nullptr;
}

void TableScan::AddRanges(std::int64_t first_id, std::int64_t last_id) {
  const KeyCondition* const time = Find(table_.time);
  const KeyCondition* const key = Find(table_.run_key);
  if (table_.runs.empty() || (time == nullptr && key == nullptr)) {
    if (first_id <= last_id)
      ranges_.emplace_back(static_cast<std::uint32_t>(first_id),
                           static_cast<std::uint32_t>(last_id + 1));
    return;
  }
  for (const auto& run : table_.runs) {
    std::uint32_t first = run.first, last = run.second;
    if (key != nullptr && !key->Fulfils(table_.Key(table_.run_key, first))) continue;
    if (time != nullptr) {
      const auto find = [&](std::uint32_t from, const auto& before) {
        std::uint32_t count = last - from;
        while (count > 0) {  // Binary search: the first row at or after `from` without before().
          const std::uint32_t half = count / 2;
          if (before(table_.Key(table_.time, from + half))) {
            from += half + 1;
            count -= half + 1;
          } else {
            count = half;
          }
        }
        return from;
      };
      first = find(first, [&](std::int64_t t) { return t < time->low; });
      last = find(first, [&](std::int64_t t) { return t <= time->high; });
    }
    first = static_cast<std::uint32_t>(std::max<std::int64_t>(first, first_id));
    last = static_cast<std::uint32_t>(std::min<std::int64_t>(last, last_id + 1));
    if (first < last) ranges_.emplace_back(first, last);
  }
}

void TableScan::UseList(std::span<const std::uint32_t> rows) {
  from_list_ = true;
  list_ = rows;
}

/// Returns an index for a condition with one key, if it is faster than a scan of `rows`.
const ColumnIndex* TableScan::ChooseIndex(std::size_t rows, std::int64_t& key) {
  if (rows < kFewRows) return nullptr;
  for (const KeyCondition& condition : conditions_) {
    if (condition.column == kIdColumn || condition.column == table_.run_key ||
        !condition.IsOneKey() || table_.columns[condition.column].kind == ColumnKind::kLabel)
      continue;
    key = condition.low;
    if (const ColumnIndex* index = indexes_.ForLookup(condition.column)) return index;
  }
  return nullptr;
}

void TableScan::Start(std::vector<KeyCondition> conditions, ScanOrder order,
                      std::span<const std::size_t> read) {
  conditions_ = std::move(conditions);
  if (place_of_.empty() || !std::equal(read.begin(), read.end(), read_.begin(), read_.end())) {
    read_.assign(read.begin(), read.end());
    place_of_.assign(table_.columns.size(), kNotGathered);
    for (std::size_t place = 0; place < read_.size(); ++place) place_of_[read_[place]] = place;
    gathered_.resize(read_.size() * kBlock);
  }
  reverse_ = order.reverse;
  ranges_.clear();
  next_range_ = in_list_ = 0;
  in_range_ = 0;
  from_list_ = false;

  std::int64_t first_id = 0;
  std::int64_t last_id = static_cast<std::int64_t>(table_.rows) - 1;
  const std::vector<std::int64_t>* ids = nullptr;
  for (const KeyCondition& condition : conditions_) {
    if (condition.column != kIdColumn) continue;
    first_id = std::max(first_id, condition.low);
    last_id = std::min(last_id, condition.high);
    if (condition.any_of) ids = &*condition.any_of;
  }
  if (order.column != kIdColumn) {
    UseList(indexes_.Of(order.column).rows());
  } else if (ids != nullptr) {
    own_list_.clear();
    for (const std::int64_t id : *ids) {
      if (first_id <= id && id <= last_id) own_list_.push_back(static_cast<std::uint32_t>(id));
    }
    UseList(own_list_);
  } else {
    AddRanges(first_id, last_id);
    std::size_t rows = 0;
    for (const auto& [first, last] : ranges_) rows += last - first;
    std::int64_t key = 0;
    if (const ColumnIndex* index = ChooseIndex(rows, key)) UseList(index->Lookup(key));
  }
  Refill();
}

void TableScan::StartAt(std::int64_t row) {
  conditions_.clear();
  if (place_of_.empty() || !read_.empty()) {
    read_.clear();  // Gathering keys does not pay off for one row.
    place_of_.assign(table_.columns.size(), kNotGathered);
  }
  UseList({});
  in_list_ = 0;
  at_ = 0;
  filled_ = row >= 0 && static_cast<std::size_t>(row) < table_.rows ? 1 : 0;
  buffer_[0] = static_cast<std::uint32_t>(row);
}

/// Copies the next rows of the source into the buffer. Returns their number; 0 at the end.
std::size_t TableScan::Take() {
  std::size_t n = 0;
  if (from_list_) {
    n = std::min(kBlock, list_.size() - in_list_);
    for (std::size_t i = 0; i < n; ++i, ++in_list_)
      buffer_[i] = list_[reverse_ ? list_.size() - 1 - in_list_ : in_list_];
    return n;
  }
  while (n < kBlock && next_range_ < ranges_.size()) {
    const auto [first, last] = ranges_[reverse_ ? ranges_.size() - 1 - next_range_ : next_range_];
    const auto take =
        static_cast<std::uint32_t>(std::min<std::size_t>(kBlock - n, last - first - in_range_));
    for (std::uint32_t i = 0; i < take; ++i, ++in_range_)
      buffer_[n++] = reverse_ ? last - 1 - in_range_ : first + in_range_;
    if (in_range_ == last - first) {
      ++next_range_;
      in_range_ = 0;
    }
  }
  return n;
}

/// Keeps the rows of the buffer that meet the condition.
void TableScan::Keep(const KeyCondition& condition) {
  WithKeys(table_, condition.column, [&](const auto& key_of) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < filled_; ++i) {
      const std::uint32_t row = buffer_[i];
      buffer_[kept] = row;
      const std::int64_t key = key_of(row);
      kept += static_cast<std::size_t>(condition.any_of
                                           ? condition.Fulfils(key)
                                           : condition.low <= key && key <= condition.high);
    }
    filled_ = kept;
  });
}

void TableScan::Refill() {
  at_ = 0;
  do {
    filled_ = Take();
    if (filled_ == 0) return;
    for (const KeyCondition& condition : conditions_) Keep(condition);
  } while (filled_ == 0);
  Gather();
}

void TableScan::Gather() {
  for (std::size_t place = 0; place < read_.size(); ++place) {
    std::int64_t* const keys = gathered_.data() + place * kBlock;
    WithKeys(table_, read_[place], [&](const auto& key_of) {
      for (std::size_t i = 0; i < filled_; ++i) keys[i] = key_of(buffer_[i]);
    });
  }
}

}  // namespace headroom
