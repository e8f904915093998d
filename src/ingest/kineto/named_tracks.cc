#include "ingest/kineto/named_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"
#include "ingest/kineto/streams.h"
#include "ingest/names/category.h"
#include "ingest/names/range_names.h"
#include "ingest/names/rocm_kernels.h"
#include "store/args_text.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace {

enum class Exporter : std::uint8_t { kNone, kAutograd, kTensorFlow, kRocprof };

struct NamedTrack {
  enum class Role : std::uint8_t { kAsItIs, kOperators, kCalls, kRanges, kTasks, kDerived };
  Role role = Role::kAsItIs;
  std::string_view category;  ///< The category of calls.
  std::int64_t device = 0, stream = -1;
  bool has_copies = false;  ///< Its tasks are copies, regardless of their names.
  ThreadId thread;          ///< Thread of its host rows.
};

/// Returns the number that follows `word`, which is matched without regard to case.
std::optional<std::int64_t> NumberAfter(std::string_view text, std::string_view word) {
  const std::size_t at = LowerCase(text).find(word);
  if (at == std::string::npos) return std::nullopt;
  text.remove_prefix(at + word.size());
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// Returns "GPU0" for "6 GPU0".
std::string_view WithoutNumber(std::string_view name) {
  const std::string_view whole = name;
  while (!name.empty() && IsDigit(name.front())) name.remove_prefix(1);
  return name.size() < whole.size() && name.starts_with(' ') ? name.substr(1) : whole;
}

constexpr std::string_view kCompute = " Compute";

class NamedTracks {
 public:
  explicit NamedTracks(TraceStore& store)
      : store_(store), tracks_(store.threads.rows()), streams_(store) {}

  bool Settle() {
    exporter_ = FindExporter();
    if (exporter_ == Exporter::kNone) return false;
    for (const ThreadId thread : ThreadsInOrder()) tracks_[thread.index()] = TrackOf(thread);
    if (exporter_ == Exporter::kTensorFlow) {
      DeriveRepeated();
      FindNodes();
    } else {
      FindArrows();
    }
    MoveRows();
    AddLaunches();
    if (exporter_ == Exporter::kTensorFlow) store_.metadata.format = kTimelineFormat;
    if (exporter_ == Exporter::kRocprof) store_.metadata.format = kOldRocprofFormat;
    if (drawn_launches_ > 0) {
      store_.log.Add(ImportIssue::kNotCollected, -1,
                     "launches; each is placed where its operator begins");
    }
    return true;
  }

 private:
  using Place = std::pair<ThreadId, TimeNs>;
  struct Launch {
    Place place;
    bool is_used = false;
  };

  /// Sorts threads by their names in the file, because the order of rows may vary between readings.
  std::vector<ThreadId> ThreadsInOrder() const {
    const auto texts = [&](ThreadId thread) {
      const ProcessId process = store_.threads.process.Pending(thread.index());
      return std::pair(store_.Text(store_.processes.pid.Pending(process.index())),
                       store_.Text(store_.threads.tid.Pending(thread.index())));
    };
    std::vector<ThreadId> order;
    for (std::size_t row = 0; row < tracks_.size(); ++row) order.emplace_back(row);
    std::sort(order.begin(), order.end(),
              [&](ThreadId a, ThreadId b) { return texts(a) < texts(b); });
    return order;
  }

  std::string_view ProcessOf(ThreadId thread) const {
    const ProcessId process = store_.threads.process.Pending(thread.index());
    const std::string_view name = store_.Text(store_.processes.name.Pending(process.index()));
    return name.empty() ? store_.Text(store_.processes.pid.Pending(process.index())) : name;
  }

  Exporter FindExporter() const {
    // Checks all rows, because their order may vary between readings.
    bool has_functions = false, has_streams = false;
    bool has_calls = false, has_gpu = false, has_operators = false;
    for (std::size_t row = 0; row < store_.processes.rows(); ++row) {
      const std::string_view pid = store_.Text(store_.processes.pid.Pending(row));
      has_functions = has_functions || pid == "CUDA functions";
      const std::string_view name = store_.Text(store_.processes.name.Pending(row));
      if (name.ends_with(kCompute)) {
        has_streams = has_streams || name.find("/stream") != std::string_view::npos;
        has_operators = has_operators || name.starts_with("/job:");
      }
      const std::string_view plain = WithoutNumber(name);
      has_calls = has_calls || plain == "CPU HIP API" || plain == "CPU HSA API";
      has_gpu =
          has_gpu || plain == "COPY" || (plain.starts_with("GPU") && NumberAfter(plain, "gpu"));
    }
    if (has_functions) return Exporter::kAutograd;
    if (has_streams) return Exporter::kTensorFlow;
    if (has_calls && has_gpu) return Exporter::kRocprof;
    return has_operators ? Exporter::kTensorFlow : Exporter::kNone;
  }

  NamedTrack TrackOf(ThreadId thread) {
    NamedTrack track;
    track.thread = thread;
    const std::string_view name = ProcessOf(thread);
    switch (exporter_) {
      case Exporter::kAutograd:
        if (name != "CUDA functions") break;
        track.role = NamedTrack::Role::kTasks;
        track.device =
            NumberAfter(store_.Text(store_.threads.tid.Pending(thread.index())), "").value_or(0);
        track.stream = 0;
        break;
      case Exporter::kTensorFlow:
        TellTimeline(name, track);
        break;
      case Exporter::kRocprof:
        TellRocprof(WithoutNumber(name), track);
        break;
      case Exporter::kNone:
        break;
    }
    return track;
  }

  void TellTimeline(std::string_view name, NamedTrack& track) {
    if (!name.ends_with(kCompute)) return;
    track.device = NumberAfter(name, "gpu:").value_or(0);
    if (const auto stream = NumberAfter(name, "/stream:")) {
      track.role = NamedTrack::Role::kTasks;
      track.stream = *stream;
    } else if (const auto older = NumberAfter(name, "/stream#")) {
      track.role = NamedTrack::Role::kTasks;
      track.stream = *older;
    } else if (name.find("/stream:all") != std::string_view::npos) {
      track.role = NamedTrack::Role::kTasks;
      track.stream = kAllKernels;
    } else if (name.find("/memcpy") != std::string_view::npos) {
      track.role = NamedTrack::Role::kTasks;
      track.stream = kAllCopies;
      track.has_copies = true;
    } else {
      track.role = NamedTrack::Role::kOperators;
      MoveToProgram(name, track);
    }
  }

  /// Moves a lane to the program's process. A timeline has a process for each device and a thread
  /// for each lane; all belong to one program.
  void MoveToProgram(std::string_view name, const NamedTrack& track) {
    const std::size_t t = track.thread.index();
    if (!program_.valid()) program_ = store_.threads.process.Pending(t);
    if (store_.threads.process.Pending(t) == program_) return;
    store_.threads.process.MutablePending(t) = program_;
    store_.threads.tid.MutablePending(t) = store_.strings.Intern(
        fmt::format("{} {}", name, store_.Text(store_.threads.tid.Pending(t))));
  }

  void TellRocprof(std::string_view name, NamedTrack& track) {
    const auto on_host = [&](NamedTrack::Role role, std::string_view category) {
      track.role = role;
      track.category = category;
      // The file assigns HIP calls, HSA calls and ranges to several processes, but to the same
      // threads.
      const StringId tid = store_.threads.tid.Pending(track.thread.index());
      if (!program_.valid()) program_ = store_.threads.process.Pending(track.thread.index());
      track.thread = host_threads_.try_emplace(tid, track.thread).first->second;
      store_.threads.process.MutablePending(track.thread.index()) = program_;
    };
    if (name == "CPU HIP API") return on_host(NamedTrack::Role::kCalls, "hip_api");
    if (name == "CPU HSA API") return on_host(NamedTrack::Role::kCalls, "hsa_api");
    if (name == "Markers and Ranges") return on_host(NamedTrack::Role::kRanges, "marker_api");
    if (name == "COPY") {
      track.role = NamedTrack::Role::kTasks;
      track.has_copies = true;
    } else if (name.starts_with("GPU")) {
      track.role = NamedTrack::Role::kTasks;
      track.device = NumberAfter(name, "gpu").value_or(0);
    }
  }

  /// Tracks of all kernels or all copies of a device repeat the work of its streams. Marks them as
  /// derived if the streams have kernels or copies, respectively.
  void DeriveRepeated() {
    const auto& host = store_.host_events;
    std::set<std::pair<std::int64_t, bool>> in_streams;  // Key: device, true for copies.
    for (std::size_t row = 0; row < host.rows(); ++row) {
      const NamedTrack& track = TrackOfRow(row);
      if (track.role == NamedTrack::Role::kTasks && track.stream < kAllKernels)
        in_streams.insert({track.device, IsCopyName(store_.Text(host.name.Pending(row)))});
    }
    for (NamedTrack& track : tracks_) {
      if (track.role == NamedTrack::Role::kTasks && track.stream >= kAllKernels &&
          in_streams.contains({track.device, track.stream == kAllCopies})) {
        track.role = NamedTrack::Role::kDerived;
      }
    }
  }

  static bool IsCopyName(std::string_view name) {
    constexpr std::string_view kCopy = "memcpy";
    return LowerCase(name.substr(0, kCopy.size())) == kCopy;
  }

  std::string_view ArgOf(std::size_t row, std::string_view key) const {
    std::string_view value = FindMember(store_.Text(store_.host_events.args.Pending(row)), key);
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  const NamedTrack& TrackOfRow(std::size_t row) const {
    return tracks_[store_.host_events.thread.Pending(row).index()];
  }

  /// Records each operator as a possible launch of the GPU tasks with its node name. The first
  /// operator with a node name wins.
  void FindNodes() {
    const auto& host = store_.host_events;
    for (std::size_t row = 0; row < host.rows(); ++row) {
      if (TrackOfRow(row).role != NamedTrack::Role::kOperators) continue;
      const StringId node = store_.strings.Intern(ArgOf(row, "name"));
      nodes_.try_emplace(node, static_cast<std::int64_t>(launches_.size()));
      launches_.push_back({{host.thread.Pending(row), host.start.Pending(row)}});
    }
  }

  /// Records arrows from the host to tasks. Several can end at one moment, because nested operators
  /// can begin together; the arrow that begins last counts.
  void FindArrows() {
    const auto& flows = store_.flows;
    std::map<std::int64_t, Place> starts;
    for (std::size_t row = 0; row < flows.rows(); ++row) {
      const Place place = {flows.thread.Pending(row), flows.time.Pending(row)};
      if (flows.phase.Pending(row) == FlowPhase::kStart) starts[flows.id.Pending(row)] = place;
    }
    for (std::size_t row = 0; row < flows.rows(); ++row) {
      const ThreadId thread = flows.thread.Pending(row);
      const auto start = starts.find(flows.id.Pending(row));
      if (flows.phase.Pending(row) == FlowPhase::kStart || start == starts.end() ||
          tracks_[thread.index()].role != NamedTrack::Role::kTasks) {
        continue;
      }
      const Place from = {tracks_[start->second.first.index()].thread, start->second.second};
      const auto [it, is_new] = arrows_.try_emplace({thread, flows.time.Pending(row)},
                                                    static_cast<std::int64_t>(launches_.size()));
      if (is_new) {
        launches_.push_back({from});
      } else if (launches_[static_cast<std::size_t>(it->second)].place.second < from.second) {
        launches_[static_cast<std::size_t>(it->second)].place = from;
      }
    }
    for (std::size_t i = 0; i < launches_.size(); ++i)
      calls_.try_emplace(launches_[i].place, static_cast<std::int64_t>(i));
  }

  /// Returns one flag per host event: true if it is on a GPU track of the autograd profiler and
  /// contains another span.
  std::vector<bool> FindOuter() const {
    const auto& host = store_.host_events;
    std::vector<bool> outer(host.rows());
    if (exporter_ != Exporter::kAutograd) return outer;
    std::vector<std::size_t> rows;
    for (std::size_t row = 0; row < host.rows(); ++row) {
      if (TrackOfRow(row).role == NamedTrack::Role::kTasks) rows.push_back(row);
    }
    const auto key = [&](std::size_t row) {
      return std::tuple(host.thread.Pending(row), host.start.Pending(row),
                        -host.duration.Pending(row).ns());
    };
    std::stable_sort(rows.begin(), rows.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      const std::size_t row = rows[i], next = rows[i + 1];
      const TimeNs end = host.start.Pending(row) + host.duration.Pending(row);
      outer[row] = host.thread.Pending(row) == host.thread.Pending(next) &&
                   host.start.Pending(next) < end &&
                   host.start.Pending(next) + host.duration.Pending(next) <= end;
    }
    return outer;
  }

  void MoveRows() {
    auto& host = store_.host_events;
    const std::vector<bool> outer = FindOuter();
    HostEventColumns<Column> kept;
    for (std::size_t row = 0; row < host.rows(); ++row) {
      const NamedTrack& track = TrackOfRow(row);
      const bool has_category = host.kind.Pending(row) != HostEventKind::kOther;
      if (!has_category && track.role == NamedTrack::Role::kTasks && !outer[row]) {
        AppendTask(row, track);
        continue;
      }
      if (!has_category) TellHostEvent(row, track, kept.rows());
      const auto copy = [row](auto& to, const auto& from) {
        if (from.size() > row) to.Append(from.Pending(row));  // Computed columns have no rows yet.
      };
      kept.ForEachColumnPair(host, copy);
    }
    host = std::move(kept);
    ranges_.Mark(store_);
  }

  /// Returns the index in launches_ of a task's launch, or kUnknown.
  std::int64_t LaunchOf(std::size_t row) {
    const auto& host = store_.host_events;
    if (exporter_ == Exporter::kTensorFlow) {
      const auto node = nodes_.find(store_.strings.Intern(ArgOf(row, "name")));
      return node == nodes_.end() ? kUnknown : node->second;
    }
    const auto arrow = arrows_.find({host.thread.Pending(row), host.start.Pending(row)});
    return arrow == arrows_.end() ? kUnknown : arrow->second;
  }

  void AppendTask(std::size_t row, const NamedTrack& track) {
    const auto& host = store_.host_events;
    StringId name = host.name.Pending(row);
    const std::string_view kernel = ArgOf(row, "kernel");
    if (!kernel.empty()) name = store_.strings.Intern(kernel);
    std::int64_t device = track.device, stream = track.stream;
    if (exporter_ == Exporter::kRocprof) {
      device = NumberAfter(ArgOf(row, "dev-id"), "").value_or(device);
      for (const std::string_view key : {"queue-id", "stream-id"})
        stream = NumberAfter(ArgOf(row, key), "").value_or(stream);
    }
    const std::string_view text = store_.Text(name);
    GpuTaskKind kind = KindOfRocmKernel(text);
    if (IsCopyName(text) || track.has_copies) kind = GpuTaskKind::kMemcpy;
    auto& tasks = store_.gpu_tasks;
    const std::size_t task = AppendUnknown(tasks);
    tasks.start.MutablePending(task) = host.start.Pending(row);
    tasks.duration.MutablePending(task) = host.duration.Pending(row);
    tasks.name.MutablePending(task) = name;
    tasks.stream.MutablePending(task) = streams_.Of(device, stream);
    tasks.kind.MutablePending(task) = kind;
    if (kind == GpuTaskKind::kMemcpy) tasks.copy.MutablePending(task) = CopyKindOf(text);
    tasks.args.MutablePending(task) = host.args.Pending(row);
    const std::int64_t launch = LaunchOf(row);
    if (launch == kUnknown) return;
    launches_[static_cast<std::size_t>(launch)].is_used = true;
    tasks.correlation.MutablePending(task) = launch + 1;
  }

  /// Sets the kind, category and thread of a host event.
  /// @param kept  row of the event after tasks are removed
  void TellHostEvent(std::size_t row, const NamedTrack& track, std::size_t kept) {
    auto& host = store_.host_events;
    const auto tell = [&](HostEventKind kind, std::string_view category) {
      host.kind.MutablePending(row) = kind;
      host.category.MutablePending(row) = store_.strings.Intern(category);
      host.thread.MutablePending(row) = track.thread;
    };
    switch (track.role) {
      case NamedTrack::Role::kOperators:
        return tell(HostEventKind::kOperator, "cpu_op");
      case NamedTrack::Role::kCalls: {
        tell(HostKindOf(RuleOfCategory(track.category)), track.category);
        const auto call = calls_.find({track.thread, host.start.Pending(row)});
        if (call != calls_.end()) host.correlation.MutablePending(row) = call->second + 1;
        return;
      }
      case NamedTrack::Role::kRanges:
        tell(HostEventKind::kAnnotation, track.category);
        return ranges_.Note(kept, store_.Text(host.name.Pending(row)));
      case NamedTrack::Role::kTasks:
      case NamedTrack::Role::kDerived:
        return tell(HostEventKind::kGpuAnnotation, "gpu_user_annotation");
      case NamedTrack::Role::kAsItIs:
        return;
    }
  }

  /// Adds the launches that a profiler did not record.
  void AddLaunches() {
    if (exporter_ == Exporter::kRocprof) return;
    auto& host = store_.host_events;
    const StringId name = store_.strings.Intern("(launch)");
    const StringId category = store_.strings.Intern("cuda_runtime");
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      const Launch& launch = launches_[i];
      if (!launch.is_used) continue;
      const std::size_t row = AppendUnknown(host);
      host.start.MutablePending(row) = launch.place.second;
      host.duration.MutablePending(row) = DurationNs(0);
      host.name.MutablePending(row) = name;
      host.category.MutablePending(row) = category;
      host.thread.MutablePending(row) = launch.place.first;
      host.kind.MutablePending(row) = HostEventKind::kRuntimeCall;
      host.correlation.MutablePending(row) = static_cast<std::int64_t>(i) + 1;
      ++drawn_launches_;
    }
  }

  // Numbers that no stream has.
  static constexpr std::int64_t kAllKernels = 1'000'000, kAllCopies = 1'000'001;

  TraceStore& store_;
  Exporter exporter_ = Exporter::kNone;
  std::vector<NamedTrack> tracks_;
  Streams streams_;
  ProcessId program_;
  std::map<StringId, ThreadId> host_threads_;  ///< Threads of the program, by number.
  std::vector<Launch> launches_;               ///< The correlation id is the position here, plus 1.
  std::map<Place, std::int64_t> arrows_;       ///< Launch index by the start of a task.
  std::map<Place, std::int64_t> calls_;        ///< Launch index by the start of a call.
  std::map<StringId, std::int64_t> nodes_;     ///< Launch index by the name of a node.
  NamedRanges ranges_;
  std::int64_t drawn_launches_ = 0;
};

}  // namespace

bool SettleNamedTracks(TraceStore& store) { return NamedTracks(store).Settle(); }

}  // namespace headroom::kineto
