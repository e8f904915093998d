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
  const auto category = row[3].get<std::int64_t>();
  if (category < 0 || row[1].get<std::int64_t>() < 0) return std::nullopt;
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
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::optional<Entry> entry = EntryOf(rows[i]);
    if (!entry) return bad(fmt::format("entry {} is not four whole numbers", i + 1));
    now.*kCategories[std::min(entry->category, kCategories.size() - 1)] += entry->bytes;
    const std::optional<Entry> next =
        i + 1 < rows.size() ? EntryOf(rows[i + 1]) : std::optional<Entry>();
    if (next && next->time == entry->time) continue;
    // Of moments that are equal, the last: the profiler learns what tensors are for as it goes.
    if (now.Total() >= most.Total()) most = now;
  }
  if (most.Total() <= 0) return bad("nothing is ever allocated in it");
  return most;
}

}  // namespace headroom
