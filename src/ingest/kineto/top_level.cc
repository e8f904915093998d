#include "ingest/kineto/top_level.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/ascii.h"
#include "store/carried_damage.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace {

constexpr std::string_view kListKey = "traceEvents";
constexpr std::size_t kLargestKeptValue = std::size_t{4} << 20;
/// Members that only a profiler of training jobs writes around its events.
constexpr std::string_view kOfProfilers[] = {"schemaVersion", "deviceProperties", "distributedInfo",
                                             "record_shapes", "cuda_driver_version"};

using nlohmann::json;

std::optional<std::int64_t> IntegerIn(const json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number_integer()) return std::nullopt;
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > INT64_MAX) return std::nullopt;
  return it->get<std::int64_t>();
}

/// Returns a member that is at least `least`. Smaller values mean "not recorded": builds without a
/// GPU or a process group write -1 or 0.
std::optional<std::int64_t> IntegerFrom(std::int64_t least, const json& object, const char* key) {
  const std::optional<std::int64_t> value = IntegerIn(object, key);
  return value && *value >= least ? value : std::nullopt;
}

std::int32_t Integer32From(std::int64_t least, const json& object, const char* key) {
  const std::optional<std::int64_t> value = IntegerFrom(least, object, key);
  return value && *value <= INT32_MAX ? static_cast<std::int32_t>(*value) : kUnknown32;
}

std::string StringIn(const json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

void LogDamaged(std::string_view key, TraceStore& store) {
  store.log.Add(ImportIssue::kDamagedMetadata, -1, std::string(key));
}

/// Requires an array.
void KeepDevices(const json& list, TraceStore& store, Merger& merger) {
  for (const json& device : list) {
    const std::optional<std::int64_t> ordinal =
        device.is_object() ? IntegerIn(device, "id") : std::nullopt;
    if (!ordinal) {
      LogDamaged("deviceProperties", store);
      continue;
    }
    if (*ordinal < 0) continue;
    const std::size_t row = merger.DeviceOf(*ordinal).index();
    const std::string name = StringIn(device, "name");
    if (!name.empty()) store.devices.name.MutablePending(row) = store.strings.Intern(name);
    store.devices.memory_bytes.MutablePending(row) =
        IntegerFrom(1, device, "totalGlobalMem").value_or(kUnknown);
    store.devices.sm_count.MutablePending(row) = Integer32From(1, device, "numSms");
    store.devices.compute_major.MutablePending(row) = Integer32From(1, device, "computeMajor");
    store.devices.compute_minor.MutablePending(row) = Integer32From(0, device, "computeMinor");
  }
}

/// Requires an object.
void KeepDamage(const json& counts, ImportLog& log) {
  for (const auto& [code, count] : counts.items()) {
    if (count.is_number_integer()) AddCarried(code, count.get<std::int64_t>(), log);
  }
}

/// Requires an object.
void KeepVersions(const json& versions, TraceMetadata& metadata) {
  for (const auto& [name, version] : versions.items()) {
    if (version.is_string())
      AddVersion(name, version.get_ref<const std::string&>(), metadata.versions);
  }
}

/// Keeps a top-level member if Headroom knows it. All others are dropped unread, because a trace
/// may contain secrets.
void KeepMember(std::string_view key, std::string_view value, TraceStore& store, Merger& merger) {
  TraceMetadata& metadata = store.metadata;
  std::int64_t number = 0;
  if (key == "baseTimeNanoseconds" && ParseInteger(value, number)) metadata.base_time_ns = number;
  if (key == "cuda_driver_version" && ParseInteger(value, number))
    metadata.cuda_driver_version = number;
  if (key == "cuda_runtime_version" && ParseInteger(value, number) && number > 0)
    AddVersion("cuda_runtime", CudaVersionText(number), metadata.versions);
  if (key == "hip_runtime_version" && ParseInteger(value, number) && number > 0)
    AddVersion("hip_runtime", HipVersionText(number), metadata.versions);
  if (key == "hip_driver_version" && ParseInteger(value, number) && number > 0)
    AddVersion("hip_driver", HipVersionText(number), metadata.versions);
  if (std::find(std::begin(kOfProfilers), std::end(kOfProfilers), key) != std::end(kOfProfilers))
    metadata.format = kKinetoFormat;
  if (key == "headroom_scenario") metadata.is_forecast = true;
  if (key == "headroom_names_and_times_only") metadata.names_and_times_only = value == "1";
  if (key == "headroom_copy_of" && IsKnownFormat(value)) metadata.copied_from = value;
  constexpr std::string_view kParsed[] = {"distributedInfo", "deviceProperties", "headroom_damage",
                                          "headroom_versions"};
  if (std::find(std::begin(kParsed), std::end(kParsed), key) == std::end(kParsed)) return;

  if (value.size() > kLargestKeptValue) return LogDamaged(key, store);
  const json parsed = json::parse(value, nullptr, /*allow_exceptions=*/false);
  const bool is_list = key == "deviceProperties";
  if (is_list ? !parsed.is_array() : !parsed.is_object()) return LogDamaged(key, store);
  if (is_list) return KeepDevices(parsed, store, merger);
  if (key == "headroom_damage") return KeepDamage(parsed, store.log);
  if (key == "headroom_versions") return KeepVersions(parsed, metadata);
  AddVersion("nccl", StringIn(parsed, "nccl_version"), metadata.versions);
  metadata.rank = IntegerFrom(0, parsed, "rank");
  metadata.world_size = IntegerFrom(1, parsed, "world_size");
}

/// Position of the event list.
struct ListStart {
  bool found = false;
  std::size_t key;     ///< The opening quote of its key; the end of the text if not found.
  std::size_t events;  ///< Position just after its '['.
};

/// Searches for `"traceEvents": [`. In valid JSON this is structure and never part of a string,
/// whose quotes would be escaped. So the search also works after damage, and the answer does not
/// depend on the length of the text.
ListStart FindList(std::string_view text, std::size_t from) {
  constexpr std::string_view kQuotedKey = "\"traceEvents\"";
  for (std::size_t key = text.find(kQuotedKey, from); key != std::string_view::npos;
       key = text.find(kQuotedKey, key + 1)) {
    const std::size_t colon = SkipSpace(text, key + kQuotedKey.size());
    if (colon == text.size() || text[colon] != ':') continue;
    const std::size_t bracket = SkipSpace(text, colon + 1);
    if (bracket < text.size() && text[bracket] == '[') return {true, key, bracket + 1};
  }
  return {false, text.size(), 0};
}

}  // namespace

Prologue ReadPrologue(std::string_view text, TraceStore& store, Merger& merger, bool& bare_array,
                      std::size_t& next) {
  std::size_t at = SkipSpace(text, text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
  if (at == text.size()) return Prologue::kNeedsMore;
  if (text[at] == '[') {
    bare_array = true;
    next = at + 1;
    at = SkipSpace(text, next);
    if (at == text.size()) return Prologue::kNeedsMore;
    if (text[at] == '[') return Prologue::kMemoryTimeline;
    return text[at] == '{' || text[at] == ']' ? Prologue::kListStarts : Prologue::kNotJson;
  }
  if (text[at] != '{') return Prologue::kNotJson;
  bare_array = false;
  // Store known members only after the list is found: until then this function runs again on a
  // longer text.
  const ListStart list = FindList(text, at);
  struct Member {
    Token key, value;
  };
  std::vector<Member> members;
  bool damaged = false, closed = false;
  for (++at; at < list.key;) {
    if (IsSpace(text[at]) || text[at] == ',') {
      ++at;
      continue;
    }
    closed = text[at] == '}';
    damaged = closed && list.found;
    if (closed) break;
    Member member;
    std::size_t member_end = 0;
    const ScanResult result = ScanMember(text, at, kListKey, member.key, member.value, member_end);
    // Drop a damaged member and those after it, because the damaged member may have swallowed them.
    damaged = result == ScanResult::kDamaged || member_end > list.key;
    if (damaged || result == ScanResult::kIncomplete) break;
    members.push_back(member);
    at = member_end;
  }
  if (!list.found && closed && !members.empty()) return Prologue::kNoEventList;
  if (!list.found) return damaged || closed ? Prologue::kDamaged : Prologue::kNeedsMore;
  next = list.events;
  if (damaged) store.log.Add(ImportIssue::kDamagedMetadata, static_cast<std::int64_t>(at));
  for (const Member& member : members)
    KeepMember(member.key.text, member.value.text, store, merger);
  return Prologue::kListStarts;
}

void ReadEpilogue(std::string_view text, std::int64_t bytes, bool bare_array, std::int64_t offset,
                  TraceStore& store, Merger& merger) {
  std::size_t at = 0;
  const auto log = [&](ImportIssue issue, std::string detail = {}) {
    store.log.Add(issue, offset + static_cast<std::int64_t>(at), std::move(detail));
  };
  // Logs events in dropped text.
  const auto look_for_events = [&] {
    if (text.find("\"ph\"", at) != std::string_view::npos) log(ImportIssue::kExtraEventList);
  };
  while (!bare_array) {
    while (at < text.size() && (IsSpace(text[at]) || text[at] == ',')) ++at;
    if (at == text.size()) return log(ImportIssue::kUnclosed);
    if (text[at] == '}') {
      ++at;
      break;
    }
    Token key, value;
    std::size_t next = 0;
    const ScanResult result = ScanMember(text, at, kListKey, key, value, next);
    if (result == ScanResult::kEvent && value.present()) {
      KeepMember(key.text, value.text, store, merger);
      at = next;
      continue;
    }
    if (result == ScanResult::kEvent) return log(ImportIssue::kExtraEventList);
    const bool cut =
        result == ScanResult::kIncomplete && static_cast<std::int64_t>(text.size()) == bytes;
    log(cut ? ImportIssue::kUnclosed : ImportIssue::kDamagedMetadata);
    return look_for_events();
  }
  at = SkipSpace(text, at);
  const std::int64_t rest = bytes - static_cast<std::int64_t>(at);
  if (rest == 0) return;
  log(ImportIssue::kTrailingGarbage, std::to_string(rest) + " bytes");
  look_for_events();
}

}  // namespace headroom::kineto
