#include "export/perfetto_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/perfetto_fields.h"
#include "base/protobuf_writer.h"
#include "export/chrome_events.h"
#include "ingest/input/json_escapes.h"
#include "ingest/names/category.h"
#include "render/escape.h"
#include "store/args_text.h"
#include "store/carried_damage.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

using namespace perfetto;  // NOLINT(google-build-using-namespace): the field numbers.

using TrackUuid = std::uint64_t;

std::string_view CategoryName(GpuTaskKind kind) {
  constexpr std::string_view kNames[] = {"kernel", "gpu_memcpy", "gpu_memset"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view SyncName(SyncKind kind) {
  constexpr std::string_view kNames[] = {"Context Sync", "Stream Sync", "Event Sync",
                                         "Stream Wait Event", "Sync"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Returns the direction in the form that CopyKindOf() recognizes.
std::string_view CopyText(CopyKind kind) {
  constexpr std::string_view kNames[] = {"", "HtoD", "DtoH", "DtoD", "PtoP", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::optional<std::int32_t> ViewerNumber(std::string_view text) {
  std::int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // Viewers reserve 0 for the idle process.
  const bool is_number = error == std::errc() && end == text.data() + text.size() && number > 0;
  return is_number ? std::optional(number) : std::nullopt;
}

/// Writes the packets of one sequence. An event carries the interned strings that it is the first
/// to use.
class PacketWriter {
 public:
  PacketWriter(const TraceStore& store, const PacketSink& sink)
      : store_(store),
        sink_(sink),
        names_(store.strings.size()),
        categories_(store.strings.size()),
        arg_texts_(store.strings.size()) {}

  /// Writes a packet without an event; `fill(writer)` writes its fields.
  template <typename Fill>
  void Packet(std::uint32_t flags, Fill&& fill) {
    ProtobufWriter writer(out_);
    writer.Message(TraceField::kPacket, [&] {
      writer.Varint(PacketField::kSequenceId, 1);
      writer.Varint(PacketField::kSequenceFlags, flags);
      std::forward<Fill>(fill)(writer);
    });
    HandOver(/*last=*/false);
  }

  // An event: Begin(), its fields, End().
  void Begin() { event_.clear(); }
  void Type(TrackEventType type) { Event().Varint(TrackEventField::kType, type); }
  void On(TrackUuid track) { Event().Varint(TrackEventField::kTrack, track); }
  void Name(StringId name) {
    Event().Varint(TrackEventField::kNameIid, IidOf(name, InternedDataField::kEventNames, names_));
  }
  void Category(StringId category) {
    if (category.valid() && !store_.Text(category).empty()) {
      Event().Varint(TrackEventField::kCategoryIids,
                     IidOf(category, InternedDataField::kCategories, categories_));
    }
  }
  void Name(std::string_view name) { Event().Bytes(TrackEventField::kName, name); }
  void Category(std::string_view category) {
    Event().Bytes(TrackEventField::kCategories, category);
  }
  void Integer(KinetoArg arg, std::int64_t value) {
    if (value != kUnknown) Number(arg, value);
  }
  void Integer(KinetoArg arg, std::int32_t value) {
    if (value != kUnknown32) Number(arg, value);
  }
  /// Writes a text argument. `arg` is a KinetoArg, or the name of an argument that Kineto does not
  /// have.
  template <typename Arg>
  void Text(Arg arg, std::string_view text) {
    const std::uint32_t name = ArgIid(arg);
    ProtobufWriter event(event_);
    event.Message(TrackEventField::kDebugAnnotations, [&] {
      event.Varint(DebugAnnotationField::kNameIid, name);
      event.Bytes(DebugAnnotationField::kString, text);
    });
  }
  /// Writes the arguments without a column. Caches their encoding, because they repeat often.
  void Rest(StringId args) {
    if (!args.valid()) return;
    std::string& encoded = arg_texts_[args.index()];
    if (encoded.empty()) AppendMembers(store_.Text(args), encoded);
    event_ += encoded;
  }
  void Members(std::string_view members) { AppendMembers(members, event_); }
  ProtobufWriter Event() { return ProtobufWriter(event_); }
  std::string& event() { return event_; }

  void End(TimeNs time) {
    ++events_;
    ProtobufWriter writer(out_);
    // The sequence id, and the flag that interned data is required; identical in every packet.
    constexpr std::string_view kEveryPacket("\x50\x01\x68\x02", 4);
    char key[2 * kMaxVarintBytes];
    char stamp[2 * kMaxVarintBytes];
    char* at = PutVarint(stamp, FieldKey(PacketField::kTimestamp, WireType::kVarint));
    at = PutVarint(at, static_cast<std::uint64_t>(time.ns()));
    const std::string_view stamped(stamp, static_cast<std::size_t>(at - stamp));
    char head[2 * kMaxVarintBytes];
    at = PutVarint(head, FieldKey(PacketField::kTrackEvent, WireType::kBytes));
    at = PutVarint(at, event_.size());
    const std::string_view event_head(head, static_cast<std::size_t>(at - head));
    std::string interned;
    if (!interned_.empty()) {
      ProtobufWriter(interned).Bytes(PacketField::kInternedData, interned_);
      interned_.clear();
    }
    at = PutVarint(key, FieldKey(TraceField::kPacket, WireType::kBytes));
    at = PutVarint(at, kEveryPacket.size() + stamped.size() + interned.size() + event_head.size() +
                           event_.size());
    out_.append(key, at).append(kEveryPacket).append(stamped).append(interned);
    out_.append(event_head).append(event_);
    HandOver(/*last=*/false);
  }

  void Finish() { HandOver(/*last=*/true); }
  std::int64_t events() const { return events_; }

 private:
  void HandOver(bool last) {
    constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
    if (!last && out_.size() < kPieceBytes) return;
    sink_(out_, last);
    out_.clear();
  }

  void Number(KinetoArg arg, std::int64_t value) {
    char bytes[4 * kMaxVarintBytes];
    char* at = PutVarint(bytes, FieldKey(DebugAnnotationField::kNameIid, WireType::kVarint));
    at = PutVarint(at, ArgIid(arg));
    at = PutVarint(at, FieldKey(DebugAnnotationField::kInt, WireType::kVarint));
    at = PutVarint(at, static_cast<std::uint64_t>(value));
    Event().Bytes(TrackEventField::kDebugAnnotations,
                  {bytes, static_cast<std::size_t>(at - bytes)});
  }

  void Intern(InternedDataField kind, std::uint32_t iid, std::string_view text) {
    ProtobufWriter writer(interned_);
    writer.Message(kind, [&] {
      writer.Varint(InternedField::kIid, iid);
      writer.Bytes(InternedField::kText, text);
    });
  }
  std::uint32_t IidOf(StringId text, InternedDataField kind, std::vector<std::uint32_t>& iids) {
    std::uint32_t& iid = iids[text.index()];
    if (iid == 0) {
      iid = ++last_iid_[kind];
      Intern(kind, iid, store_.Text(text));
    }
    return iid;
  }
  std::uint32_t ArgIid(std::string_view name) {
    const auto [found, is_new] = arg_iids_.try_emplace(std::string(name), 0u);
    if (is_new) {
      found->second = ++last_iid_[InternedDataField::kDebugAnnotationNames];
      Intern(InternedDataField::kDebugAnnotationNames, found->second, name);
    }
    return found->second;
  }
  std::uint32_t ArgIid(KinetoArg arg) {
    std::uint32_t& iid = column_iids_[static_cast<std::size_t>(arg)];
    if (iid == 0) iid = ArgIid(NameOf(arg));
    return iid;
  }

  /// Appends members of a JSON object, `"key": value, ...`, as annotations.
  void AppendMembers(std::string_view members, std::string& out) {
    std::size_t at = 0;
    const auto skip = [&](std::string_view what) {
      at = std::min(members.find_first_not_of(what, at), members.size());
    };
    for (;;) {
      skip(" \t\r\n,");
      if (at == members.size() || members[at] != '"') return;
      const std::size_t key_end = SkipValue(members, at);
      if (key_end < at + 2) return;
      std::string key;
      Unescape(members.substr(at + 1, key_end - at - 2), key);
      at = key_end;
      skip(" \t\r\n:");
      const std::size_t value_end = SkipValue(members, at);
      if (value_end == at) return;
      const std::string_view value = members.substr(at, value_end - at);
      const std::uint32_t name = ArgIid(key);
      ProtobufWriter writer(out);
      writer.Message(TrackEventField::kDebugAnnotations, [&] {
        writer.Varint(DebugAnnotationField::kNameIid, name);
        AppendValue(value.substr(0, value.find_last_not_of(" \t\r\n") + 1), writer);
      });
      at = value_end;
    }
  }

  /// Appends a value as the most specific type from which our reader restores the same text.
  static void AppendValue(std::string_view value, ProtobufWriter& writer) {
    const char* const end = value.data() + value.size();
    if (value.starts_with('"') && value.size() >= 2) {
      std::string text, quoted;
      Unescape(value.substr(1, value.size() - 2), text);
      AppendQuoted(text, quoted);  // Quotes like our reader, so that the restored text is
                                   // predictable.
      if (!text.starts_with('[') && !text.starts_with('{') && quoted == value)
        return writer.Bytes(DebugAnnotationField::kString, text);
    }
    if (value == "true" || value == "false")
      return writer.Varint(DebugAnnotationField::kBool, value == "true");
    std::int64_t integer = 0;
    if (const auto [stop, error] = std::from_chars(value.data(), end, integer);
        error == std::errc() && stop == end && fmt::format_int(integer).c_str() == value) {
      return writer.Varint(DebugAnnotationField::kInt, integer);
    }
    double number = 0;
    if (const auto [stop, error] = std::from_chars(value.data(), end, number);
        error == std::errc() && stop == end && std::isfinite(number) &&
        fmt::format("{}", number) == value) {
      return writer.Double(DebugAnnotationField::kDouble, number);
    }
    writer.Bytes(DebugAnnotationField::kLegacyJson, value);
  }

  const TraceStore& store_;
  const PacketSink& sink_;
  std::string out_, event_, interned_;
  /// Interned ids by string; 0 if not written yet.
  std::vector<std::uint32_t> names_, categories_;
  std::vector<std::string> arg_texts_;  ///< Encoded annotations by string of `args`.
  std::map<std::string, std::uint32_t> arg_iids_;
  std::array<std::uint32_t, std::size(kKinetoArgNames)> column_iids_ = {};
  std::map<InternedDataField, std::uint32_t> last_iid_;
  std::int64_t events_ = 0;
};

class PerfettoExport {
 public:
  PerfettoExport(const TraceStore& store, const PacketSink& sink)
      : store_(store),
        packets_(store, sink),
        threads_(store.threads.rows()),
        streams_(store.streams.rows()),
        zero_(FirstTime(store)) {
    for (std::size_t row = 0; row < store.collectives.rows(); ++row)
      collective_of_[store.collectives.task[row].index()] = row;
    if (store.flows.rows() == 0) FindLaunches();
  }

  std::int64_t Write() {
    WriteClocks();
    about_ = NewTrack(0, "headroom");
    WriteTrace();
    WriteDevices();
    WriteThreads();
    WriteHostEvents();
    WriteGpuTasks();
    WriteSyncs();
    WriteArrows();
    WriteCounters();
    WriteMemoryEvents();
    WriteInstants();
    // Without this packet, a copy truncated between two packets would look complete.
    Tell("end", {});
    packets_.Finish();
    return packets_.events();
  }

 private:
  template <typename Fill>
  TrackUuid NewTrack(TrackUuid parent, std::string_view name, Fill&& fill) {
    const TrackUuid track = ++last_track_;
    packets_.Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
      packet.Message(PacketField::kTrackDescriptor, [&] {
        packet.Varint(TrackDescriptorField::kUuid, track);
        if (parent != 0) packet.Varint(TrackDescriptorField::kParentUuid, parent);
        if (!name.empty()) packet.Bytes(TrackDescriptorField::kName, ValidUtf8(name));
        std::forward<Fill>(fill)(packet);
      });
    });
    return track;
  }
  TrackUuid NewTrack(TrackUuid parent, std::string_view name) {
    return NewTrack(parent, name, [](ProtobufWriter&) {});
  }

  void WriteClocks() {
    packets_.Packet(SequenceFlag::kIncrementalStateCleared, [](ProtobufWriter& packet) {
      packet.Message(PacketField::kDefaults,
                     [&] { packet.Varint(DefaultsField::kTimestampClockId, Clock::kMonotonic); });
    });
    packets_.Packet(SequenceFlag::kNeedsIncrementalState, [&](ProtobufWriter& packet) {
      packet.Message(PacketField::kClockSnapshot, [&] {
        const auto clock = [&](Clock id, std::int64_t ns) {
          packet.Message(ClockSnapshotField::kClock, [&] {
            packet.Varint(ClockField::kId, id);
            packet.Varint(ClockField::kTimestamp, ns);
          });
        };
        clock(Clock::kMonotonic, zero_.ns());
        clock(Clock::kBoottime, zero_.ns());
        if (const auto base = store_.metadata.base_time_ns)
          clock(Clock::kRealtime, *base + zero_.ns());
        packet.Varint(ClockSnapshotField::kPrimaryTraceClock, Clock::kMonotonic);
      });
    });
  }

  /// Writes a fact about the whole trace on a separate track, from which our reader makes no row.
  void Tell(std::string_view what, std::string_view members) {
    packets_.Begin();
    packets_.Type(TrackEventType::kInstant);
    packets_.On(about_);
    packets_.Category("headroom");
    packets_.Name(fmt::format("exported {}", what));
    packets_.Members(members);
    packets_.End(zero_);
  }
  static void AddMember(std::string& members, std::string_view key, std::string_view json) {
    members += fmt::format("{}\"{}\": {}", members.empty() ? "" : ", ", key, json);
  }
  static void AddMember(std::string& members, std::string_view key, std::int64_t value) {
    if (value != kUnknown) AddMember(members, key, fmt::format("{}", value));
  }

  void WriteTrace() {
    const TraceMetadata& metadata = store_.metadata;
    std::string members;
    AddMember(members, "copy_of", JsonString(metadata.recorded_as()));
    AddMember(members, "rank", metadata.rank.value_or(kUnknown));
    AddMember(members, "world_size", metadata.world_size.value_or(kUnknown));
    AddMember(members, "cuda_driver_version", metadata.cuda_driver_version.value_or(kUnknown));
    AddMember(members, "is_forecast", metadata.is_forecast ? 1 : 0);
    AddMember(members, "names_and_times_only", metadata.names_and_times_only ? 1 : 0);
    AddMember(members, "has_end", 1);
    Tell("trace", members);
    members.clear();
    for (const SoftwareVersion& row : metadata.versions)
      AddMember(members, row.name, JsonString(row.version));
    if (!members.empty()) Tell("versions", members);
    if (const std::string damage = CarriedMembers(store_.log); !damage.empty())
      Tell("damage", damage);
  }

  void WriteDevices() {
    const auto& rows = store_.devices;
    const auto wide = [](std::int32_t value) {
      return value == kUnknown32 ? kUnknown : std::int64_t{value};
    };
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      std::string members;
      AddMember(members, "ordinal", rows.ordinal[row]);
      if (rows.name[row].valid())
        AddMember(members, "name", JsonString(store_.Text(rows.name[row])));
      AddMember(members, "memory_bytes", rows.memory_bytes[row]);
      AddMember(members, "sm_count", wide(rows.sm_count[row]));
      AddMember(members, "compute_major", wide(rows.compute_major[row]));
      AddMember(members, "compute_minor", wide(rows.compute_minor[row]));
      Tell("device", members);
    }
  }

  TrackUuid ProcessTrack(std::size_t row) {
    TrackUuid& track = processes_[row];
    if (track != 0) return track;
    const std::string_view labels = store_.Text(store_.processes.labels[row]);
    const std::string_view pid = store_.Text(store_.processes.pid[row]);
    std::string name(labels.starts_with("GPU") ? labels : store_.Text(store_.processes.name[row]));
    if (name.empty()) name = pid.empty() ? "other" : fmt::format("process {}", pid);
    constexpr std::int32_t kNumbersOfOurOwn = 1 << 30;
    return track = NewTrack(0, {}, [&](ProtobufWriter& packet) {
             packet.Message(TrackDescriptorField::kProcess, [&] {
               packet.Varint(
                   ProcessDescriptorField::kPid,
                   ViewerNumber(pid).value_or(kNumbersOfOurOwn + static_cast<std::int32_t>(row)));
               packet.Bytes(ProcessDescriptorField::kName, ValidUtf8(name));
               if (!labels.empty())
                 packet.Bytes(ProcessDescriptorField::kLabels, ValidUtf8(labels));
             });
           });
  }

  void WriteThreads() {
    for (std::size_t row = 0; row < threads_.size(); ++row) {
      const std::size_t process = store_.threads.process[row].index();
      const std::string_view pid = store_.Text(store_.processes.pid[process]);
      const std::string_view tid = store_.Text(store_.threads.tid[row]);
      const std::string_view name = store_.Text(store_.threads.name[row]);
      const TrackUuid parent = ProcessTrack(process);
      if (ViewerNumber(pid) && ViewerNumber(tid)) {
        threads_[row] = NewTrack(parent, {}, [&](ProtobufWriter& packet) {
          packet.Message(TrackDescriptorField::kThread, [&] {
            packet.Varint(ThreadDescriptorField::kPid, *ViewerNumber(pid));
            packet.Varint(ThreadDescriptorField::kTid, *ViewerNumber(tid));
            if (!name.empty()) packet.Bytes(ThreadDescriptorField::kName, ValidUtf8(name));
          });
        });
      } else {
        threads_[row] =
            NewTrack(parent, name.empty() ? fmt::format("thread {}", tid) : std::string(name));
      }
      std::string members;
      AddMember(members, "track", static_cast<std::int64_t>(threads_[row]));
      AddMember(members, "pid", JsonString(pid));
      // A missing name differs from an empty one.
      const auto add = [&](std::string_view key, StringId text) {
        if (text.valid()) AddMember(members, key, JsonString(store_.Text(text)));
      };
      add("process", store_.processes.name[process]);
      add("labels", store_.processes.labels[process]);
      AddMember(members, "tid", JsonString(tid));
      add("thread", store_.threads.name[row]);
      Tell("thread", members);
      thread_of_.try_emplace({std::string(pid), std::string(tid)}, threads_[row]);
    }
  }

  TrackUuid Track(ThreadId thread) const { return threads_[thread.index()]; }

  /// Returns the track of a stream: the profiler's own track of the stream if it has one.
  TrackUuid Track(StreamId stream) {
    TrackUuid& track = streams_[stream.index()];
    if (track != 0) return track;
    const std::int64_t ordinal = OrdinalOf(stream);
    const std::int64_t number = store_.streams.number[stream.index()];
    const auto thread = thread_of_.find({fmt::format("{}", ordinal), fmt::format("{}", number)});
    if (thread != thread_of_.end()) return track = thread->second;
    // Names must not suggest numbers that are unknown.
    std::string name = ordinal < 0 ? "device" : fmt::format("GPU {}", ordinal);
    if (number >= 0) name += fmt::format(" stream {}", number);
    return track = NewTrack(0, name);
  }
  std::int64_t OrdinalOf(StreamId stream) const {
    return store_.devices.ordinal[store_.streams.device[stream.index()].index()];
  }

  /// Tracks on which spans nest. The first is given; further tracks are created below it on demand.
  class Lanes {
   public:
    Lanes(PerfettoExport& trace, TrackUuid first) : trace_(trace) { AddLane(first); }

    /// Returns the track for a span, after ending the spans before it. Prefers the track with the
    /// shortest open span that contains this one, else the first without an open span. O(log
    /// tracks).
    ///
    /// REQUIRES: spans come in order of start, longest first.
    TrackUuid Enter(TimeNs start, TimeNs end) {
      Leave(start);
      std::size_t lane = lanes_.size();
      if (const auto holder = innermost_.lower_bound({end, 0}); holder != innermost_.end()) {
        lane = holder->second;
        innermost_.erase(holder);
      } else if (!empty_.empty()) {
        lane = *empty_.begin();
        empty_.erase(empty_.begin());
      } else {
        AddLane(trace_.NewTrack(lanes_.front().track, "overlapping"));
        empty_.erase(lane);
      }
      lanes_[lane].open.push_back(end);
      innermost_.emplace(end, lane);
      return lanes_[lane].track;
    }
    void LeaveAll() { Leave(TimeNs(INT64_MAX)); }

   private:
    struct Lane {
      TrackUuid track;
      std::vector<TimeNs> open;  ///< Ends of the open spans, innermost last.
    };
    void AddLane(TrackUuid track) {
      empty_.insert(lanes_.size());
      lanes_.push_back({track, {}});
    }
    void Leave(TimeNs now) {
      while (!innermost_.empty() && innermost_.begin()->first <= now) {
        const auto [end, lane] = *innermost_.begin();
        innermost_.erase(innermost_.begin());
        trace_.packets_.Begin();
        trace_.packets_.Type(TrackEventType::kSliceEnd);
        trace_.packets_.On(lanes_[lane].track);
        trace_.packets_.End(end);
        std::vector<TimeNs>& open = lanes_[lane].open;
        open.pop_back();
        if (open.empty()) {
          empty_.insert(lane);
        } else {
          innermost_.emplace(open.back(), lane);
        }
      }
    }

    PerfettoExport& trace_;
    std::vector<Lane> lanes_;
    /// For each lane with open spans: the end of the innermost open span, and the lane's index.
    std::set<std::pair<TimeNs, std::size_t>> innermost_;
    std::set<std::size_t> empty_;  ///< Lanes without open spans.
  };

  /// Finds the launches, from which the viewer draws arrows to tasks if the trace has no arrows.
  void FindLaunches() {
    launches_.resize(store_.host_events.rows());
    for (std::size_t task = 0; task < store_.gpu_tasks.rows(); ++task) {
      const HostEventId launch = store_.gpu_tasks.launch[task];
      if (launch.valid()) launches_[launch.index()] = true;
    }
  }

  void WriteHostEvents() {
    const auto& rows = store_.host_events;
    for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
      Lanes lanes(*this, threads_[thread]);
      const TraceStore::RowRange range = store_.HostEventsOf(ThreadId(thread));
      for (std::uint32_t row = range.first; row < range.last; ++row) {
        const TrackUuid track = lanes.Enter(rows.start[row], store_.HostEnd(HostEventId(row)));
        packets_.Begin();
        packets_.Type(TrackEventType::kSliceBegin);
        packets_.On(track);
        packets_.Category(rows.category[row]);
        packets_.Name(rows.name[row]);
        packets_.Integer(KinetoArg::kExternalId, rows.external_id[row]);
        packets_.Integer(KinetoArg::kCorrelation, rows.correlation[row]);
        packets_.Integer(KinetoArg::kSequence, rows.sequence[row]);
        packets_.Integer(KinetoArg::kForwardThread, rows.forward_thread[row]);
        packets_.Integer(KinetoArg::kPythonId, rows.python_id[row]);
        packets_.Integer(KinetoArg::kPythonParentId, rows.python_parent_id[row]);
        packets_.Integer(KinetoArg::kEventIndex, rows.event_index[row]);
        packets_.Integer(KinetoArg::kRecordFunction, rows.record_function[row]);
        packets_.Rest(rows.args[row]);
        if (!launches_.empty() && launches_[row])
          packets_.Event().Fixed64(TrackEventField::kFlowIds, std::uint64_t{row} + 1);
        packets_.End(rows.start[row]);
      }
      lanes.LeaveAll();
    }
  }

  void WriteGpuTasks() {
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      const std::span<const GpuTaskId> tasks = store_.TasksOf(StreamId(stream));
      if (tasks.empty()) continue;
      // A shared track may contain the profiler's own spans (annotations), so tasks go elsewhere.
      const bool shared = thread_of_.contains({fmt::format("{}", OrdinalOf(StreamId(stream))),
                                               fmt::format("{}", store_.streams.number[stream])});
      const TrackUuid track = Track(StreamId(stream));
      const TrackUuid work = shared ? NewTrack(track, "work") : track;
      work_of_.emplace(track, work);
      Lanes lanes(*this, work);
      for (const GpuTaskId task : tasks) {
        const TrackUuid lane =
            lanes.Enter(store_.gpu_tasks.start[task.index()], store_.TaskEnd(task));
        WriteGpuTask(task, lane);
      }
      lanes.LeaveAll();
    }
  }

  void WriteGpuTask(GpuTaskId task, TrackUuid track) {
    const auto& rows = store_.gpu_tasks;
    const std::size_t row = task.index();
    const StreamId stream = rows.stream[row];
    packets_.Begin();
    packets_.Type(TrackEventType::kSliceBegin);
    packets_.On(track);
    packets_.Category(CategoryName(rows.kind[row]));
    packets_.Name(rows.name[row]);
    packets_.Integer(KinetoArg::kDevice, OrdinalOf(stream));
    packets_.Integer(KinetoArg::kStream, store_.streams.number[stream.index()]);
    packets_.Integer(KinetoArg::kCorrelation, rows.correlation[row]);
    packets_.Integer(KinetoArg::kExternalId, rows.external_id[row]);
    Blocks(KinetoArg::kGrid, rows.grid_x[row], rows.grid_y[row], rows.grid_z[row]);
    Blocks(KinetoArg::kBlock, rows.block_x[row], rows.block_y[row], rows.block_z[row]);
    packets_.Integer(KinetoArg::kRegisters, rows.registers[row]);
    packets_.Integer(KinetoArg::kSharedMemory, rows.shared_memory[row]);
    packets_.Integer(KinetoArg::kOccupancy, rows.occupancy_pct[row]);
    packets_.Integer(KinetoArg::kGraphNode, rows.graph_node[row]);
    packets_.Integer(KinetoArg::kBytes, rows.bytes[row]);
    if (rows.kind[row] == GpuTaskKind::kMemcpy &&
        CopyKindOf(store_.Text(rows.name[row])) != rows.copy[row])
      packets_.Text("copy", CopyText(rows.copy[row]));
    AddCollective(row);
    packets_.Rest(rows.args[row]);
    if (const HostEventId launch = rows.launch[row]; !launches_.empty() && launch.valid()) {
      packets_.Event().Fixed64(TrackEventField::kTerminatingFlowIds,
                               std::uint64_t{launch.index()} + 1);
    }
    packets_.End(rows.start[row]);
  }

  void Blocks(KinetoArg arg, std::int32_t x, std::int32_t y, std::int32_t z) {
    if (x != kUnknown32) packets_.Text(arg, fmt::format("{},{},{}", x, y, z));
  }

  void AddCollective(std::size_t task) {
    const auto known = collective_of_.find(task);
    if (known == collective_of_.end()) return;
    const auto& rows = store_.collectives;
    const std::size_t row = known->second;
    packets_.Text(KinetoArg::kCollectiveName, store_.Text(rows.name[row]));
    packets_.Integer(KinetoArg::kInElements, rows.in_elements[row]);
    packets_.Integer(KinetoArg::kOutElements, rows.out_elements[row]);
    packets_.Integer(KinetoArg::kGroupSize, rows.group_size[row]);
    if (rows.dtype[row].valid()) packets_.Text(KinetoArg::kDtype, store_.Text(rows.dtype[row]));
    if (rows.process_group[row].valid())
      packets_.Text(KinetoArg::kProcessGroup, store_.Text(rows.process_group[row]));
  }

  void WriteSyncs() {
    const auto& rows = store_.syncs;
    if (rows.rows() == 0) return;
    std::vector<std::size_t> order(rows.rows());
    for (std::size_t row = 0; row < order.size(); ++row) order[row] = row;
    const auto end = [&](std::size_t row) { return rows.start[row] + rows.duration[row]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return rows.start[a] != rows.start[b] ? rows.start[a] < rows.start[b] : end(a) > end(b);
    });
    Lanes lanes(*this, NewTrack(0, "waits for GPU work"));
    for (const std::size_t row : order) {
      const TrackUuid track = lanes.Enter(rows.start[row], end(row));
      packets_.Begin();
      packets_.Type(TrackEventType::kSliceBegin);
      packets_.On(track);
      packets_.Category("cuda_sync");
      packets_.Name(SyncName(rows.kind[row]));
      packets_.Integer(KinetoArg::kCorrelation, rows.correlation[row]);
      if (const StreamId stream = rows.stream[row]; stream.valid()) {
        packets_.Integer(KinetoArg::kDevice, OrdinalOf(stream));
        packets_.Integer(KinetoArg::kStream, store_.streams.number[stream.index()]);
      }
      packets_.Integer(KinetoArg::kWaitOnStream, rows.wait_on_stream[row]);
      packets_.Integer(KinetoArg::kWaitOnCorrelation, rows.wait_on_correlation[row]);
      packets_.Rest(rows.args[row]);
      packets_.End(rows.start[row]);
    }
    lanes.LeaveAll();
  }

  void WriteArrows() {
    constexpr char kLetters[] = {'s', 't', 'f'};
    const auto& rows = store_.flows;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      packets_.Begin();
      // Arrows to a stream end at its work.
      const TrackUuid track = Track(rows.thread[row]);
      const auto work = work_of_.find(track);
      packets_.On(work != work_of_.end() ? work->second : track);
      packets_.Category(rows.category[row]);
      packets_.Name(rows.category[row]);
      ProtobufWriter event = packets_.Event();
      event.Message(TrackEventField::kLegacyEvent, [&] {
        event.Varint(
            LegacyEventField::kPhase,
            static_cast<std::int32_t>(kLetters[static_cast<std::size_t>(rows.phase[row])]));
        if (rows.id[row] != kUnknown) event.Varint(LegacyEventField::kUnscopedId, rows.id[row]);
        event.Varint(LegacyEventField::kBindToEnclosing, true);
      });
      packets_.End(rows.time[row]);
    }
  }

  void WriteCounters() {
    const auto& rows = store_.counters;
    std::map<std::tuple<StringId, StringId, StringId, ThreadId>, TrackUuid> tracks;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      TrackUuid& track =
          tracks[{rows.name[row], rows.series[row], rows.unit[row], rows.thread[row]}];
      if (track == 0) {
        track = NewTrack(
            Track(rows.thread[row]), store_.Text(rows.name[row]), [&](ProtobufWriter& packet) {
              packet.Message(TrackDescriptorField::kCounter, [&] {
                packet.Bytes(CounterDescriptorField::kUnitName, store_.Text(rows.unit[row]));
              });
            });
        std::string members;
        AddMember(members, "track", static_cast<std::int64_t>(track));
        AddMember(members, "series", JsonString(store_.Text(rows.series[row])));
        Tell("counter", members);
      }
      packets_.Begin();
      packets_.Type(TrackEventType::kCounter);
      packets_.On(track);
      packets_.Event().Double(TrackEventField::kDoubleCounterValue, rows.value[row]);
      packets_.End(rows.time[row]);
    }
  }

  void WriteMemoryEvents() {
    const auto& rows = store_.memory_events;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      packets_.Begin();
      packets_.Type(TrackEventType::kInstant);
      packets_.On(Track(rows.thread[row]));
      packets_.Category("cpu_instant_event");
      packets_.Name("[memory]");
      packets_.Integer(KinetoArg::kAddress, rows.address[row]);
      packets_.Integer(KinetoArg::kMemoryBytes, rows.bytes[row]);
      packets_.Integer(KinetoArg::kTotalAllocated, rows.total_allocated_bytes[row]);
      packets_.Integer(KinetoArg::kTotalReserved, rows.total_reserved_bytes[row]);
      packets_.Integer(KinetoArg::kDeviceType, rows.device_type[row]);
      packets_.Integer(KinetoArg::kDeviceId, rows.device[row]);
      packets_.Integer(KinetoArg::kEventIndex, rows.event_index[row]);
      packets_.End(rows.time[row]);
    }
  }

  void WriteInstants() {
    const auto& rows = store_.instants;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      packets_.Begin();
      packets_.Type(TrackEventType::kInstant);
      packets_.On(Track(rows.thread[row]));
      packets_.Category(rows.category[row]);
      packets_.Name(rows.name[row]);
      packets_.Rest(rows.args[row]);
      packets_.End(rows.time[row]);
    }
  }

  const TraceStore& store_;
  PacketWriter packets_;
  TrackUuid last_track_ = 0, about_ = 0;
  std::map<std::size_t, TrackUuid> processes_;  ///< Indexed by row.
  std::map<TrackUuid, TrackUuid> work_of_;      ///< Track of a stream's tasks, by its own track.
  std::vector<TrackUuid> threads_, streams_;    ///< Indexed by row; 0 if not created yet.
  /// Thread tracks by pid and tid.
  std::map<std::pair<std::string, std::string>, TrackUuid> thread_of_;
  /// Row of the collective by task.
  std::map<std::size_t, std::size_t> collective_of_;
  std::vector<bool> launches_;  ///< By host event; empty if the trace has its own arrows.
  TimeNs zero_;
};

}  // namespace

std::int64_t WritePerfettoPackets(const TraceStore& store, const PacketSink& sink) {
  return PerfettoExport(store, sink).Write();
}

}  // namespace headroom
