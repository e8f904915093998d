#include "ingest/perfetto/row_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii.h"
#include "base/perfetto_fields.h"
#include "base/protobuf_reader.h"
#include "ingest/names/rocm_kernels.h"
#include "store/carried_damage.h"
#include "store/trace_formats.h"

namespace headroom::perfetto {
namespace {

constexpr std::uint32_t kBegin = static_cast<std::uint32_t>(TrackEventType::kSliceBegin);
constexpr std::uint32_t kEnd = static_cast<std::uint32_t>(TrackEventType::kSliceEnd);
constexpr std::uint32_t kInstant = static_cast<std::uint32_t>(TrackEventType::kInstant);
constexpr std::uint32_t kCounter = static_cast<std::uint32_t>(TrackEventType::kCounter);

/// Returns the event type for a legacy phase, or 0 if the phase has none.
std::uint32_t TypeOf(char phase) {
  switch (phase) {
    case 'B':
    case 'X':
      return kBegin;
    case 'E':
      return kEnd;
    case 'I':
    case 'i':
    case 'R':
      return kInstant;
    default:
      return 0;
  }
}

void AppendDoubles(const ProtobufReader& reader, std::vector<double>& out) {
  if (reader.type() == WireType::kFixed64) out.push_back(reader.number());
  for (std::string_view packed = reader.bytes(); packed.size() >= sizeof(double);
       packed.remove_prefix(sizeof(double))) {
    std::memcpy(&out.emplace_back(), packed.data(), sizeof(double));
  }
}

bool IsArrow(char phase) { return phase == 's' || phase == 't' || phase == 'f'; }

SyncKind SyncKindOf(std::string_view name) {
  if (name == "Context Sync") return SyncKind::kContext;
  if (name == "Stream Sync") return SyncKind::kStream;
  if (name == "Event Sync") return SyncKind::kEvent;
  return name == "Stream Wait Event" ? SyncKind::kStreamWaitEvent : SyncKind::kOther;
}

GpuTaskKind KindOf(std::string_view kind) {
  if (kind == "memcpy") return GpuTaskKind::kMemcpy;
  return kind == "memset" ? GpuTaskKind::kMemset : GpuTaskKind::kKernel;
}

/// Returns the number at the end of a device's name ("Agent-2", "2"), or -1.
std::int64_t TrailingNumber(std::string_view text) {
  std::size_t at = text.size();
  while (at > 0 && IsDigit(text[at - 1])) --at;
  std::int64_t number = -1;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

}  // namespace

void Sequence::Clear() {
  categories.Clear();
  event_names.Clear();
  arg_names.Clear();
  arg_texts.Clear();
  gpu_names.Clear();
  clock = 0;
  track = 0;
  extra_tracks.clear();
  extra_double_tracks.clear();
}

StringId RowWriter::TextOf(const InternTable& table, std::uint64_t iid, std::int64_t offset) {
  const StringId text = table.Find(iid);
  if (text.valid()) return text;
  store_.log.Add(ImportIssue::kMissingName, offset);
  return StringId(0u);
}

CategoryRule RowWriter::RuleOf(StringId category) {
  const std::size_t index = category.index();
  if (index >= rules_.size()) {
    rules_.resize(store_.strings.size());
    rule_known_.resize(store_.strings.size());
  }
  if (!rule_known_[index]) {
    rules_[index] = RuleOfCategory(store_.strings.Get(category));
    rule_known_[index] = true;
  }
  return rules_[index];
}

RowWriter::LegacyEvent RowWriter::ReadLegacyEvent(std::string_view message) {
  LegacyEvent event;
  for (ProtobufReader reader(message); reader.Next();) {
    switch (reader.as<LegacyEventField>()) {
      case LegacyEventField::kNameIid:
        event.name_iid = reader.integer();
        break;
      case LegacyEventField::kPhase:
        event.phase = static_cast<char>(reader.integer());
        break;
      case LegacyEventField::kDurationUs:
        event.duration_us = reader.signed_integer();
        break;
      case LegacyEventField::kUnscopedId:
        event.id = reader.signed_integer();
        break;
      case LegacyEventField::kBindToEnclosing:
        break;  // Used only by viewers.
      case LegacyEventField::kPid:
        event.pid = reader.integer32();
        break;
      case LegacyEventField::kTid:
        event.tid = reader.integer32();
        break;
    }
  }
  return event;
}

bool RowWriter::ReadMessage(const Sequence& sequence, std::string_view bytes, Event& event,
                            Message& message) {
  annotations_.clear();
  extra_tracks_.clear();
  extra_double_tracks_.clear();
  extra_values_.clear();
  extra_doubles_.clear();
  ProtobufReader reader(bytes);
  while (reader.Next()) {
    switch (reader.as<TrackEventField>()) {
      case TrackEventField::kType:
        event.type = static_cast<std::uint32_t>(reader.integer());
        break;
      case TrackEventField::kTrack:
        message.track = reader.integer();
        break;
      case TrackEventField::kNameIid:
        event.name = TextOf(sequence.event_names, reader.integer(), event.offset);
        break;
      case TrackEventField::kName:
        event.name = store_.strings.Intern(reader.bytes());
        break;
      case TrackEventField::kCategoryIids:  // The first category counts.
        ForEachInteger(reader, [&](std::uint64_t iid) {
          if (event.category == StringId(0u))
            event.category = TextOf(sequence.categories, iid, event.offset);
        });
        break;
      case TrackEventField::kCategories:
        if (event.category == StringId(0u)) event.category = store_.strings.Intern(reader.bytes());
        break;
      case TrackEventField::kDebugAnnotations:
        annotations_.push_back(reader.bytes());
        break;
      case TrackEventField::kCounterValue:
        message.integer = reader.signed_integer();
        break;
      case TrackEventField::kDoubleCounterValue:
        message.number = reader.number();
        break;
      case TrackEventField::kExtraCounterTracks:
        ForEachInteger(reader, [&](std::uint64_t uuid) { extra_tracks_.push_back(uuid); });
        break;
      case TrackEventField::kExtraCounterValues:
        ForEachInteger(reader, [&](std::uint64_t value) {
          extra_values_.push_back(static_cast<std::int64_t>(value));
        });
        break;
      case TrackEventField::kExtraDoubleCounterTracks:
        ForEachInteger(reader, [&](std::uint64_t uuid) { extra_double_tracks_.push_back(uuid); });
        break;
      case TrackEventField::kExtraDoubleCounterValues:
        AppendDoubles(reader, extra_doubles_);
        break;
      case TrackEventField::kLegacyEvent:
        message.legacy = ReadLegacyEvent(reader.bytes());
        break;
      case TrackEventField::kFlowIds:  // Flow ids join launches to tasks, which correlation ids
                                       // already do.
      case TrackEventField::kTerminatingFlowIds:
      case TrackEventField::kTimestampDeltaUs:  // Already read with the packet.
      case TrackEventField::kTimestampAbsoluteUs:
        break;
    }
  }
  return !reader.damaged();
}

std::uint32_t RowWriter::TrackOf(const Sequence& sequence, const Message& message) {
  // A track named by a legacy event overrides the default of its sequence.
  if (message.legacy && message.legacy->tid != 0) {
    return tracks_.NumberOfThread(message.legacy->pid != 0 ? message.legacy->pid : sequence.pid,
                                  message.legacy->tid);
  }
  const bool has_track = message.track || sequence.track != 0;
  if (!has_track && sequence.thread_track != Tracks::kNoTrack) return sequence.thread_track;
  return tracks_.NumberOf(message.track.value_or(sequence.track));
}

void RowWriter::ApplyLegacy(const Sequence& sequence, const LegacyEvent& legacy, Event& event) {
  if (legacy.name_iid != 0)
    event.name = TextOf(sequence.event_names, legacy.name_iid, event.offset);
  if (event.type == 0) event.type = TypeOf(legacy.phase);
  if (legacy.phase != 'X') return;
  constexpr std::int64_t kLongestUs = INT64_MAX / 4000;
  if (legacy.duration_us < 0) store_.log.Add(ImportIssue::kMissingDuration, event.offset);
  event.duration_ns = std::clamp<std::int64_t>(legacy.duration_us, 0, kLongestUs) * 1000;
}

void RowWriter::ReadAnnotations(const Sequence& sequence, std::int64_t offset) {
  args_.Clear();
  for (const std::string_view annotation : annotations_) {
    if (!args_.AddAnnotation(annotation, sequence.arg_names, sequence.arg_texts))
      store_.log.Add(ImportIssue::kMissingName, offset, "an argument");
  }
  if (args_.over_budget()) {
    store_.log.Add(ImportIssue::kOversizedEvent, offset,
                   "arguments were dropped: they repeat the same long texts too often");
  }
}

void RowWriter::AddCounter(const Event& event, const Message& message) {
  if (!message.number) return CountInteger(event.track, event.time, message.integer);
  if (!std::isfinite(*message.number)) store_.log.Add(ImportIssue::kCounterValue, event.offset);
  Count(event.track, event.time, *message.number);
}

void RowWriter::AddExtraCounters(const Sequence& sequence, TimeNs time) {
  const std::vector<std::uint64_t>& extra =
      extra_tracks_.empty() ? sequence.extra_tracks : extra_tracks_;
  for (std::size_t i = 0; i < std::min(extra.size(), extra_values_.size()); ++i)
    CountInteger(tracks_.NumberOf(extra[i]), time, extra_values_[i]);
  const std::vector<std::uint64_t>& extra_double =
      extra_double_tracks_.empty() ? sequence.extra_double_tracks : extra_double_tracks_;
  for (std::size_t i = 0; i < std::min(extra_double.size(), extra_doubles_.size()); ++i)
    Count(tracks_.NumberOf(extra_double[i]), time, extra_doubles_[i]);
}

void RowWriter::AddTrackEvent(Sequence& sequence, TimeNs time, std::string_view bytes,
                              std::int64_t offset) {
  Event event;
  event.time = time;
  event.offset = offset;
  event.name = event.category = StringId(0u);
  Message message;
  if (!ReadMessage(sequence, bytes, event, message)) {
    store_.log.Add(ImportIssue::kLostEvent, offset, "a track event is damaged");
    return;
  }
  event.track = TrackOf(sequence, message);
  if (message.legacy) {
    ApplyLegacy(sequence, *message.legacy, event);
    if (event.type == 0 && IsArrow(message.legacy->phase))
      return AppendArrow(event, message.legacy->phase, message.legacy->id);
  }
  ReadAnnotations(sequence, offset);
  switch (event.type) {
    case kBegin:
      sequence.last_slice = std::max(sequence.last_slice, time);
      Begin(event, sequence.number);
      break;
    case kEnd:
      sequence.last_slice = std::max(sequence.last_slice, time);
      End(event);
      break;
    case kInstant:
      Instant(event);
      break;
    case kCounter:
      AddCounter(event, message);
      break;
    default:
      store_.log.Add(ImportIssue::kUnreadData, offset, "a track event without a known type");
  }
  AddExtraCounters(sequence, time);
}

std::uint32_t RowWriter::AppendHostEvent(const Event& event, CategoryRule rule) {
  auto& rows = store_.host_events;
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = event.time;
  rows.name.MutablePending(row) = event.name;
  rows.category.MutablePending(row) = event.category;
  rows.thread.MutablePending(row) = ThreadId(event.track);
  rows.kind.MutablePending(row) = HostKindOf(rule);
  return static_cast<std::uint32_t>(row);
}

std::uint32_t RowWriter::AppendGpuTask(TimeNs start, StringId name, GpuTaskKind kind) {
  auto& rows = store_.gpu_tasks;
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = start;
  rows.name.MutablePending(row) = name;
  rows.kind.MutablePending(row) = kind;
  return static_cast<std::uint32_t>(row);
}

std::uint32_t RowWriter::AppendSync(const Event& event) {
  auto& rows = store_.syncs;
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = event.time;
  rows.kind.MutablePending(row) = SyncKindOf(store_.Text(event.name));
  const std::int64_t stream = args_.Integer(ArgColumn::kStream);
  if (stream >= 0) {
    const std::int64_t device = args_.Integer(ArgColumn::kDevice);
    rows.stream.MutablePending(row) =
        tracks_.StreamOf(device == kUnknown ? -1 : device, stream, Tracks::kNoTrack);
  }
  rows.correlation.MutablePending(row) = args_.Integer(ArgColumn::kCorrelation);
  rows.wait_on_stream.MutablePending(row) = args_.Integer(ArgColumn::kWaitOnStream);
  rows.wait_on_correlation.MutablePending(row) = args_.Integer(ArgColumn::kWaitOnCorrelation);
  rows.args.MutablePending(row) = args_.Rest();
  return static_cast<std::uint32_t>(row);
}

void RowWriter::AppendArrow(const Event& event, char phase, std::int64_t id) {
  ++store_.metadata.events;
  auto& rows = store_.flows;
  rows.time.Append(event.time);
  rows.category.Append(event.category);
  rows.id.Append(id);
  rows.phase.Append(phase == 's'   ? FlowPhase::kStart
                    : phase == 't' ? FlowPhase::kStep
                                   : FlowPhase::kFinish);
  rows.thread.Append(ThreadId(event.track));
}

void RowWriter::AppendMemoryEvent(const Event& event) {
  auto& rows = store_.memory_events;
  rows.time.Append(event.time);
  rows.thread.Append(ThreadId(event.track));
  rows.address.Append(args_.Integer(ArgColumn::kAddress));
  rows.bytes.Append(args_.Integer(ArgColumn::kMemoryBytes));
  rows.total_allocated_bytes.Append(args_.Integer(ArgColumn::kTotalAllocated));
  rows.total_reserved_bytes.Append(args_.Integer(ArgColumn::kTotalReserved));
  rows.device_type.Append(args_.Integer32(ArgColumn::kDeviceType));
  rows.device.Append(args_.Integer32(ArgColumn::kDeviceId));
  rows.event_index.Append(args_.Integer32(ArgColumn::kEventIndex));
}

void RowWriter::AppendCollective(std::uint32_t task) {
  auto& rows = store_.collectives;
  const auto text = [&](ArgColumn column) {
    return args_.Has(column) ? store_.strings.Intern(args_.Text(column)) : StringId::None();
  };
  rows.task.Append(GpuTaskId(task));
  rows.name.Append(text(ArgColumn::kCollectiveName));
  rows.dtype.Append(text(ArgColumn::kDtype));
  rows.process_group.Append(text(ArgColumn::kProcessGroup));
  rows.in_elements.Append(args_.Integer(ArgColumn::kInElements));
  rows.out_elements.Append(args_.Integer(ArgColumn::kOutElements));
  rows.group_size.Append(args_.Integer(ArgColumn::kGroupSize));
}

bool RowWriter::Reopen(const Event& event) {
  Track& track = tracks_[event.track];
  const std::int64_t ends_ago = args_.Integer(ArgColumn::kContinues);
  const auto closed = static_cast<std::int64_t>(track.just_closed.size());
  if (ends_ago < 1 || ends_ago > closed || track.closed_at != event.time) return false;
  track.open.push_back(track.just_closed[static_cast<std::size_t>(closed - ends_ago)]);
  return true;
}

void RowWriter::Begin(const Event& event, std::uint32_t sequence) {
  if (!args_.empty() && Reopen(event)) return;
  ++store_.metadata.events;
  const CategoryRule rule = RuleOf(event.category);
  OpenSlice slice = {0, IsGpuTask(rule), sequence, event.offset};
  if (slice.on_gpu) {
    slice.row = AppendGpuTask(event.time, event.name, GpuKindOf(rule));
    if (store_.Text(event.category) == "kernel_dispatch") DescribeDispatch(slice.row);
    FillGpuTask(slice.row, event.track, -1);
  } else if (rule == CategoryRule::kSync) {
    slice.is_sync = true;
    slice.row = AppendSync(event);
  } else {
    Event named = event;
    if (rule == CategoryRule::kStep) {
      const std::int64_t step = args_.Integer(ArgColumn::kStep);
      if (step != kUnknown) named.name = store_.strings.Intern(fmt::format("step#{}", step));
    }
    slice.row = AppendHostEvent(named, rule);
    if (!args_.empty()) FillHostEvent(slice.row);
    if (rule == CategoryRule::kAnnotation && store_.Text(event.category) == "marker_api") {
      // The correlation id is that of the call that pushed the range. That call launches no work.
      store_.host_events.correlation.MutablePending(slice.row) = kUnknown;
      const std::string_view text = store_.Text(event.name);
      if (budget_.Take(text.size())) ranges_.Describe(store_, slice.row, text);
    }
  }
  if (event.duration_ns >= 0) {
    SetEnd(slice, event.time + DurationNs(event.duration_ns));
  } else {
    tracks_[event.track].open.push_back(slice);
  }
}

void RowWriter::DescribeDispatch(std::uint32_t row) {
  auto& rows = store_.gpu_tasks;
  StringId& name = rows.name.MutablePending(row);
  const std::string_view text = store_.Text(name);
  const std::string_view plain = WithoutDescriptor(text);
  if (plain.size() < text.size() && budget_.Take(text.size())) name = store_.strings.Intern(plain);
  rows.kind.MutablePending(row) = KindOfRocmKernel(plain);
}

void RowWriter::End(const Event& event) {
  Track& track = tracks_[event.track];
  if (track.open.empty()) {
    track.ends.push_back({event.time, event.offset});
    return;
  }
  const OpenSlice slice = track.open.back();
  track.open.pop_back();
  if (event.time < StartOf(slice)) store_.log.Add(ImportIssue::kNegativeDuration, slice.offset);
  SetEnd(slice, event.time);
  if (!args_.empty() && !slice.on_gpu && !slice.is_sync) FillHostEvent(slice.row);
  if (track.closed_at != event.time) track.just_closed.clear();
  track.closed_at = event.time;
  track.just_closed.push_back(slice);
}

TimeNs RowWriter::StartOf(const OpenSlice& slice) const {
  return slice.is_sync  ? store_.syncs.start.Pending(slice.row)
         : slice.on_gpu ? store_.gpu_tasks.start.Pending(slice.row)
                        : store_.host_events.start.Pending(slice.row);
}

void RowWriter::SetEnd(const OpenSlice& slice, TimeNs end) {
  const DurationNs duration = std::max(end - StartOf(slice), DurationNs(0));
  if (slice.is_sync) {
    store_.syncs.duration.MutablePending(slice.row) = duration;
  } else if (slice.on_gpu) {
    store_.gpu_tasks.duration.MutablePending(slice.row) = duration;
  } else {
    store_.host_events.duration.MutablePending(slice.row) = duration;
  }
}

void RowWriter::ReadAbout(StringId name) {
  const std::string_view what = store_.Text(name);
  const auto known = [](std::int64_t value) {
    return value == kUnknown ? std::nullopt : std::optional(value);
  };
  if (what == "rank") {
    store_.metadata.rank = known(args_.Integer(ArgColumn::kRank));
    store_.metadata.world_size = known(args_.Integer(ArgColumn::kWorldSize));
  } else if (what == "device") {
    const std::int64_t ordinal = args_.Integer(ArgColumn::kDevice);
    const std::string_view product = args_.Text(ArgColumn::kProduct);
    if (ordinal != kUnknown && !product.empty())
      tracks_.NameDevice(ordinal, store_.strings.Intern(product));
  }
}

bool RowWriter::ReadVersion(StringId name) {
  constexpr std::string_view kPrefix = "headroom.version ";
  std::string_view rest = store_.Text(name);
  if (!rest.starts_with(kPrefix)) return false;
  rest.remove_prefix(kPrefix.size());
  const std::size_t blank = rest.find(' ');
  if (blank == std::string_view::npos) return false;
  AddVersion(rest.substr(0, blank), rest.substr(blank + 1), store_.metadata.versions);
  return true;
}

bool RowWriter::ReadExported(StringId name) {
  constexpr std::string_view kPrefix = "exported ";
  std::string_view what = store_.Text(name);
  if (!what.starts_with(kPrefix)) return false;
  what.remove_prefix(kPrefix.size());
  const nlohmann::json said =
      nlohmann::json::parse(fmt::format("{{{}}}", store_.Text(args_.Rest())), nullptr, false);
  if (!said.is_object()) return false;
  const auto text = [&](const char* key) {
    const auto found = said.find(key);
    return found != said.end() && found->is_string()
               ? store_.strings.Intern(found->get_ref<const std::string&>())
               : StringId::None();
  };
  const auto number = [&](const char* key) -> std::optional<std::int64_t> {
    const auto found = said.find(key);
    if (found == said.end() || !found->is_number_integer()) return std::nullopt;
    return found->get<std::int64_t>();
  };
  const std::optional<std::int64_t> track = number("track");
  if (what == "thread" && track) {
    tracks_[tracks_.NumberOf(static_cast<std::uint64_t>(*track))].exact = {
        text("pid"), text("process"), text("labels"), text("tid"), text("thread")};
  } else if (what == "counter" && track) {
    tracks_[tracks_.NumberOf(static_cast<std::uint64_t>(*track))].series = text("series");
  } else if (what == "device") {
    ReadExportedDevice(said);
  } else if (what == "end") {
    ended_ = true;
  } else if (what == "trace") {
    exported_.emplace();
    has_end_ = number("has_end") == 1;
    exported_->rank = number("rank");
    exported_->world_size = number("world_size");
    exported_->cuda_driver_version = number("cuda_driver_version");
    exported_->is_forecast = number("is_forecast") == 1;
    exported_->names_and_times_only = number("names_and_times_only") == 1;
    if (const StringId format = text("copy_of"); IsKnownFormat(store_.Text(format)))
      exported_->copied_from = store_.Text(format);
  } else if (what == "versions") {
    for (const auto& [software, version] : said.items()) {
      if (version.is_string())
        AddVersion(software, version.get_ref<const std::string&>(), store_.metadata.versions);
    }
  } else if (what == "damage") {
    for (const auto& [code, count] : said.items()) {
      if (count.is_number_integer()) AddCarried(code, count.get<std::int64_t>(), store_.log);
    }
  }
  return true;
}

void RowWriter::ReadExportedDevice(const nlohmann::json& said) {
  const auto number = [&](const char* key) {
    const auto found = said.find(key);
    return found != said.end() && found->is_number_integer() ? found->get<std::int64_t>()
                                                             : kUnknown;
  };
  const auto number32 = [&](const char* key) {
    const std::int64_t value = number(key);
    return value >= 0 && value <= INT32_MAX ? static_cast<std::int32_t>(value) : kUnknown32;
  };
  if (number("ordinal") == kUnknown) return;
  const std::size_t row = tracks_.DeviceOf(number("ordinal")).index();
  auto& rows = store_.devices;
  if (const auto name = said.find("name"); name != said.end() && name->is_string())
    rows.name.MutablePending(row) = store_.strings.Intern(name->get_ref<const std::string&>());
  rows.memory_bytes.MutablePending(row) = number("memory_bytes");
  rows.sm_count.MutablePending(row) = number32("sm_count");
  rows.compute_major.MutablePending(row) = number32("compute_major");
  rows.compute_minor.MutablePending(row) = number32("compute_minor");
}

void RowWriter::SettleMetadata() {
  if (!exported_) return;
  if (has_end_ && !ended_ && store_.log.Count(ImportIssue::kTruncated) == 0 &&
      store_.log.Count(ImportIssue::kCutCompression) == 0)
    store_.log.Add(ImportIssue::kTruncated, -1,
                   "the file ends between two packets without an end marker");
  TraceMetadata& metadata = store_.metadata;
  metadata.copied_from = exported_->copied_from;
  metadata.rank = exported_->rank;
  metadata.world_size = exported_->world_size;
  metadata.cuda_driver_version = exported_->cuda_driver_version;
  metadata.is_forecast = exported_->is_forecast;
  metadata.names_and_times_only = exported_->names_and_times_only;
}

void RowWriter::Instant(const Event& event) {
  const bool is_about = store_.Text(event.category) == "headroom";
  if (is_about && ReadExported(event.name)) return;
  ++store_.metadata.events;
  if (is_about && ReadVersion(event.name)) return;
  if (is_about) ReadAbout(event.name);
  if (store_.Text(event.name) == "[memory]") return AppendMemoryEvent(event);
  auto& rows = store_.instants;
  rows.time.Append(event.time);
  rows.name.Append(event.name);
  rows.category.Append(event.category);
  rows.thread.Append(ThreadId(event.track));
  rows.args.Append(args_.empty() ? StringId::None() : args_.Rest());
}

void RowWriter::Count(std::uint32_t track, TimeNs time, double value) {
  ++store_.metadata.events;
  auto& rows = store_.counters;
  const std::size_t row = AppendUnknown(rows);  // Tracks::Settle() sets the name later.
  rows.time.MutablePending(row) = time;
  rows.thread.MutablePending(row) = ThreadId(track);
  rows.value.MutablePending(row) = value * static_cast<double>(tracks_[track].multiplier);
}

void RowWriter::CountInteger(std::uint32_t track, TimeNs time, std::int64_t value) {
  Track& of = tracks_[track];
  if (of.incremental && __builtin_add_overflow(of.value, value, &value)) value = of.value;
  of.value = value;
  Count(track, time, static_cast<double>(value));
}

void RowWriter::FillHostEvent(std::uint32_t row) {
  args_.TakeRestated();
  auto& rows = store_.host_events;
  // The end of a slice may add arguments to those of its beginning.
  const auto fill = [row](auto& column, auto value, auto unknown) {
    if (value != unknown) column.MutablePending(row) = value;
  };
  fill(rows.correlation, args_.Integer(ArgColumn::kCorrelation), kUnknown);
  fill(rows.external_id, args_.Integer(ArgColumn::kExternalId), kUnknown);
  fill(rows.sequence, args_.Integer(ArgColumn::kSequence), kUnknown);
  fill(rows.forward_thread, args_.Integer32(ArgColumn::kForwardThread), kUnknown32);
  fill(rows.python_id, args_.Integer32(ArgColumn::kPythonId), kUnknown32);
  fill(rows.python_parent_id, args_.Integer32(ArgColumn::kPythonParentId), kUnknown32);
  fill(rows.event_index, args_.Integer32(ArgColumn::kEventIndex), kUnknown32);
  fill(rows.record_function, args_.Integer32(ArgColumn::kRecordFunction), kUnknown32);
  const StringId rest = args_.Rest();
  StringId& args = rows.args.MutablePending(row);
  if (args.valid() && rest.valid()) {
    // A slice may be reopened at each of its ends, and its arguments grow each time.
    if (!budget_.Take(store_.Text(rest).size() + store_.Text(args).size())) return;
    // Lookups return the first match, so the arguments of the end win.
    std::string joined(store_.Text(rest));
    joined.append(", ").append(store_.Text(args));
    args = store_.strings.Intern(joined);
  } else if (rest.valid()) {
    args = rest;
  }
}

void RowWriter::FillGpuTask(std::uint32_t row, std::uint32_t track, std::int64_t device) {
  auto& rows = store_.gpu_tasks;
  const std::string_view kind = args_.Word(ArgColumn::kKind, {"kernel", "memcpy", "memset"});
  if (!kind.empty()) rows.kind.MutablePending(row) = KindOf(kind);
  if (rows.kind.Pending(row) == GpuTaskKind::kMemcpy) {
    const std::string_view copy = args_.Text(ArgColumn::kCopy);
    rows.copy.MutablePending(row) =
        CopyKindOf(copy.empty() ? store_.Text(rows.name.Pending(row)) : copy);
  }
  const auto number = [&](ArgColumn column, std::int64_t fallback) {
    const std::int64_t value = args_.Integer(column);
    return value == kUnknown ? fallback : value;
  };
  device = number(ArgColumn::kDevice, device);
  if (device < 0) {
    const bool from_device = rows.copy.Pending(row) == CopyKind::kDeviceToHost;
    const ArgColumn agent = from_device ? ArgColumn::kSourceAgent : ArgColumn::kAgent;
    device = number(agent, -1);
    if (device < 0) device = TrailingNumber(args_.Text(agent));
  }
  rows.stream.MutablePending(row) = tracks_.StreamOf(device, number(ArgColumn::kStream, -1), track);
  rows.correlation.MutablePending(row) = args_.Integer(ArgColumn::kCorrelation);
  rows.external_id.MutablePending(row) = args_.Integer(ArgColumn::kExternalId);
  Extent grid = args_.Blocks(ArgColumn::kGrid);
  Extent block = args_.Blocks(ArgColumn::kBlock);
  const std::int32_t block_threads = args_.Integer32(ArgColumn::kBlockThreads);
  const std::int64_t grid_threads = args_.Integer(ArgColumn::kGridThreads);
  if (block_threads > 0 && grid_threads > 0 && grid_threads / block_threads <= INT32_MAX) {
    block = {block_threads, 1, 1};
    grid = {static_cast<std::int32_t>(grid_threads / block_threads), 1, 1};
  }
  rows.grid_x.MutablePending(row) = grid.x;
  rows.grid_y.MutablePending(row) = grid.y;
  rows.grid_z.MutablePending(row) = grid.z;
  rows.block_x.MutablePending(row) = block.x;
  rows.block_y.MutablePending(row) = block.y;
  rows.block_z.MutablePending(row) = block.z;
  rows.registers.MutablePending(row) = args_.Integer32(ArgColumn::kRegisters);
  rows.shared_memory.MutablePending(row) = args_.Integer32(ArgColumn::kSharedMemory);
  rows.occupancy_pct.MutablePending(row) = args_.Integer32(ArgColumn::kOccupancy);
  rows.graph_node.MutablePending(row) = args_.Integer(ArgColumn::kGraphNode);
  rows.bytes.MutablePending(row) = args_.Integer(ArgColumn::kBytes);
  if (args_.Has(ArgColumn::kCollectiveName)) AppendCollective(row);
  args_.TakeRestated();
  rows.args.MutablePending(row) = args_.Rest();
}

void RowWriter::AddSpecifications(std::string_view message) {
  specifications_ = {};
  for (ProtobufReader reader(message); reader.Next();) {
    StringId name(0u);
    for (ProtobufReader description(reader.bytes()); description.Next();) {
      if (description.as<DescriptionField>() == DescriptionField::kName)
        name = store_.strings.Intern(description.bytes());
    }
    if (reader.as<SpecificationsField>() == SpecificationsField::kQueue)
      specifications_.queues.push_back(name);
    if (reader.as<SpecificationsField>() == SpecificationsField::kStage)
      specifications_.stages.push_back(name);
  }
}

void RowWriter::AddRenderStage(Sequence& sequence, TimeNs start, std::string_view message,
                               std::int64_t offset) {
  StringId queue, stage, name;
  std::int64_t duration = 0, gpu = -1, queue_number = -1;
  const auto listed = [](const std::vector<StringId>& list, std::uint64_t at) {
    return at < list.size() ? list[static_cast<std::size_t>(at)] : StringId::None();
  };
  args_.Clear();
  ProtobufReader reader(message);
  while (reader.Next()) {
    switch (reader.as<RenderStageField>()) {
      case RenderStageField::kDuration:
        duration = reader.signed_integer();
        break;
      case RenderStageField::kGpuId:
        gpu = reader.integer32();
        break;
      case RenderStageField::kQueueIid:
        queue_number = reader.integer32();
        queue = TextOf(sequence.gpu_names, reader.integer(), offset);
        break;
      case RenderStageField::kStageIid:
        stage = TextOf(sequence.gpu_names, reader.integer(), offset);
        break;
      case RenderStageField::kQueueId:
        queue_number = reader.integer32();
        queue = listed(specifications_.queues, reader.integer());
        break;
      case RenderStageField::kStageId:
        stage = listed(specifications_.stages, reader.integer());
        break;
      case RenderStageField::kName:
        name = store_.strings.Intern(reader.bytes());
        break;
      case RenderStageField::kNameIid:
        name = TextOf(sequence.event_names, reader.integer(), offset);
        break;
      case RenderStageField::kExtraData: {
        std::string_view key, value;
        for (ProtobufReader extra(reader.bytes()); extra.Next();) {
          if (extra.as<ExtraDataField>() == ExtraDataField::kName) key = extra.bytes();
          if (extra.as<ExtraDataField>() == ExtraDataField::kValue) value = extra.bytes();
        }
        args_.AddText(key, value);
        break;
      }
      case RenderStageField::kEventId:
      case RenderStageField::kSpecifications:
        break;
    }
  }
  ++store_.metadata.events;
  if (reader.damaged()) {
    store_.log.Add(ImportIssue::kLostEvent, offset, "a GPU event is damaged");
    return;
  }
  constexpr std::int64_t kLongest = INT64_MAX / 4;
  if (duration < 0 || duration > kLongest) {
    store_.log.Add(ImportIssue::kBadDuration, offset, "out of range");
    duration = 0;
  }
  if (!name.valid()) name = stage.valid() ? stage : StringId(0u);
  const std::uint32_t row = AppendGpuTask(start, name, GpuTaskKind::kKernel);
  store_.gpu_tasks.duration.MutablePending(row) = DurationNs(duration);
  FillGpuTask(row, Tracks::kNoTrack, gpu);
  // Other tools identify a stream only by the name or number of its queue.
  const auto [device, stream] = tracks_.NamesOf(store_.gpu_tasks.stream.Pending(row));
  if (stream < 0) {
    const std::int64_t named = NumberBehind("stream", store_.Text(queue)).value_or(queue_number);
    store_.gpu_tasks.stream.MutablePending(row) = tracks_.StreamOf(device, named, Tracks::kNoTrack);
  }
}

void RowWriter::CloseSlices(const std::vector<Sequence>& sequences) {
  ranges_.Mark(store_);
  for (std::uint32_t number = 0; number < tracks_.size(); ++number) {
    Track& track = tracks_[number];
    // An end that another sequence wrote may precede its beginning in the file.
    std::stable_sort(
        track.open.begin(), track.open.end(),
        [&](const OpenSlice& a, const OpenSlice& b) { return StartOf(a) < StartOf(b); });
    std::stable_sort(track.ends.begin(), track.ends.end(),
                     [](const UnmatchedEnd& a, const UnmatchedEnd& b) { return a.time < b.time; });
    std::vector<OpenSlice> open;
    std::size_t next = 0;
    for (const UnmatchedEnd& end : track.ends) {
      while (next < track.open.size() && StartOf(track.open[next]) <= end.time)
        open.push_back(track.open[next++]);
      if (open.empty()) {
        store_.log.Add(ImportIssue::kUnmatchedEnd, end.offset);
        continue;
      }
      SetEnd(open.back(), end.time);
      open.pop_back();
    }
    open.insert(open.end(), track.open.begin() + static_cast<std::ptrdiff_t>(next),
                track.open.end());
    for (const OpenSlice& slice : open) {
      // Do not use the last timestamp of the trace: counters continue after the measured program
      // was killed.
      SetEnd(slice, std::max(StartOf(slice), sequences[slice.sequence].last_slice));
      store_.log.Add(ImportIssue::kUnfinishedSpan, slice.offset);
      if (slice.on_gpu || slice.is_sync) continue;
      // The length of an unfinished step is not comparable with that of other steps.
      StringId& category = store_.host_events.category.MutablePending(slice.row);
      if (RuleOf(category) == CategoryRule::kStep)
        category = store_.strings.Intern("unfinished step");
    }
    track.open = {};
    track.ends = {};
  }
}

}  // namespace headroom::perfetto
