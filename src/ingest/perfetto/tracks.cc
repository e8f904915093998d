#include "ingest/perfetto/tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "base/ascii.h"
#include "base/perfetto_fields.h"
#include "base/protobuf_reader.h"

namespace headroom::perfetto {
namespace {

/// Real tracks nest less deep. A limit is necessary because a hostile file could make tracks their
/// own ancestors.
constexpr int kMaxAncestors = 32;

std::string_view UnitName(CounterUnit unit) {
  switch (unit) {
    case CounterUnit::kTimeNs:
      return "ns";
    case CounterUnit::kCount:
      return "count";
    case CounterUnit::kBytes:
      return "bytes";
  }
  return {};
}

/// Returns the id in a track name of rocprofv3, such as "THREAD 2 (4007)"; empty for other names.
std::string_view ThreadOfRocprof(std::string_view name) {
  const std::size_t open = name.find(" (");
  if (!name.starts_with("THREAD ") || !name.ends_with(')') || open == std::string_view::npos)
    return {};
  name = name.substr(open + 2, name.size() - open - 3);
  return std::all_of(name.begin(), name.end(), IsDigit) ? name : std::string_view();
}

}  // namespace

std::optional<std::int64_t> NumberBehind(std::string_view word, std::string_view name) {
  const auto same = [](char a, char b) { return ToLower(a) == ToLower(b); };
  const auto found = std::search(name.begin(), name.end(), word.begin(), word.end(), same);
  if (found == name.end()) return std::nullopt;
  const char* p = name.data() + (found - name.begin()) + word.size();
  const char* const end = name.data() + name.size();
  while (p != end && (*p == ' ' || *p == '[')) ++p;
  std::int64_t number = 0;
  return std::from_chars(p, end, number).ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::uint32_t Tracks::NumberOf(std::uint64_t uuid) {
  Cached& cached = cache_[uuid % cache_.size()];
  if (cached.number != kNoTrack && cached.uuid == uuid) return cached.number;
  const auto [it, is_new] = by_uuid_.try_emplace(uuid, static_cast<std::uint32_t>(tracks_.size()));
  if (is_new) tracks_.emplace_back().uuid = uuid;
  cached = {uuid, it->second};
  return it->second;
}

std::uint32_t Tracks::NumberOfThread(std::int32_t pid, std::int32_t tid) {
  const auto [it, is_new] =
      by_thread_.try_emplace({pid, tid}, static_cast<std::uint32_t>(tracks_.size()));
  if (is_new) {
    Track& track = tracks_.emplace_back();
    track.is_thread = true;
    track.pid = pid;
    track.tid = tid;
  }
  return it->second;
}

bool Tracks::DescribeProcess(std::string_view process_descriptor, Track& track) {
  ProtobufReader reader(process_descriptor);
  StringId name;
  track.is_process = true;
  while (reader.Next()) {
    if (reader.as<ProcessDescriptorField>() == ProcessDescriptorField::kPid)
      track.pid = reader.integer32();
    if (reader.as<ProcessDescriptorField>() == ProcessDescriptorField::kName)
      name = store_.strings.Intern(reader.bytes());
  }
  if (track.pid && name.valid() && name != StringId(0u)) process_names_[*track.pid] = name;
  return !reader.damaged();
}

bool Tracks::DescribeThread(std::string_view thread_descriptor, Track& track) {
  ProtobufReader reader(thread_descriptor);
  track.is_thread = true;
  while (reader.Next()) {
    switch (reader.as<ThreadDescriptorField>()) {
      case ThreadDescriptorField::kPid:
        track.pid = reader.integer32();
        break;
      case ThreadDescriptorField::kTid:
        track.tid = reader.integer32();
        break;
      case ThreadDescriptorField::kName:
        if (!reader.bytes().empty()) track.name = store_.strings.Intern(reader.bytes());
        break;
      case ThreadDescriptorField::kReferenceTimestampUs:
        break;  // FileReading reads it, because it belongs to the sequence.
    }
  }
  return !reader.damaged();
}

bool Tracks::Describe(std::string_view track_descriptor) {
  std::uint64_t uuid = 0;
  for (ProtobufReader reader(track_descriptor); reader.Next();) {
    if (reader.as<TrackDescriptorField>() == TrackDescriptorField::kUuid) uuid = reader.integer();
  }
  Track& track = tracks_[NumberOf(uuid)];
  bool whole = true;
  ProtobufReader reader(track_descriptor);
  while (reader.Next()) {
    switch (reader.as<TrackDescriptorField>()) {
      case TrackDescriptorField::kUuid:
        break;
      case TrackDescriptorField::kParentUuid:
        track.parent = reader.integer();
        break;
      case TrackDescriptorField::kName:
      case TrackDescriptorField::kStaticName:
        if (!reader.bytes().empty()) track.name = store_.strings.Intern(reader.bytes());
        break;
      case TrackDescriptorField::kProcess:
        whole = DescribeProcess(reader.bytes(), track) && whole;
        break;
      case TrackDescriptorField::kThread:
        whole = DescribeThread(reader.bytes(), track) && whole;
        break;
      case TrackDescriptorField::kCounter: {
        track.is_counter = true;
        ProtobufReader counter(reader.bytes());
        while (counter.Next()) {
          switch (counter.as<CounterDescriptorField>()) {
            case CounterDescriptorField::kType:
              if (!track.name.valid() &&
                  static_cast<CounterType>(counter.integer()) == CounterType::kThreadTimeNs) {
                track.name = store_.strings.Intern("thread_time");
                track.unit = store_.strings.Intern("ns");
              }
              break;
            case CounterDescriptorField::kUnit: {
              const std::string_view unit = UnitName(static_cast<CounterUnit>(counter.integer()));
              if (!unit.empty()) track.unit = store_.strings.Intern(unit);
              break;
            }
            case CounterDescriptorField::kUnitName:
              if (!counter.bytes().empty()) track.unit = store_.strings.Intern(counter.bytes());
              break;
            case CounterDescriptorField::kUnitMultiplier:
              if (counter.integer() != 0) track.multiplier = counter.signed_integer();
              break;
            case CounterDescriptorField::kIsIncremental:
              track.incremental = counter.integer() != 0;
              break;
          }
        }
        whole = whole && !counter.damaged();
        break;
      }
    }
  }
  return whole && !reader.damaged();
}

StreamId Tracks::StreamOf(std::int64_t device, std::int64_t number, std::uint32_t track) {
  const Stream stream = {device, number, track};
  if (last_stream_.valid() && streams_[last_stream_.index()] == stream) return last_stream_;
  const auto [it, is_new] = stream_numbers_.try_emplace(stream, StreamId(streams_.size()));
  if (is_new) streams_.push_back(stream);
  return last_stream_ = it->second;
}

const Track* Tracks::ParentOf(const Track& track) const {
  if (track.parent == 0 || track.parent == track.uuid) return nullptr;
  const auto parent = by_uuid_.find(track.parent);
  return parent == by_uuid_.end() ? nullptr : &tracks_[parent->second];
}

ThreadId Tracks::AddThread(std::string_view pid, StringId process_name, std::string_view tid,
                           StringId name) {
  const StringId pid_text = store_.strings.Intern(pid);
  const auto [process, new_process] =
      process_rows_.try_emplace(pid_text, ProcessId(store_.processes.rows()));
  if (new_process) {
    const std::size_t row = AppendUnknown(store_.processes);
    store_.processes.pid.MutablePending(row) = pid_text;
    store_.processes.name.MutablePending(row) = process_name;
  }
  const StringId tid_text = store_.strings.Intern(tid);
  const auto [thread, new_thread] =
      thread_rows_.try_emplace({process->second, tid_text}, ThreadId(store_.threads.rows()));
  if (new_thread) {
    const std::size_t row = AppendUnknown(store_.threads);
    store_.threads.process.MutablePending(row) = process->second;
    store_.threads.tid.MutablePending(row) = tid_text;
  }
  StringId& known_name = store_.threads.name.MutablePending(thread->second.index());
  if (!known_name.valid()) known_name = name;
  return thread->second;
}

ThreadId Tracks::ThreadOf(std::uint32_t number) {
  if (number >= threads_.size()) threads_.resize(tracks_.size());
  ThreadId& known = threads_[number];
  if (known.valid()) return known;

  const Track& track = tracks_[number];
  const Track* exact = &track;
  for (int i = 0; i < kMaxAncestors && exact != nullptr && !exact->exact; ++i)
    exact = ParentOf(*exact);
  if (exact != nullptr && exact->exact) {
    const ExactThread& said = *exact->exact;
    known = AddThread(store_.Text(said.pid), said.process_name, store_.Text(said.tid), said.name);
    const ProcessId row = store_.threads.process.Pending(known.index());
    if (said.labels.valid()) store_.processes.labels.MutablePending(row.index()) = said.labels;
    return known;
  }
  const Track* thread = nullptr;
  const Track* process = nullptr;
  const Track* at = &track;
  for (int i = 0; i < kMaxAncestors && at != nullptr; ++i, at = ParentOf(*at)) {
    if (thread == nullptr && at->is_thread) thread = at;
    if (process == nullptr && at->pid) process = at;
  }
  const std::string pid = process != nullptr ? fmt::format("{}", *process->pid) : std::string();
  StringId process_name;
  if (process != nullptr) {
    const auto named = process_names_.find(*process->pid);
    if (named != process_names_.end()) process_name = named->second;
  }
  if (thread != nullptr && !track.is_counter)
    return known = AddThread(pid, process_name, fmt::format("{}", thread->tid.value_or(0)),
                             thread->name);

  const std::string name(store_.Text(track.name));
  if (track.is_counter) {
    // The parent track of a counter names the counted object.
    const Track* const owner = thread != nullptr ? thread : ParentOf(track);
    const bool is_instance = owner != nullptr && !owner->is_process;
    const std::string of = thread != nullptr ? fmt::format("{}", thread->tid.value_or(0))
                           : is_instance     ? std::string(store_.Text(owner->name))
                                             : std::string();
    return known = AddThread(pid, process_name, of, is_instance ? owner->name : StringId::None());
  }
  // As in the PyTorch profiler, a stream is a thread of its device.
  const std::optional<std::int64_t> device = NumberBehind("GPU", name);
  const std::optional<std::int64_t> stream = NumberBehind("stream", name);
  if (device && stream) {
    return known = AddThread(fmt::format("{}", *device),
                             store_.strings.Intern(fmt::format("GPU {}", *device)),
                             fmt::format("{}", *stream), track.name);
  }
  if (const std::string_view tid = ThreadOfRocprof(name); !tid.empty())
    return known = AddThread(pid, process_name, tid, StringId::None());
  return known = AddThread(pid, process_name, name.empty() ? fmt::format("{}", track.uuid) : name,
                           track.name);
}

DeviceId Tracks::DeviceOf(std::int64_t ordinal) {
  const auto [device, is_new] = device_rows_.try_emplace(ordinal, DeviceId(store_.devices.rows()));
  if (is_new) {
    const std::size_t at = AppendUnknown(store_.devices);
    store_.devices.ordinal.MutablePending(at) = ordinal;
    const auto name = device_names_.find(ordinal);
    if (name != device_names_.end()) store_.devices.name.MutablePending(at) = name->second;
  }
  return device->second;
}

StreamId Tracks::StoreStreamOf(const Stream& stream) {
  std::int64_t ordinal = stream.device, number = stream.number;
  if (stream.track != kNoTrack) {
    const std::string name(store_.Text(tracks_[stream.track].name));
    const auto find = [&](std::int64_t& value, std::initializer_list<std::string_view> words) {
      for (const std::string_view word : words) {
        if (value < 0) value = NumberBehind(word, name).value_or(-1);
      }
    };
    find(ordinal, {"AGENT", "GPU"});
    find(number, {"STREAM", "QUEUE"});
  }
  const DeviceId device = DeviceOf(ordinal);
  const auto [row, is_new] =
      stream_rows_.try_emplace({device, number}, StreamId(store_.streams.rows()));
  if (is_new) {
    const std::size_t at = AppendUnknown(store_.streams);
    store_.streams.device.MutablePending(at) = device;
    store_.streams.number.MutablePending(at) = number;
  }
  return row->second;
}

void Tracks::Settle() {
  const auto settle = [&](auto& column) {
    for (std::size_t row = 0; row < column.size(); ++row) {
      ThreadId& thread = column.MutablePending(row);
      thread = ThreadOf(thread.index());
    }
  };
  // An exported trace lists all its threads in order, including those without events.
  for (std::uint32_t number = 0; number < tracks_.size(); ++number) {
    if (tracks_[number].exact) ThreadOf(number);
  }
  settle(store_.host_events.thread);
  settle(store_.instants.thread);
  settle(store_.flows.thread);
  settle(store_.memory_events.thread);
  auto& counters = store_.counters;
  for (std::size_t row = 0; row < counters.rows(); ++row) {
    const Track& track = tracks_[counters.thread.Pending(row).index()];
    const Track* const parent = ParentOf(track);
    const bool has_instance =
        parent != nullptr && !parent->is_process && !parent->is_thread && parent->name.valid();
    counters.name.MutablePending(row) = track.name.valid() ? track.name : StringId(0u);
    counters.series.MutablePending(row) = track.series   ? *track.series
                                          : has_instance ? parent->name
                                                         : StringId(0u);
    counters.unit.MutablePending(row) = track.unit;
  }
  settle(counters.thread);
  std::vector<StreamId> rows(streams_.size());
  const auto settle_streams = [&](auto& column) {
    for (std::size_t row = 0; row < column.size(); ++row) {
      StreamId& stream = column.MutablePending(row);
      if (!stream.valid()) continue;
      StreamId& known = rows[stream.index()];
      if (!known.valid()) known = StoreStreamOf(streams_[stream.index()]);
      stream = known;
    }
  };
  settle_streams(store_.gpu_tasks.stream);
  settle_streams(store_.syncs.stream);
}

}  // namespace headroom::perfetto
