#include "ingest/kineto/ascend_tracks.h"

#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "ingest/kineto/streams.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "store/args_text.h"

namespace headroom::kineto {
namespace {

constexpr std::string_view kHardware = "Ascend Hardware", kPython = "Python";
// The profiler names a process `pid * 32 + layer`.
constexpr std::int64_t kLayers = 32;

/// The role of a track's spans.
struct AscendTrack {
  enum class Role : std::uint8_t { kOther, kPython, kCalls, kStream, kCollectives, kDerived };
  Role role = Role::kOther;
  StreamId stream;
  ThreadId thread;  ///< Thread of the calls; none for other roles.
};

std::int64_t NumberOr(std::string_view text, std::int64_t fallback) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && !text.empty();
  return whole ? value : fallback;
}

/// Returns 7 for "Stream 7", and -1 for other names.
std::int64_t NumberOfStream(std::string_view thread) {
  constexpr std::string_view kStream = "Stream ";
  return thread.starts_with(kStream) ? NumberOr(thread.substr(kStream.size()), -1) : -1;
}

class AscendTracks {
 public:
  explicit AscendTracks(TraceStore& store)
      : store_(store), tracks_(store.threads.rows()), streams_(store) {}

  void Settle() {
    FindProcesses();
    if (hardware_.empty()) return;
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      tracks_[t] = TrackOf(t);
      has_collectives_ |= tracks_[t].role == AscendTrack::Role::kCollectives;
    }
    auto& host = store_.host_events;
    HostEventColumns<Column> kept;
    for (std::size_t row = 0; row < host.rows(); ++row) {
      const AscendTrack& track = tracks_[host.thread.Pending(row).index()];
      const bool has_category = host.kind.Pending(row) != HostEventKind::kOther;
      if (!has_category && track.stream.valid() && !IsWait(row)) {
        AppendTask(row, track.stream);
        continue;
      }
      if (!has_category) TellHostEvent(row, track);
      const auto copy = [row](auto& to, const auto& from) {
        if (from.size() > row) to.Append(from.Pending(row));  // Computed columns have no rows yet.
      };
      kept.ForEachColumnPair(host, copy);
    }
    host = std::move(kept);
  }

 private:
  std::string_view NameOf(ProcessId process) const {
    return store_.Text(store_.processes.name.Pending(process.index()));
  }

  /// Returns the number of the program. One program appears in the file as several processes.
  std::int64_t ProgramOf(ProcessId process) const {
    return NumberOr(store_.Text(store_.processes.pid.Pending(process.index())), 0) / kLayers;
  }

  void FindProcesses() {
    for (std::size_t row = 0; row < store_.processes.rows(); ++row) {
      const ProcessId process(row);
      const std::int64_t program = ProgramOf(process);
      if (NameOf(process) == kHardware)
        hardware_.try_emplace(program, static_cast<std::int64_t>(hardware_.size()));
      if (NameOf(process) == kPython) python_.try_emplace(program, process);
    }
    if (hardware_.empty()) return;
    for (std::size_t t = 0; t < tracks_.size(); ++t) {
      const ProcessId process = store_.threads.process.Pending(t);
      if (NameOf(process) == kPython)
        python_threads_.try_emplace({process, store_.threads.tid.Pending(t)}, ThreadId(t));
    }
  }

  AscendTrack TrackOf(std::size_t t) {
    const ProcessId process = store_.threads.process.Pending(t);
    const std::string_view name = NameOf(process);
    const std::string_view thread = store_.Text(store_.threads.name.Pending(t));
    AscendTrack track;
    if (name == kPython) {
      track.role = AscendTrack::Role::kPython;
    } else if (name == "CANN") {
      track.role = AscendTrack::Role::kCalls;
      track.thread = ThreadOfCalls(t, process);
    } else if (name == kHardware) {
      const std::int64_t tid = NumberOr(store_.Text(store_.threads.tid.Pending(t)), -1);
      const std::int64_t stream = NumberOfStream(thread);
      track.role = AscendTrack::Role::kStream;
      track.stream = StreamOf(process, stream < 0 ? tid : stream);
    } else if (name == "Communication" || name == "HCCL") {
      // "Group 0 Communication" has the collectives, "Plane 0" their parts.
      const bool has_collectives = thread.find("Communication") != std::string_view::npos;
      track.role = has_collectives ? AscendTrack::Role::kCollectives : AscendTrack::Role::kDerived;
      constexpr std::int64_t kFirstNumber = 1'000'000;  // No stream of the device uses this number.
      if (has_collectives)
        track.stream = StreamOf(process, kFirstNumber + static_cast<std::int64_t>(t));
    } else if (!name.empty()) {
      track.role = AscendTrack::Role::kDerived;
    }
    return track;
  }

  /// Returns the thread of "Python" with the same number: calls nest in its operators.
  ThreadId ThreadOfCalls(std::size_t t, ProcessId process) {
    const auto python = python_.find(ProgramOf(process));
    if (python == python_.end()) return ThreadId(t);
    const auto same = python_threads_.find({python->second, store_.threads.tid.Pending(t)});
    if (same != python_threads_.end()) return same->second;
    store_.threads.process.MutablePending(t) = python->second;
    return ThreadId(t);
  }

  StreamId StreamOf(ProcessId process, std::int64_t number) {
    const auto device = hardware_.find(ProgramOf(process));
    return streams_.Of(device == hardware_.end() ? 0 : device->second, number);
  }

  std::string_view ArgOf(std::size_t row, std::string_view key) const {
    std::string_view value = FindMember(store_.Text(store_.host_events.args.Pending(row)), key);
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }

  /// Returns true if a task neither computes nor copies on its stream: it waits, records an event,
  /// or is the transfer of a collective. Collectives have a separate track.
  bool IsWait(std::size_t row) const {
    const auto waits = [this](std::string_view text) {
      constexpr std::size_t kLongest = 128;
      const std::string lower = LowerCase(text.substr(0, kLongest));
      return lower.starts_with("event_") || lower.starts_with("notify_") ||
             lower.starts_with("capture_") || lower.starts_with("write_value") ||
             lower.starts_with("place_holder") ||
             (has_collectives_ && (lower.starts_with("sdma") || lower.starts_with("rdma")));
    };
    return waits(ArgOf(row, "Task Type")) ||
           waits(store_.Text(store_.host_events.name.Pending(row)));
  }

  void AppendTask(std::size_t row, StreamId stream) {
    const auto& host = store_.host_events;
    const StringId name = host.name.Pending(row);
    const bool is_copy = ArgOf(row, "Task Type").find("MEMCPY") != std::string_view::npos ||
                         LowerCase(store_.Text(name).substr(0, 6)) == "memcpy";
    auto& tasks = store_.gpu_tasks;
    const std::size_t task = AppendUnknown(tasks);
    tasks.start.MutablePending(task) = host.start.Pending(row);
    tasks.duration.MutablePending(task) = host.duration.Pending(row);
    tasks.name.MutablePending(task) = name;
    tasks.stream.MutablePending(task) = stream;
    tasks.kind.MutablePending(task) = is_copy ? GpuTaskKind::kMemcpy : GpuTaskKind::kKernel;
    if (is_copy) tasks.copy.MutablePending(task) = CopyKindOf(store_.Text(name));
    tasks.correlation.MutablePending(task) = NumberOr(ArgOf(row, "connection_id"), kUnknown);
    tasks.args.MutablePending(task) = host.args.Pending(row);
  }

  void TellHostEvent(std::size_t row, const AscendTrack& track) {
    auto& host = store_.host_events;
    const auto tell = [&](HostEventKind kind, std::string_view category) {
      host.kind.MutablePending(row) = kind;
      host.category.MutablePending(row) = store_.strings.Intern(category);
    };
    const std::string_view name = store_.Text(host.name.Pending(row));
    switch (track.role) {
      case AscendTrack::Role::kPython:
        if (IsRangeOfPyTorch(name)) return tell(HostEventKind::kAnnotation, "user_annotation");
        if (name.find(".py(") != std::string_view::npos)
          return tell(HostEventKind::kPythonFrame, "python_function");
        // Skip events of the queue to the launching thread.
        if (name.starts_with("Enqueue") || name.starts_with("Dequeue")) return;
        return tell(HostEventKind::kOperator, "cpu_op");
      case AscendTrack::Role::kCalls:
        host.thread.MutablePending(row) = track.thread;
        host.correlation.MutablePending(row) = NumberOr(ArgOf(row, "connection_id"), kUnknown);
        return tell(HostEventKind::kRuntimeCall, "privateuse1_runtime");
      case AscendTrack::Role::kStream:
      case AscendTrack::Role::kCollectives:
      case AscendTrack::Role::kDerived:
        return tell(HostEventKind::kGpuAnnotation, "gpu_user_annotation");
      case AscendTrack::Role::kOther:
        return;
    }
  }

  TraceStore& store_;
  std::vector<AscendTrack> tracks_;
  std::map<std::int64_t, std::int64_t> hardware_;  ///< Device number by program.
  std::map<std::int64_t, ProcessId> python_;       ///< Process by program.
  std::map<std::pair<ProcessId, StringId>, ThreadId> python_threads_;  ///< Key: process, number.
  Streams streams_;
  bool has_collectives_ = false;
};

}  // namespace

void SettleAscendTracks(TraceStore& store) { AscendTracks(store).Settle(); }

}  // namespace headroom::kineto
