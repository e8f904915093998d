#include "analysis/loop/timings.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/statistics.h"

namespace headroom {
namespace {

// Range names that identify loop parts without a role in the rules.
constexpr std::string_view kTrainBatch[] = {"train_batch"};
constexpr std::string_view kFromDevice[] = {"from_device"};
constexpr std::string_view kReduceMetrics[] = {"reduce_metrics", "average_training_metrics"};
constexpr std::string_view kSchedulers[] = {"step_lr_schedulers"};

bool IsOfProcess(const TraceStore& store, ProcessId process, HostEventId event) {
  return !process.valid() ||
         store.threads.process[store.host_events.thread[event.index()].index()] == process;
}

/// Returns the times at which ranges of these names are open in the process.
IntervalSet RangesNamed(const TraceStore& store, ProcessId process,
                        std::span<const std::string_view> wanted) {
  std::vector<StringId> ids;
  for (std::size_t i = 0; i < store.strings.size(); ++i) {
    const std::string_view text = store.strings.Get(StringId(i));
    if (std::find(wanted.begin(), wanted.end(), text) != wanted.end()) ids.emplace_back(i);
  }
  if (ids.empty()) return {};
  const auto& events = store.host_events;
  std::vector<Interval> found;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kAnnotation &&
        std::find(ids.begin(), ids.end(), events.name[row]) != ids.end() &&
        IsOfProcess(store, process, HostEventId(row))) {
      found.push_back({events.start[row], store.HostEnd(HostEventId(row))});
    }
  }
  return IntervalSet::UnionOf(std::move(found));
}

/// Returns the times of operators that copy in this direction, and of copy calls outside operators.
IntervalSet CopyingCalls(const TraceStore& store, const Attribution& attribution, ProcessId process,
                         CopyKind direction) {
  const auto& tasks = store.gpu_tasks;
  std::vector<Interval> found;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (tasks.copy[i] != direction || !launch.valid() || !IsOfProcess(store, process, launch))
      continue;
    const HostEventId op = attribution.Of(launch).op;
    const HostEventId from = op.valid() ? op : launch;
    found.push_back({store.host_events.start[from.index()], store.HostEnd(from)});
  }
  return IntervalSet::UnionOf(std::move(found));
}

/// Rows in the order of the table.
enum Part : std::size_t {
  kLoader,
  kToDevice,
  kTrain,
  kForward,
  kBackward,
  kOptimizer,
  kSync,
  kScheduler,
  kFromDevicePart,
  kReduce,
  kCallbacks,
  kOther,
  kParts
};

struct PartName {
  std::string_view name, inside, source;
};

constexpr std::array<PartName, kParts> kNames = {
    {{"dataloader_next", "", "ranges"},
     {"to_device", "", "ranges"},
     {"train_batch", "", "ranges"},
     {"train_batch.forward", "train_batch", ""},
     {"train_batch.backward", "train_batch", ""},
     {"train_batch.optimizer", "train_batch", ""},
     {"train_batch.sync_optimizers", "train_batch", ""},
     {"step_lr_schedulers", "", "ranges"},
     {"from_device", "", "ranges"},
     {"reduce_metrics", "", "ranges"},
     {"callbacks", "", "ranges"},
     {"other", "", "rest"}}};

/// The host's time in the steps, by part. Parts within train_batch are portions of it; all others
/// are disjoint.
struct Split {
  std::array<IntervalSet, kParts> time;
  std::array<std::string_view, kParts> source;
};

Split SplitSteps(const TraceStore& store, const Attribution& attribution, const StepAnalysis& steps,
                 const HostActivity& host, const IntervalSet& in_steps) {
  Split split;
  for (std::size_t part = 0; part < kParts; ++part) split.source[part] = kNames[part].source;
  IntervalSet left = in_steps;
  const auto take = [&](Part part, const IntervalSet& from) {
    split.time[part] = Intersect(left, from);
    left = Subtract(left, split.time[part]);
  };
  const auto take_copies = [&](Part part, const IntervalSet& ranges, CopyKind direction) {
    if (!ranges.empty()) return take(part, ranges);
    take(part, CopyingCalls(store, attribution, steps.process, direction));
    split.source[part] = "calls";
  };
  take(kCallbacks, host.callback);
  take(kLoader, host.data_wait);
  take_copies(kToDevice, host.host_to_device, CopyKind::kHostToDevice);
  take_copies(kFromDevicePart, RangesNamed(store, steps.process, kFromDevice),
              CopyKind::kDeviceToHost);
  take(kReduce, RangesNamed(store, steps.process, kReduceMetrics));
  take(kScheduler, RangesNamed(store, steps.process, kSchedulers));

  const std::pair<Part, const IntervalSet*> phases[] = {{kForward, &host.forward},
                                                        {kBackward, &host.backward},
                                                        {kOptimizer, &host.optimizer},
                                                        {kSync, &host.communication}};
  IntervalSet train = RangesNamed(store, steps.process, kTrainBatch);
  if (train.empty()) {
    for (const auto& [part, time] : phases) train = Unite(train, *time);
    split.source[kTrain] = "its parts";
  }
  take(kTrain, train);
  for (const auto& [part, time] : phases) split.time[part] = Intersect(split.time[kTrain], *time);
  split.time[kOther] = std::move(left);
  return split;
}

/// Returns "ranges" if a range marks the phase, else "operators".
std::string_view SourceOf(const TraceStore& store, const Attribution& attribution, Phase phase) {
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kAnnotation ||
        attribution.Of(HostEventId(row)).phase != phase)
      continue;
    const HostEventId parent = events.parent[row];
    if (!parent.valid() || attribution.Of(parent).phase != phase) return "ranges";
  }
  return "operators";
}

/// GPU time by part. A task counts for the part in which it was launched.
class GpuSplit {
 public:
  explicit GpuSplit(const Split& split) {
    for (std::size_t part = 0; part < kParts; ++part) {
      IntervalSet own = split.time[part];
      if (part == kTrain) {
        for (const Part inner : {kForward, kBackward, kOptimizer, kSync})
          own = Subtract(own, split.time[inner]);
      }
      for (const Interval& time : own.intervals()) pieces_.push_back({time, part});
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.time.start < b.time.start; });
  }

  void Add(TimeNs launch, Interval ran) {
    // Tasks are in order of time, and launches almost in order.
    const auto holds = [&](std::size_t at) {
      return at < pieces_.size() && pieces_[at].time.start <= launch &&
             launch < pieces_[at].time.end;
    };
    if (!holds(at_) && !holds(++at_)) {
      const auto after = std::partition_point(
          pieces_.begin(), pieces_.end(), [&](const Piece& p) { return p.time.start <= launch; });
      if (after == pieces_.begin()) return void(at_ = 0);
      at_ = static_cast<std::size_t>(after - pieces_.begin()) - 1;
      if (!holds(at_)) return;
    }
    const std::size_t part = pieces_[at_].part;
    ran_[part].AppendInOrder(ran);
    if (kNames[part].inside == kNames[kTrain].name) ran_[kTrain].AppendInOrder(ran);
  }

  DurationNs Of(std::size_t part) const { return ran_[part].Measure(); }

 private:
  struct Piece {
    Interval time;
    std::size_t part;
  };
  std::vector<Piece> pieces_;  ///< Disjoint, by time.
  std::size_t at_ = 0;
  std::array<IntervalSet, kParts> ran_;
};

/// Returns the GPU time that GPU events measured for ranges of this name, or nullopt.
std::optional<DurationNs> TimedByEvents(const TraceStore& store, std::string_view name) {
  const auto& events = store.host_events;
  std::vector<Interval> found;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kGpuAnnotation && store.Text(events.name[row]) == name &&
        store.Text(events.category[row]) == "gpu_region")
      found.push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }
  if (found.empty()) return std::nullopt;
  return IntervalSet::UnionOf(std::move(found)).Measure();
}

TimingRow Describe(std::size_t part, const Split& split, std::span<const Interval> hosts,
                   DurationNs in_steps) {
  TimingRow row;
  row.name = kNames[part].name;
  row.inside = kNames[part].inside;
  row.source = split.source[part];
  std::vector<DurationNs> per_step;
  for (const Interval& host : hosts) {
    const DurationNs time = split.time[part].MeasureWithin(host);
    row.total += time;
    if (time.ns() > 0) per_step.push_back(time);
  }
  row.share_pct = SharePct(row.total, in_steps);
  row.count = static_cast<std::int64_t>(per_step.size());
  if (per_step.empty()) return row;
  std::sort(per_step.begin(), per_step.end());
  row.mean = DurationNs((row.total.ns() + row.count / 2) / row.count);
  row.p50 = SortedPercentile(per_step, 50);
  row.p99 = SortedPercentile(per_step, 99);
  return row;
}

/// Returns the whole steps on the host's clock.
std::vector<Interval> HostsOf(const StepAnalysis& steps) {
  std::vector<Interval> hosts;
  for (std::size_t i = 0; i < steps.hosts.size(); ++i) {
    if (steps.steps.list[i].Counts()) hosts.push_back(steps.hosts[i]);
  }
  return hosts;
}

}  // namespace

std::optional<Interval> ExtentOfSteps(const StepAnalysis& steps) {
  const std::vector<Interval> hosts = HostsOf(steps);
  if (hosts.empty()) return std::nullopt;
  return Interval{hosts.front().start, hosts.back().end};
}

std::vector<TimingRow> TimingTable(const TraceStore& store, const Attribution& attribution,
                                   const StepAnalysis& steps, const HostActivity& host) {
  const std::vector<Interval> hosts = HostsOf(steps);
  const IntervalSet in_steps = IntervalSet::UnionOf(hosts);
  Split split = SplitSteps(store, attribution, steps, host, in_steps);
  if (split.time[kOther].Measure() == in_steps.Measure()) return {};
  const std::pair<Part, Phase> phases[] = {{kForward, Phase::kForward},
                                           {kBackward, Phase::kBackward},
                                           {kOptimizer, Phase::kOptimizer},
                                           {kSync, Phase::kCommunication}};
  for (const auto& [part, phase] : phases) split.source[part] = SourceOf(store, attribution, phase);

  GpuSplit gpu(split);
  const auto& tasks = store.gpu_tasks;
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (steps.step_of_task[i] == StepAnalysis::kNoStep || !tasks.launch[i].valid()) continue;
    gpu.Add(store.host_events.start[tasks.launch[i].index()],
            {tasks.start[i], store.TaskEnd(GpuTaskId(i))});
  }

  std::vector<TimingRow> rows;
  for (std::size_t part = 0; part < kParts; ++part) {
    TimingRow row = Describe(part, split, hosts, in_steps.Measure());
    if (row.total.ns() == 0 && part != kOther) continue;
    if (tasks.rows() > 0) {
      row.gpu = gpu.Of(part);
    } else {
      row.gpu = TimedByEvents(store, row.name);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::optional<InputWait> MeasureInputWait(const TraceStore& store, const Attribution& attribution,
                                          const StepAnalysis& steps, const HostActivity& host) {
  const auto& events = store.host_events;
  InputWait wait;
  const auto mean = [](DurationNs sum, std::int64_t count) {
    return DurationNs((sum.ns() + count / 2) / count);
  };
  DurationNs exposed, on_host;
  std::int64_t timed = 0, waits = 0;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] == HostEventKind::kGpuAnnotation) {
      if (store.Text(events.name[row]) != "input_wait" ||
          store.Text(events.category[row]) != "gpu_region")
        continue;
      exposed += events.duration[row];
      ++timed;
    } else if (events.kind[row] == HostEventKind::kAnnotation &&
               attribution.Of(HostEventId(row)).phase == Phase::kDataWait) {
      const HostEventId outer = events.parent[row];
      if (outer.valid() && attribution.Of(outer).phase == Phase::kDataWait) continue;
      on_host += events.duration[row];
      ++waits;
    }
  }
  if (timed > 0 && waits > 0) {
    // A wait lacks its pair of events if the event pool was empty. So this compares means, not
    // sums.
    wait.source = "gpu-events";
    wait.batches = timed;
    wait.exposed = mean(exposed, timed);
    wait.host = std::max(mean(on_host, waits), wait.exposed);
    wait.hidden = wait.host - wait.exposed;
    return wait;
  }
  if (store.gpu_tasks.rows() == 0) return std::nullopt;
  const IntervalSet unexposed = Intersect(host.data_wait, steps.busy);
  DurationNs hidden;
  on_host = DurationNs(0);
  for (const Interval& step : HostsOf(steps)) {
    const DurationNs of_step = host.data_wait.MeasureWithin(step);
    if (of_step.ns() == 0) continue;
    ++wait.batches;
    on_host += of_step;
    hidden += unexposed.MeasureWithin(step);
  }
  if (wait.batches == 0) return std::nullopt;
  wait.source = "gpu-tasks";
  wait.host = mean(on_host, wait.batches);
  wait.exposed = std::min(mean(on_host - hidden, wait.batches), wait.host);
  wait.hidden = wait.host - wait.exposed;
  return wait;
}

}  // namespace headroom
