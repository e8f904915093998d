#include "serve/timeline/trace_tracks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "serve/timeline/idle_parts.h"
#include "serve/timeline/track_names.h"
#include "sim/critical_path.h"

namespace headroom {
namespace {

std::uint16_t StyleOf(HostEventKind kind) {
  switch (kind) {
    case HostEventKind::kPythonFrame:
      return static_cast<std::uint16_t>(SpanStyle::kPythonFrame);
    case HostEventKind::kAnnotation:
    case HostEventKind::kGpuAnnotation:
      return static_cast<std::uint16_t>(SpanStyle::kAnnotation);
    case HostEventKind::kOperator:
      return static_cast<std::uint16_t>(SpanStyle::kOperator);
    case HostEventKind::kRuntimeCall:
    case HostEventKind::kDriverCall:
      return static_cast<std::uint16_t>(SpanStyle::kApiCall);
    case HostEventKind::kOverhead:
      return static_cast<std::uint16_t>(SpanStyle::kOverhead);
    case HostEventKind::kOther:
      return static_cast<std::uint16_t>(SpanStyle::kOther);
  }
  return static_cast<std::uint16_t>(SpanStyle::kOther);
}

constexpr auto kNoLaneAbove = [](std::size_t, const std::vector<std::uint32_t>&) {
  return std::size_t{0};
};

std::vector<std::uint32_t> Rows(std::uint32_t first, std::uint32_t last) {
  std::vector<std::uint32_t> rows(last - first);
  std::iota(rows.begin(), rows.end(), first);
  return rows;
}

}  // namespace

TraceTracks::TraceTracks(const TraceStore& store, NameFacts& names, const Job* job)
    : store_(store), own_first_name_(static_cast<std::uint32_t>(store.strings.size())) {
  MakeTables(names);
  if (job != nullptr) AddCriticalPath(*job);
  AddStreams();
  AddThreads();
  AddCounters();
  AddMemory();
  set_.FindRange();
}

void TraceTracks::MakeTables(NameFacts& names) {
  const auto& events = store_.host_events;
  host_ = &set_.AddTable();
  host_->start = events.start.values();
  host_->duration = events.duration.values();
  host_->name = events.name.values();
  host_->names = &store_.strings;
  host_->style.resize(events.rows());
  for (std::size_t i = 0; i < events.rows(); ++i) host_->style[i] = StyleOf(events.kind[i]);
  const auto& tasks = store_.gpu_tasks;
  gpu_ = &set_.AddTable();
  gpu_->start = tasks.start.values();
  gpu_->duration = tasks.duration.values();
  gpu_->name = tasks.name.values();
  gpu_->names = &store_.strings;
  gpu_->style.resize(tasks.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const SpanStyle style = tasks.kind[i] != GpuTaskKind::kKernel  ? SpanStyle::kCopy
                            : names.IsCommunication(tasks.name[i]) ? SpanStyle::kCommunication
                                                                   : SpanStyle::kCompute;
    gpu_->style[i] = static_cast<std::uint16_t>(style);
  }
  host_lane_.resize(events.rows());
  gpu_lane_.resize(tasks.rows());
}

/// Adds each task of the path at its recorded time. Gaps between tasks are work or waits without an
/// event.
void TraceTracks::AddCriticalPath(const Job& job) {
  Replayer replayer;
  replayer.Run(job.corrected());
  OwnSpans& own = set_.AddOwn();
  std::vector<std::pair<TimeNs, TaskIndex>> path;
  for (const CriticalLink& link : FindCriticalPath(job.corrected(), replayer)) {
    const Task& task = job.graph().tasks[link.task];
    if (task.kind != TaskKind::kReturn) path.emplace_back(task.start, link.task);
  }
  if (path.empty()) return;
  std::sort(path.begin(), path.end());
  // The job may cover only a part of the trace. Its store then has other row numbers.
  for (const auto& [start, index] : path) {
    const Task& task = job.graph().tasks[index];
    const bool on_gpu = task.kind == TaskKind::kGpu;
    const SpanStyle style = !on_gpu ? SpanStyle::kApiCall
                            : job.store().gpu_tasks.kind[task.row] != GpuTaskKind::kKernel
                                ? SpanStyle::kCopy
                            : job.IsCollective(GpuTaskId(task.row)) ? SpanStyle::kCommunication
                                                                    : SpanStyle::kCompute;
    own.Add(start,
            on_gpu ? job.store().gpu_tasks.duration[task.row]
                   : job.store().host_events.duration[task.row],
            set_.own_names.Intern(job.NameOf(index)), static_cast<std::uint32_t>(style));
  }
  own.Seal(set_.own_names, own_first_name_);
  set_.AddLanes({.kind = TrackKind::kCriticalPath, .name = "critical path"}, own.table,
                Rows(0, static_cast<std::uint32_t>(path.size())), DurationNs(), kNoLaneAbove);
}

/// Intervals in which any stream of a device works.
struct TraceTracks::DeviceTime {
  IntervalSet busy;
  std::size_t streams = 0;
  DurationNs shortest_pause = {};  ///< Shortest pause that splits the idle time of its streams.
};

std::vector<TraceTracks::DeviceTime> TraceTracks::FindDeviceTime() const {
  // Without this limit, every pause of the device would split each stream's idle time. In a trace
  // with many streams, most spans would be pieces of idle time.
  constexpr std::size_t kMaxCuts = 1'000'000;
  std::vector<DeviceTime> devices(store_.devices.rows());
  const auto device_of = [&](StreamId stream) -> DeviceTime& {
    return devices[store_.streams.device[stream.index()].index()];
  };
  for (std::size_t s = 0; s < store_.streams.rows(); ++s) {
    if (!store_.TasksOf(StreamId(s)).empty()) ++device_of(StreamId(s)).streams;
  }
  const auto& tasks = store_.gpu_tasks;  // Sorted by start.
  for (std::size_t i = 0; i < tasks.rows(); ++i)
    device_of(tasks.stream[i]).busy.AppendInOrder({tasks.start[i], store_.TaskEnd(GpuTaskId(i))});
  const std::size_t most = std::max(kMaxCuts, tasks.rows());
  for (DeviceTime& device : devices) {
    if (device.streams > 0)
      device.shortest_pause = ShortestOfLongest(device.busy, most / device.streams);
  }
  return devices;
}

void TraceTracks::AddStreams() {
  std::vector<StreamId> streams;
  for (std::size_t s = 0; s < store_.streams.rows(); ++s) {
    if (!store_.TasksOf(StreamId(s)).empty()) streams.emplace_back(s);
  }
  const auto number = [&](StreamId stream) {
    return std::pair(store_.devices.ordinal[store_.streams.device[stream.index()].index()],
                     store_.streams.number[stream.index()]);
  };
  std::stable_sort(streams.begin(), streams.end(),
                   [&](StreamId a, StreamId b) { return number(a) < number(b); });
  const std::vector<DeviceTime> devices = FindDeviceTime();
  for (const StreamId stream : streams) {
    const std::span<const GpuTaskId> tasks = store_.TasksOf(stream);
    std::vector<std::uint32_t> rows;
    rows.reserve(tasks.size());
    for (const GpuTaskId task : tasks) rows.push_back(task.index());
    const std::vector<std::uint32_t> lanes = set_.AddLanes({.kind = TrackKind::kStream,
                                                            .name = StreamTitle(store_, stream),
                                                            .group = DeviceTitle(store_, stream)},
                                                           *gpu_, rows, DurationNs(), kNoLaneAbove);
    for (std::size_t i = 0; i < rows.size(); ++i)
      gpu_lane_[rows[i]] = set_.tracks.back().first_lane + lanes[i];
    AddIdle(stream, devices[store_.streams.device[stream.index()].index()]);
  }
}

/// Uses the causes of ComputeIdle() for time in which the whole device idles. Idle time while
/// another stream works costs nothing, so it gets no cause.
void TraceTracks::AddIdle(StreamId stream, const DeviceTime& device) {
  const auto& tasks = store_.gpu_tasks;
  OwnSpans& own = set_.AddOwn();
  const StringId for_host = set_.own_names.Intern("idle: launched too late");
  const StringId for_others = set_.own_names.Intern("idle: waits for other GPU work");
  const StringId unknown = set_.own_names.Intern("idle: no launch recorded");
  const StringId others_work = set_.own_names.Intern("idle: another stream works");
  IdleCutter cutter(device.busy, device.shortest_pause);
  const std::span<const GpuTaskId> of_stream = store_.TasksOf(stream);
  TimeNs busy_until = store_.TaskEnd(of_stream.front());
  for (const GpuTaskId task : of_stream.subspan(1)) {
    const TimeNs start = tasks.start[task.index()];
    if (start > busy_until) {
      const HostEventId launch = tasks.launch[task.index()];
      const bool late = launch.valid() && store_.host_events.start[launch.index()] > busy_until;
      const SpanStyle style = !launch.valid() ? SpanStyle::kIdleUnknown
                              : late          ? SpanStyle::kIdleForHost
                                              : SpanStyle::kIdleForOthers;
      const StringId name = !launch.valid() ? unknown : (late ? for_host : for_others);
      for (const auto& [span, others] : cutter.Cut({busy_until, start})) {
        own.Add(span.start, span.length(), others ? others_work : name,
                static_cast<std::uint32_t>(others ? SpanStyle::kIdleOthersWork : style));
      }
    }
    busy_until = std::max(busy_until, store_.TaskEnd(task));
  }
  own.Seal(set_.own_names, own_first_name_);
  if (!own.start.empty())
    set_.AddLane(own.table, Rows(0, static_cast<std::uint32_t>(own.start.size())));
}

void TraceTracks::AddThreads() {
  std::vector<ThreadId> threads;
  const auto events_of = [&](ThreadId thread) {
    const TraceStore::RowRange range = store_.HostEventsOf(thread);
    return range.last - range.first;
  };
  for (std::size_t t = 0; t < store_.threads.rows(); ++t) {
    if (ThreadId(t) == store_.replay_thread())
      continue;  // The host did not run these events at their times.
    if (events_of(ThreadId(t)) > 0) threads.emplace_back(t);
  }
  // Processes are ordered by their busiest thread.
  std::map<std::uint32_t, std::uint32_t> most;
  const auto process_of = [&](ThreadId thread) {
    return store_.threads.process[thread.index()].index();
  };
  for (const ThreadId thread : threads) {
    std::uint32_t& events = most[process_of(thread)];
    events = std::max(events, events_of(thread));
  }
  const auto key = [&](ThreadId thread) {
    return std::tuple(-static_cast<std::int64_t>(most[process_of(thread)]), process_of(thread),
                      -static_cast<std::int64_t>(events_of(thread)), thread.index());
  };
  std::sort(threads.begin(), threads.end(),
            [&](ThreadId a, ThreadId b) { return key(a) < key(b); });
  const auto& events = store_.host_events;
  set_.ranges_of_threads.resize(store_.strings.size());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kAnnotation)
      set_.ranges_of_threads[events.name[row].index()] = true;
  }
  for (const ThreadId thread : threads) {
    const TraceStore::RowRange range = store_.HostEventsOf(thread);
    // A nested span goes below its parent.
    const auto below_parent = [&](std::size_t i, const std::vector<std::uint32_t>& lane_of) {
      const HostEventId parent = events.parent[range.first + i];
      return parent.valid() ? std::size_t{lane_of[parent.index() - range.first]} + 1 : 0;
    };
    std::vector<std::uint32_t> rows = Rows(range.first, range.last);
    const bool on_gpu = std::all_of(rows.begin(), rows.end(), [&](std::uint32_t row) {
      return events.kind[row] == HostEventKind::kGpuAnnotation;
    });
    const std::vector<std::uint32_t> lanes =
        set_.AddLanes({.kind = TrackKind::kThread,
                       .name = ThreadTitle(store_, thread),
                       .group = ProcessTitle(store_, thread),
                       .has_gpu_ranges = on_gpu},
                      *host_, std::move(rows), store_.HostTolerance(), below_parent);
    for (std::size_t i = 0; i < lanes.size(); ++i)
      host_lane_[range.first + i] = set_.tracks.back().first_lane + lanes[i];
  }
}

namespace {

/// Samples of one curve, in order of time.
struct Curve {
  std::vector<std::pair<TimeNs, double>> samples;
  StringId name;
  std::string unit;
};

/// Adds a track for the curve. Each sample is valid until the next one. Skips NaN and infinite
/// values.
void AddCurve(TrackSet& set, Curve& curve, std::string name, std::string group,
              std::uint32_t own_first_name) {
  std::erase_if(curve.samples, [](const auto& sample) { return !std::isfinite(sample.second); });
  if (curve.samples.empty()) return;
  std::stable_sort(curve.samples.begin(), curve.samples.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  OwnSpans& own = set.AddOwn();
  double minimum = 0, maximum = 0;
  const StringId label = set.own_names.Intern(name);
  for (std::size_t i = 0; i < curve.samples.size(); ++i) {
    const auto& [time, value] = curve.samples[i];
    const TimeNs until = i + 1 < curve.samples.size() ? curve.samples[i + 1].first : time;
    own.Add(time, until - time, label, static_cast<std::uint32_t>(SpanStyle::kCounter));
    own.value.push_back(value);
    minimum = std::min(minimum, value);
    maximum = std::max(maximum, value);
  }
  own.Seal(set.own_names, own_first_name);
  set.AddLanes({.kind = TrackKind::kCounter,
                .name = std::move(name),
                .group = std::move(group),
                .minimum = minimum,
                .maximum = maximum,
                .unit = curve.unit},
               own.table, Rows(0, static_cast<std::uint32_t>(own.start.size())), DurationNs(),
               kNoLaneAbove);
}

}  // namespace

void TraceTracks::AddCounters() {
  const auto& counters = store_.counters;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Curve> curves;
  for (std::size_t i = 0; i < counters.rows(); ++i) {
    Curve& curve =
        curves[{counters.thread[i].index(), counters.name[i].index(), counters.series[i].index()}];
    curve.samples.emplace_back(counters.time[i], counters.value[i]);
    curve.unit = store_.Text(counters.unit[i]);
  }
  for (auto& [key, curve] : curves) {
    const auto& [thread, name, series] = key;
    std::string text(store_.Text(StringId(name)));
    const std::string_view of_series = store_.Text(StringId(series));
    if (!of_series.empty() && of_series != "value") text += fmt::format(" {}", of_series);
    AddCurve(set_, curve, std::move(text), "counters", own_first_name_);
  }
}

void TraceTracks::AddMemory() {
  const auto& events = store_.memory_events;
  std::map<std::pair<std::int32_t, std::int32_t>, Curve> curves;
  for (std::size_t i = 0; i < events.rows(); ++i) {
    if (events.total_allocated_bytes[i] == kUnknown) continue;
    Curve& curve = curves[{events.device_type[i], events.device[i]}];
    curve.samples.emplace_back(events.time[i],
                               static_cast<double>(events.total_allocated_bytes[i]));
    curve.unit = "bytes";
  }
  for (auto& [key, curve] : curves) {
    const bool host = key.first == 0;
    AddCurve(set_, curve,
             host ? "host memory allocated" : fmt::format("GPU {} memory allocated", key.second),
             "memory", own_first_name_);
  }
}

}  // namespace headroom
