#include "export/chrome_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "render/escape.h"
#include "render/json_writer.h"
#include "store/carried_damage.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

std::string Us(std::int64_t ns) { return DecimalOf(ns, 3); }

std::string_view CategoryOf(GpuTaskKind kind) {
  switch (kind) {
    case GpuTaskKind::kKernel:
      return "kernel";
    case GpuTaskKind::kMemcpy:
      return "gpu_memcpy";
    case GpuTaskKind::kMemset:
      return "gpu_memset";
  }
  return "kernel";
}

std::string_view NameOf(SyncKind kind) {
  switch (kind) {
    case SyncKind::kContext:
      return "Context Sync";
    case SyncKind::kStream:
      return "Stream Sync";
    case SyncKind::kEvent:
      return "Event Sync";
    case SyncKind::kStreamWaitEvent:
      return "Stream Wait Event";
    case SyncKind::kOther:
      break;
  }
  return "Sync";
}

char LetterOf(FlowPhase phase) {
  switch (phase) {
    case FlowPhase::kStart:
      return 's';
    case FlowPhase::kStep:
      return 't';
    case FlowPhase::kFinish:
      return 'f';
  }
  return 't';
}

/// Builds the members of `args`: first those with a column, then those kept as text.
class Args {
 public:
  void Add(std::string_view key, std::string_view json) {
    fmt::format_to(std::back_inserter(text_), "{}\"{}\":{}", text_.empty() ? "" : ",", key, json);
  }
  void Integer(std::string_view key, std::int64_t value) {
    if (value != kUnknown) Add(key, fmt::format("{}", value));
  }
  void Integer(std::string_view key, std::int32_t value) {
    if (value != kUnknown32) Add(key, fmt::format("{}", value));
  }
  void Text(std::string_view key, std::string_view text) {
    if (!text.empty()) Add(key, JsonString(text));
  }
  void Add(KinetoArg arg, std::string_view json) { Add(NameOf(arg), json); }
  void Integer(KinetoArg arg, std::int64_t value) { Integer(NameOf(arg), value); }
  void Integer(KinetoArg arg, std::int32_t value) { Integer(NameOf(arg), value); }
  void Text(KinetoArg arg, std::string_view text) { Text(NameOf(arg), text); }
  /// Appends the members that were kept as text, which may contain any bytes.
  void Rest(std::string_view members) {
    if (members.empty()) return;
    text_ += text_.empty() ? "" : ",";
    const bool plain = std::all_of(members.begin(), members.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    text_ += plain ? std::string(members) : ValidUtf8(members);
  }
  const std::string& members() const { return text_; }

 private:
  std::string text_;
};

class EventWriter {
 public:
  EventWriter(const TraceStore& store, const EventPlacing& placing, const EventSink& sink)
      : store_(store),
        placing_(placing),
        sink_(sink),
        tracks_(store.threads.rows()),
        streams_(store.streams.rows()) {
    used_.processes = placing.first_process;
    used_.devices = placing.first_device;
    used_.ids = placing.first_id;
    for (std::size_t row = 0; row < store.processes.rows(); ++row)
      process_of_.insert_or_assign(store.Text(store.processes.pid[row]), row);
    for (std::size_t row = 0; row < store.threads.rows(); ++row) {
      const ProcessId process = store.threads.process[row];
      thread_of_.emplace(std::pair(store.Text(store.processes.pid[process.index()]),
                                   store.Text(store.threads.tid[row])),
                         row);
    }
    NumberDevices();
  }

  UsedNumbers Write() {
    if (placing_.alone) NameAllTracks();
    WriteHostEvents();
    IndexCollectives();
    WriteGpuTasks();
    WriteSyncs();
    WriteFlows();
    WriteCounters();
    WriteMemoryEvents();
    WriteInstants();
    return used_;
  }

  std::vector<std::string> DeviceProperties() {
    std::vector<std::string> rows;
    const auto& devices = store_.devices;
    for (std::size_t row = 0; row < devices.rows(); ++row) {
      const std::int64_t number = DeviceNumber(devices.ordinal[row]);
      if (number < 0) continue;
      Args members;
      members.Integer("id", number);
      members.Text("name", store_.Text(devices.name[row]));
      members.Integer("totalGlobalMem", devices.memory_bytes[row]);
      members.Integer("computeMajor", devices.compute_major[row]);
      members.Integer("computeMinor", devices.compute_minor[row]);
      members.Integer("numSms", devices.sm_count[row]);
      rows.push_back("{" + members.members() + "}");
    }
    return rows;
  }

 private:
  template <typename... Parts>
  void Emit(fmt::format_string<Parts...> format, Parts&&... parts) {
    event_.clear();
    fmt::format_to(std::back_inserter(event_), format, std::forward<Parts>(parts)...);
    ++used_.events;
    sink_(event_);
  }

  std::string At(TimeNs own) const { return Us(placing_.time(own).ns()); }

  /// Returns a number that is unique in the file, for an id that joins events. Renumbers ids,
  /// because those of the trace may be arbitrarily large.
  std::int64_t IdOf(std::int64_t own) {
    if (own < 0 || placing_.alone) return own;  // Includes kUnknown.
    const auto [known, is_new] = ids_.try_emplace(own, used_.ids);
    if (is_new) ++used_.ids;
    return known->second;
  }

  /// Numbers the devices with recorded tasks.
  void NumberDevices() {
    std::set<std::int64_t> ordinals;
    for (std::size_t row = 0; row < store_.streams.rows(); ++row) {
      if (!store_.TasksOf(StreamId(row)).empty()) ordinals.insert(OrdinalOf(StreamId(row)));
    }
    for (const std::int64_t ordinal : ordinals) devices_[ordinal] = used_.devices++;
  }

  /// Returns the device's number in the file, or -1 if it has no tasks.
  std::int64_t DeviceNumber(std::int64_t ordinal) const {
    if (placing_.alone) return ordinal;
    const auto known = devices_.find(ordinal);
    return known == devices_.end() ? -1 : known->second;
  }

  std::int64_t ProcessNumber(std::string_view pid) {
    const auto [known, is_new] = processes_.try_emplace(std::string(pid), used_.processes);
    if (is_new) {
      ++used_.processes;
      NameProcess(std::string(pid), known->second);
    }
    return known->second;
  }

  /// Names a process: "rank 2 on node7: python (4711)", or for a GPU's track "rank 2 on node7: GPU
  /// 0".
  void NameProcess(const std::string& pid, std::int64_t number) {
    std::string_view name, labels;
    if (const auto row = process_of_.find(pid); row != process_of_.end()) {
      name = store_.Text(store_.processes.name[row->second]);
      labels = store_.Text(store_.processes.labels[row->second]);
    }
    const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
    std::string shown = labels.starts_with("GPU") ? std::string(labels)
                        : name.empty()            ? (is_number     ? "process " + pid
                                                     : pid.empty() ? "other"
                                                                   : pid)
                                                  : fmt::format("{} ({})", name, pid);
    if (!placing_.label.empty()) shown = fmt::format("{}: {}", placing_.label, shown);
    Emit(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})", number,
         JsonString(shown));
    if (!labels.empty()) {
      Emit(R"({{"ph":"M","name":"process_labels","pid":{},"tid":0,"args":{{"labels":{}}}}})",
           number, JsonString(labels));
    }
    Emit(R"({{"ph":"M","name":"process_sort_index","pid":{},"tid":0,"args":{{"sort_index":{}}}}})",
         number, number);
  }

  /// Returns an integer unchanged, and any other text as a JSON string.
  static std::string NumberOrString(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    std::string written = whole ? fmt::format("{}", number) : std::string();
    return whole && written == text ? written : JsonString(text);
  }
  std::string ThreadJson(ThreadId thread) const {
    return NumberOrString(store_.Text(store_.threads.tid[thread.index()]));
  }

  /// Names all tracks in order, so that readers also restore tracks without events.
  void NameAllTracks() {
    std::vector<bool> named(store_.processes.rows());
    for (std::size_t row = 0; row < store_.threads.rows(); ++row) {
      const std::size_t process = store_.threads.process[row].index();
      const std::string track = fmt::format(
          R"("pid":{},"tid":{})", NumberOrString(store_.Text(store_.processes.pid[process])),
          ThreadJson(ThreadId(row)));
      tracks_[row] = track;
      const std::string_view labels = store_.Text(store_.processes.labels[process]);
      const std::string_view name = store_.Text(store_.threads.name[row]);
      const StringId process_name = store_.processes.name[process];
      // A thread without a name repeats its process name or labels, so that readers know the
      // thread.
      const bool is_first = !named[process];
      const bool is_told = !is_first && !name.empty();
      if (process_name.valid() && !is_told && (is_first || labels.empty())) {
        Emit(R"({{"ph":"M","name":"process_name",{},"args":{{"name":{}}}}})", track,
             JsonString(store_.Text(process_name)));
      }
      const bool tells_nothing = !process_name.valid() && name.empty();
      if (!is_told && (!labels.empty() || tells_nothing)) NameLabels(track, labels);
      named[process] = true;
      NameThread(track, name);
    }
  }

  void NameLabels(const std::string& track, std::string_view labels) {
    Emit(R"({{"ph":"M","name":"process_labels",{},"args":{{"labels":{}}}}})", track,
         JsonString(labels));
  }

  void NameThread(const std::string& track, std::string_view name) {
    if (name.empty()) return;
    Emit(R"({{"ph":"M","name":"thread_name",{},"args":{{"name":{}}}}})", track, JsonString(name));
  }

  /// Returns a thread's track and names it before its first event. Tracks without events are
  /// omitted.
  const std::string& Track(ThreadId thread) {
    if (!thread.valid()) return Nowhere();
    std::string& track = tracks_[thread.index()];
    if (track.empty()) {
      const ProcessId process = store_.threads.process[thread.index()];
      track = fmt::format(R"("pid":{},"tid":{})",
                          ProcessNumber(store_.Text(store_.processes.pid[process.index()])),
                          ThreadJson(thread));
      NameThread(track, store_.Text(store_.threads.name[thread.index()]));
    }
    return track;
  }

  /// Returns the track of events that have no track.
  const std::string& Nowhere() {
    if (nowhere_.empty() && placing_.alone) nowhere_ = R"("pid":0,"tid":-1)";
    if (nowhere_.empty()) nowhere_ = fmt::format(R"("pid":{},"tid":0)", ProcessNumber(""));
    return nowhere_;
  }

  std::int64_t OrdinalOf(StreamId stream) const {
    const DeviceId device = store_.streams.device[stream.index()];
    const std::int64_t ordinal = store_.devices.ordinal[device.index()];
    return placing_.alone ? ordinal : std::max<std::int64_t>(0, ordinal);
  }

  /// Returns a stream's track. Profilers use the GPU's number as process id and the stream's number
  /// as thread id.
  const std::string& Track(StreamId stream) {
    std::string& track = streams_[stream.index()];
    if (track.empty()) {
      const std::string pid = fmt::format("{}", OrdinalOf(stream));
      const std::string tid = fmt::format("{}", store_.streams.number[stream.index()]);
      if (const auto row = thread_of_.find({pid, tid}); row != thread_of_.end())
        return track = Track(ThreadId(row->second));
      track = fmt::format(R"("pid":{},"tid":{})",
                          placing_.alone ? pid : fmt::format("{}", ProcessNumber(pid)), tid);
      // A name would create a thread that the trace does not have.
      if (!placing_.alone) NameThread(track, "stream " + tid);
    }
    return track;
  }

  void Span(std::string_view category, std::string_view name, const std::string& track,
            TimeNs start, DurationNs duration, const Args& args) {
    // Durations require no drift correction, because the drift within a span is negligible.
    Emit(R"({{"ph":"X",{}"name":{},{},"ts":{},"dur":{},"args":{{{}}}}})", CategoryMember(category),
         JsonString(name), track, At(start), Us(duration.ns()), args.members());
  }

  /// Omits the category if it is empty, because some profilers write none. Readers then classify
  /// events by name.
  static std::string CategoryMember(std::string_view category) {
    return category.empty() ? std::string() : fmt::format(R"("cat":{},)", JsonString(category));
  }

  void WriteHostEvents() {
    const auto& rows = store_.host_events;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      Args args;
      args.Integer(KinetoArg::kExternalId, IdOf(rows.external_id[row]));
      args.Integer(KinetoArg::kCorrelation, IdOf(rows.correlation[row]));
      args.Integer(KinetoArg::kSequence, rows.sequence[row]);
      args.Integer(KinetoArg::kForwardThread, rows.forward_thread[row]);
      args.Integer(KinetoArg::kPythonId, rows.python_id[row]);
      args.Integer(KinetoArg::kPythonParentId, rows.python_parent_id[row]);
      args.Integer(KinetoArg::kEventIndex, rows.event_index[row]);
      args.Integer(KinetoArg::kRecordFunction, rows.record_function[row]);
      args.Rest(store_.Text(rows.args[row]));
      Span(store_.Text(rows.category[row]), store_.Text(rows.name[row]), Track(rows.thread[row]),
           rows.start[row], rows.duration[row], args);
    }
  }

  void IndexCollectives() {
    for (std::size_t row = 0; row < store_.collectives.rows(); ++row)
      collective_of_[store_.collectives.task[row].index()] = row;
  }

  void AddCollective(std::size_t task, Args& args) const {
    const auto known = collective_of_.find(task);
    if (known == collective_of_.end()) return;
    const auto& rows = store_.collectives;
    const std::size_t row = known->second;
    args.Add(KinetoArg::kCollectiveName, JsonString(store_.Text(rows.name[row])));
    args.Integer(KinetoArg::kInElements, rows.in_elements[row]);
    args.Integer(KinetoArg::kOutElements, rows.out_elements[row]);
    args.Integer(KinetoArg::kGroupSize, rows.group_size[row]);
    args.Text(KinetoArg::kDtype, store_.Text(rows.dtype[row]));
    args.Text(KinetoArg::kProcessGroup, store_.Text(rows.process_group[row]));
  }

  void WriteGpuTasks() {
    const auto& rows = store_.gpu_tasks;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const StreamId stream = rows.stream[row];
      Args args;
      args.Integer(KinetoArg::kExternalId, IdOf(rows.external_id[row]));
      args.Integer(KinetoArg::kDevice, DeviceNumber(OrdinalOf(stream)));
      args.Integer(KinetoArg::kStream, store_.streams.number[stream.index()]);
      args.Integer(KinetoArg::kCorrelation, IdOf(rows.correlation[row]));
      args.Integer(KinetoArg::kRegisters, rows.registers[row]);
      args.Integer(KinetoArg::kSharedMemory, rows.shared_memory[row]);
      if (rows.grid_x[row] != kUnknown32)
        args.Add(KinetoArg::kGrid,
                 fmt::format("[{},{},{}]", rows.grid_x[row], rows.grid_y[row], rows.grid_z[row]));
      if (rows.block_x[row] != kUnknown32)
        args.Add(KinetoArg::kBlock, fmt::format("[{},{},{}]", rows.block_x[row], rows.block_y[row],
                                                rows.block_z[row]));
      args.Integer(KinetoArg::kOccupancy, rows.occupancy_pct[row]);
      args.Integer(KinetoArg::kGraphNode, rows.graph_node[row]);
      args.Integer(KinetoArg::kBytes, rows.bytes[row]);
      AddCollective(row, args);
      args.Rest(store_.Text(rows.args[row]));
      Span(CategoryOf(rows.kind[row]), store_.Text(rows.name[row]), Track(stream), rows.start[row],
           rows.duration[row], args);
    }
  }

  void WriteSyncs() {
    const auto& rows = store_.syncs;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const StreamId stream = rows.stream[row];
      Args args;
      args.Integer(KinetoArg::kCorrelation, IdOf(rows.correlation[row]));
      if (stream.valid()) {
        args.Integer(KinetoArg::kDevice, DeviceNumber(OrdinalOf(stream)));
        args.Integer(KinetoArg::kStream, store_.streams.number[stream.index()]);
      }
      args.Integer(KinetoArg::kWaitOnStream, rows.wait_on_stream[row]);
      args.Integer(KinetoArg::kWaitOnCorrelation, IdOf(rows.wait_on_correlation[row]));
      if (store_.Arg(rows.args[row], NameOf(KinetoArg::kSyncKind)).empty())
        args.Text(KinetoArg::kSyncKind, NameOf(rows.kind[row]));
      args.Rest(store_.Text(rows.args[row]));
      Span("cuda_sync", NameOf(rows.kind[row]), stream.valid() ? Track(stream) : Track(ThreadId()),
           rows.start[row], rows.duration[row], args);
    }
  }

  void WriteFlows() {
    const auto& rows = store_.flows;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const bool has_id = rows.id[row] != kUnknown;
      if (!has_id && !placing_.alone) continue;
      const std::string category = JsonString(store_.Text(rows.category[row]));
      const char letter = LetterOf(rows.phase[row]);
      Emit(R"({{"ph":"{}","cat":{},"name":{},{}{},"ts":{}{}}})", letter, category, category,
           has_id ? fmt::format(R"("id":{},)", IdOf(rows.id[row])) : "", Track(rows.thread[row]),
           At(rows.time[row]), letter == 'f' ? R"(,"bp":"e")" : "");
    }
  }

  void WriteCounters() {
    const auto& rows = store_.counters;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      if (!std::isfinite(rows.value[row])) continue;
      const std::string_view unit = store_.Text(rows.unit[row]);
      Emit(R"({{"ph":"C","name":{},{},"ts":{},{}"args":{{{}:{}}}}})",
           JsonString(store_.Text(rows.name[row])), Track(rows.thread[row]), At(rows.time[row]),
           unit.empty() ? "" : fmt::format(R"("unit":{},)", JsonString(unit)),
           JsonString(store_.Text(rows.series[row])), rows.value[row]);
    }
  }

  void WriteMemoryEvents() {
    const auto& rows = store_.memory_events;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      Args args;
      args.Integer(KinetoArg::kAddress, rows.address[row]);
      args.Integer(KinetoArg::kMemoryBytes, rows.bytes[row]);
      args.Integer(KinetoArg::kTotalAllocated, rows.total_allocated_bytes[row]);
      args.Integer(KinetoArg::kTotalReserved, rows.total_reserved_bytes[row]);
      args.Integer(KinetoArg::kDeviceType, rows.device_type[row]);
      args.Integer(KinetoArg::kDeviceId, DeviceNumber(rows.device[row]));
      args.Integer(KinetoArg::kEventIndex, rows.event_index[row]);
      Emit(
          R"({{"ph":"i","s":"t","name":"[memory]","cat":"cpu_instant_event",{},"ts":{},"args":{{{}}}}})",
          Track(rows.thread[row]), At(rows.time[row]), args.members());
    }
  }

  void WriteInstants() {
    const auto& rows = store_.instants;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      Args args;
      args.Rest(store_.Text(rows.args[row]));
      Emit(R"({{"ph":"i","s":"t","name":{},"cat":{},{},"ts":{},"args":{{{}}}}})",
           JsonString(store_.Text(rows.name[row])), JsonString(store_.Text(rows.category[row])),
           Track(rows.thread[row]), At(rows.time[row]), args.members());
    }
  }

  const TraceStore& store_;
  const EventPlacing& placing_;
  const EventSink& sink_;
  UsedNumbers used_;
  std::string event_;
  std::map<std::string_view, std::size_t> process_of_;  ///< Process row by pid.
  std::map<std::pair<std::string_view, std::string_view>, std::size_t>
      thread_of_;        ///< Thread row by pid and tid.
  std::string nowhere_;  ///< Track of events without a track.
  std::unordered_map<std::int64_t, std::int64_t> ids_;
  std::map<std::string, std::int64_t> processes_;  ///< Numbers by pid.
  std::map<std::int64_t, std::int64_t> devices_;   ///< Numbers by ordinal.
  /// Indexed by row; empty until the track's first event.
  std::vector<std::string> tracks_, streams_;
  std::map<std::size_t, std::size_t> collective_of_;
};

}  // namespace

UsedNumbers WriteChromeEvents(const TraceStore& store, const EventPlacing& placing,
                              const EventSink& sink) {
  return EventWriter(store, placing, sink).Write();
}

TimeNs FirstTime(const TraceStore& store) {
  TimeNs first(INT64_MAX);
  const auto see = [&](const auto& column) {
    for (std::size_t row = 0; row < column.size(); ++row) first = std::min(first, column[row]);
  };
  see(store.host_events.start);
  see(store.gpu_tasks.start);
  see(store.syncs.start);
  see(store.flows.time);
  see(store.counters.time);
  see(store.memory_events.time);
  see(store.instants.time);
  return first.ns() == INT64_MAX ? TimeNs(0) : first;
}

std::string DamageMember(const ImportLog& log) {
  const std::string members = CarriedMembers(log);
  return members.empty() ? "" : fmt::format(",\"headroom_damage\":{{{}}}", members);
}

TraceSource::TraceSource(const TraceMetadata& metadata)
    : recorded_as(metadata.recorded_as()),
      is_forecast(metadata.is_forecast),
      names_and_times_only(metadata.names_and_times_only),
      versions(metadata.versions) {}

std::string SourceMembers(const TraceSource& source) {
  std::string members;
  if (source.is_forecast) members += R"(,"headroom_scenario":"")";
  if (source.names_and_times_only) members += R"(,"headroom_names_and_times_only":1)";
  if (!source.recorded_as.empty())
    members += fmt::format(",\"headroom_copy_of\":{}", JsonString(source.recorded_as));
  if (!source.versions.empty()) {
    Args list;
    for (const SoftwareVersion& row : source.versions) list.Text(row.name, row.version);
    members += fmt::format(",\"headroom_versions\":{{{}}}", list.members());
  }
  return members;
}

std::string HeaderOf(const TraceStore& store) {
  const TraceMetadata& metadata = store.metadata;
  std::string header = R"("schemaVersion":1,"displayTimeUnit":"ms")";
  const auto add = [&](std::string_view key, std::int64_t value) {
    header += fmt::format(",\"{}\":{}", key, value);
  };
  header += SourceMembers(TraceSource(metadata));
  header += DamageMember(store.log);
  if (metadata.base_time_ns) add("baseTimeNanoseconds", *metadata.base_time_ns);
  if (metadata.cuda_driver_version) add("cuda_driver_version", *metadata.cuda_driver_version);
  if (metadata.rank || metadata.world_size) {
    Args members;
    if (metadata.rank) members.Integer("rank", *metadata.rank);
    if (metadata.world_size) members.Integer("world_size", *metadata.world_size);
    header += fmt::format(",\"distributedInfo\":{{{}}}", members.members());
  }
  EventPlacing placing;
  placing.alone = true;
  return header + fmt::format(",\"deviceProperties\":[{}]",
                              fmt::join(DevicePropertiesOf(store, placing), ",\n"));
}

std::vector<std::string> DevicePropertiesOf(const TraceStore& store, const EventPlacing& placing) {
  const EventSink nowhere = [](std::string_view) {};
  return EventWriter(store, placing, nowhere).DeviceProperties();
}

}  // namespace headroom
