#include "predict/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "predict/csv_table.h"

namespace headroom {
namespace {

/// By number of the profiler's category; what comes behind the last is unknown, too.
constexpr std::array kCategories = {&RecordedMemory::parameters,  &RecordedMemory::optimizer_state,
                                    &RecordedMemory::inputs,      &RecordedMemory::temporaries,
                                    &RecordedMemory::activations, &RecordedMemory::gradients,
                                    &RecordedMemory::autograd,    &RecordedMemory::unknown};

struct Entry {
  std::int64_t time = 0;
  double bytes = 0;
  std::size_t category = 0;
};

std::optional<Entry> EntryOf(const nlohmann::json& row) {
  constexpr std::size_t kColumns = 4;
  if (!row.is_array() || row.size() != kColumns) return std::nullopt;
  for (const nlohmann::json& cell : row) {
    if (!cell.is_number_integer()) return std::nullopt;
  }
  const auto category = row[3].get<std::int64_t>(), action = row[1].get<std::int64_t>();
  constexpr std::int64_t kFirstAction = 1, kLastAction = 4;  // There before, made, changed, freed.
  if (category < 0 || action < kFirstAction || action > kLastAction) return std::nullopt;
  return Entry{.time = row[0].get<std::int64_t>(),
               .bytes = row[2].get<double>(),
               .category = static_cast<std::size_t>(category)};
}

}  // namespace

Result<RecordedMemory> ReadMemoryTimeline(const std::string& path) {
  const Result<std::string> text = ReadWholeText(path);
  if (!text.ok()) return text.status();
  const nlohmann::json rows = nlohmann::json::parse(text.value(), nullptr, false);
  const auto bad = [&](const std::string& what) {
    return Status::BadInput(fmt::format(
        "{}: {}; it must be what prof.export_memory_timeline(\"FILE.raw.json.gz\") wrote", path,
        what));
  };
  if (!rows.is_array() || rows.empty()) return bad("is no list of [time, action, bytes, category]");
  RecordedMemory now, most;
  std::optional<std::int64_t> before;  // Time of the last entry.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Entry> entry = EntryOf(rows[i]);
    if (!entry)
      return bad(fmt::format("entry {} is not a time, an action from 1 to 4, bytes and a category",
                             i + 1));
    now.*kCategories[std::min(entry->category, kCategories.size() - 1)] += entry->bytes;
    if (before && entry->time < *before)
      return bad(fmt::format("entry {} is earlier than the one before it", i + 1));
    before = entry->time;
    const std::optional<Entry> next =
        i + 1 < rows.size() ? EntryOf(rows[i + 1]) : std::optional<Entry>();
    if (next && next->time == entry->time) continue;
    if (std::any_of(kCategories.begin(), kCategories.end(),
                    [&](const auto part) { return now.*part < 0; })) {
      return bad(fmt::format("by entry {}, more is freed than was there", i + 1));
    }
    // Of moments that are equal, the last: the profiler learns what tensors are for as it goes.
    if (now.Total() >= most.Total()) most = now;
  }
  if (most.Total() <= 0) return bad("nothing is ever allocated in it");
  return most;
}

}  // namespace headroom
