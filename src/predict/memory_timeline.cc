#include "predict/memory_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "predict/bounded_json.h"
#include "predict/csv_table.h"

namespace headroom {
namespace {

/// Members in the order of the profiler's category numbers. Larger numbers also count as unknown.
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
  // Actions: pre-existing, created, changed, freed.
  constexpr std::int64_t kFirstAction = 1, kLastAction = 4;
  if (category < 0 || action < kFirstAction || action > kLastAction) return std::nullopt;
  return Entry{.time = row[0].get<std::int64_t>(),
               .bytes = row[2].get<double>(),
               .category = static_cast<std::size_t>(category)};
}

}  // namespace

Result<RecordedMemory> ReadMemoryTimeline(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{512} << 20;  // About 12 million entries.
  const Result<std::string> text = ReadWholeText(path, kMaxBytes);
  if (!text.ok()) return text.status();
  const auto bad = [&](const std::string& what) {
    return Status::BadInput(fmt::format("{}: {}", path, what));
  };
  RecordedMemory now, most;
  std::optional<std::int64_t> time;  // Time of the last entry.
  // Evaluates the allocated bytes at the end of a moment, after entry `last`.
  const auto end_moment = [&](std::size_t last) {
    if (std::any_of(kCategories.begin(), kCategories.end(),
                    [&](const auto part) { return now.*part < 0; })) {
      return bad(fmt::format("by entry {}, more bytes are freed than allocated", last));
    }
    // Uses the last of equal moments, because the profiler learns the purpose of tensors over time.
    if (now.Total() >= most.Total()) most = now;
    return Status::Ok();
  };
  std::size_t entries = 0;
  const auto take = [&](std::size_t number, nlohmann::json& row) {
    const std::optional<Entry> entry = EntryOf(row);
    if (!entry)
      return bad(
          fmt::format("entry {} is not [time, action from 1 to 4, bytes, category]", number));
    if (time && entry->time < *time)
      return bad(fmt::format("entry {} is earlier than the previous one", number));
    if (time && entry->time > *time) {
      if (Status status = end_moment(entries); !status.ok()) return status;
    }
    now.*kCategories[std::min(entry->category, kCategories.size() - 1)] += entry->bytes;
    time = entry->time;
    entries = number;
    return Status::Ok();
  };
  Status status = ForEachJsonElement(text.value(), path, "entry", take);
  if (status.ok()) status = end_moment(entries);
  if (status.ok() && most.Total() <= 0) status = bad("the file has no allocation");
  if (!status.ok()) {
    return Status::BadInput(
        status.message() +
        "; give a file written by prof.export_memory_timeline(\"FILE.raw.json.gz\")");
  }
  return most;
}

}  // namespace headroom
