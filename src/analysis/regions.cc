#include "analysis/regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "analysis/time_inside.h"
#include "base/interval_set.h"
#include "base/statistics.h"

namespace headroom {
namespace {

/// The ranges of a trace that are regions, and how they lie in each other.
class RegionTree {
 public:
  RegionTree(const TraceStore& store, NameFacts& names, const Attribution& attribution)
      : store_(store), attribution_(attribution) {
    const auto& events = store.host_events;
    for (const HostEventId step : store.steps.event.values()) {
      if (step.valid()) steps_.insert(step);
    }
    for (std::size_t row = 0; row < events.rows(); ++row) {
      if (IsRegion(row, names)) regions_.emplace_back(row);
    }
    if (regions_.empty()) return;
    innermost_.resize(events.rows());
    auto next = regions_.begin();
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId parent = events.parent[row];
      if (parent.valid()) innermost_[row] = innermost_[parent.index()];
      if (next == regions_.end() || next->index() != row) continue;
      innermost_[row] = *next++;
    }
    FindLoop();
  }

  /// In order of their rows.
  const std::vector<HostEventId>& regions() const { return regions_; }

  /// The region around this one.
  HostEventId Around(HostEventId region) const {
    const HostEventId parent = store_.host_events.parent[region.index()];
    return parent.valid() ? innermost_[parent.index()] : HostEventId::None();
  }

  /// Whether a region of the same name is around this one.
  bool IsReentered(HostEventId region) const {
    const StringId name = store_.host_events.name[region.index()];
    for (HostEventId at = Around(region); at.valid(); at = Around(at)) {
      if (store_.host_events.name[at.index()] == name) return true;
    }
    return false;
  }

  /// The innermost region of its own thread in which a call is made.
  HostEventId RegionOf(HostEventId call) const { return innermost_[call.index()]; }

  /// The innermost region of the loop's thread that is open at a call of a thread that works for
  /// it.
  HostEventId RegionOfLoop(HostEventId call) const {
    const ThreadId thread = store_.host_events.thread[call.index()];
    return WorksForLoop(thread) ? OpenAt(loop_, store_.host_events.start[call.index()])
                                : HostEventId::None();
  }

  bool WorksForLoop(ThreadId thread) const {
    const auto& process = store_.threads.process;
    return thread != loop_ && process[thread.index()] == process[loop_.index()] &&
           (!has_regions_[thread.index()] || attribution_.IsAutogradThread(thread));
  }

  ThreadId loop() const { return loop_; }

 private:
  bool IsRegion(std::size_t row, NameFacts& names) const {
    const auto& events = store_.host_events;
    if (events.kind[row] != HostEventKind::kAnnotation || steps_.contains(HostEventId(row)))
      return false;
    const std::string_view category = store_.Text(events.category[row]);
    if (category != "region" && category != "user_annotation") return false;
    const HostRoles roles = names.Roles(events.name[row]);
    return !roles.Has(HostRole::kFrameworkRange) && !roles.Has(HostRole::kLayerRange);
  }

  /// The loop runs where the steps are; without steps where most regions are.
  void FindLoop() {
    std::vector<std::int64_t> count(store_.threads.rows());
    for (const HostEventId region : regions_)
      ++count[store_.host_events.thread[region.index()].index()];
    has_regions_.resize(count.size());
    for (std::size_t t = 0; t < count.size(); ++t) has_regions_[t] = count[t] > 0;
    loop_ = store_.steps.rows() > 0
                ? store_.steps.thread[0]
                : ThreadId(static_cast<std::size_t>(std::max_element(count.begin(), count.end()) -
                                                    count.begin()));
  }

  HostEventId OpenAt(ThreadId thread, TimeNs when) const {
    const auto& events = store_.host_events;
    const TraceStore::RowRange rows = store_.HostEventsOf(thread);
    const auto begin = std::lower_bound(regions_.begin(), regions_.end(), HostEventId(rows.first));
    const auto end = std::lower_bound(begin, regions_.end(), HostEventId(rows.last));
    const auto after = std::partition_point(
        begin, end, [&](HostEventId region) { return events.start[region.index()] <= when; });
    if (after == begin) return HostEventId::None();
    HostEventId at = *(after - 1);
    while (at.valid() && store_.HostEnd(at) <= when) at = Around(at);
    return at;
  }

  const TraceStore& store_;
  const Attribution& attribution_;
  std::unordered_set<HostEventId> steps_;
  std::vector<HostEventId> regions_;
  std::vector<HostEventId> innermost_;  ///< By event: the region around it, itself included.
  std::vector<bool> has_regions_;       ///< By thread.
  ThreadId loop_;
};

/// What is known of one name.
struct Sums {
  std::vector<DurationNs> durations;
  DurationNs total, self;
  IntervalSet tasks;          ///< Launched inside.
  bool may_launch = false;    ///< A thread of it launches GPU work.
  std::vector<Interval> gpu;  ///< As GPU events timed it.
};

/// Mean and standard deviation of a sample, in whole nanoseconds; 0 of fewer than two.
void FillMoments(const std::vector<DurationNs>& durations, RegionRow& row) {
  double mean = 0, squares = 0, n = 0;
  for (const DurationNs duration : durations) {  // Welford's.
    const auto value = static_cast<double>(duration.ns());
    const double step = value - mean;
    mean += step / ++n;
    squares += step * (value - mean);
  }
  row.mean = DurationNs(std::llround(mean));
  row.stdev = DurationNs(n > 1 ? std::llround(std::sqrt(squares / (n - 1))) : 0);
}

RegionRow Describe(std::string_view key, Sums& sums, bool has_tasks) {
  std::sort(sums.durations.begin(), sums.durations.end());
  RegionRow row;
  row.key = key;
  row.count = static_cast<std::int64_t>(sums.durations.size());
  row.total = sums.total;
  row.self = sums.self;
  row.min = sums.durations.front();
  row.max = sums.durations.back();
  row.p50 = SortedPercentile(sums.durations, 50);
  row.p99 = SortedPercentile(sums.durations, 99);
  FillMoments(sums.durations, row);
  if (!sums.gpu.empty()) {
    row.gpu = IntervalSet::UnionOf(std::move(sums.gpu)).Measure();
  } else if (has_tasks && sums.may_launch) {
    row.gpu = sums.tasks.Measure();
  }
  return row;
}

}  // namespace

std::vector<RegionRow> RegionTable(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution) {
  const RegionTree tree(store, names, attribution);
  if (tree.regions().empty()) return {};
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  std::map<StringId, Sums> by_name;
  TimeInside inside(store);
  for (const HostEventId region : tree.regions()) {
    const DurationNs duration = events.duration[region.index()];
    Sums& sums = by_name[events.name[region.index()]];
    sums.durations.push_back(duration);
    sums.self += duration;
    if (!tree.IsReentered(region)) sums.total += duration;
    const HostEventId around = tree.Around(region);
    const DurationNs lost = inside.Enter(region, around);
    if (around.valid()) by_name[events.name[around.index()]].self -= lost;
  }
  std::vector<bool> launches(store.threads.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId launch = tasks.launch[i];
    if (!launch.valid()) continue;
    const ThreadId thread = events.thread[launch.index()];
    launches[thread.index()] = true;
    if (tree.WorksForLoop(thread)) launches[tree.loop().index()] = true;
    for (HostEventId at : {tree.RegionOf(launch), tree.RegionOfLoop(launch)}) {
      for (; at.valid(); at = tree.Around(at)) {
        by_name[events.name[at.index()]].tasks.AppendInOrder(
            {tasks.start[i], store.TaskEnd(GpuTaskId(i))});
      }
    }
  }
  for (const HostEventId region : tree.regions()) {
    if (launches[events.thread[region.index()].index()])
      by_name[events.name[region.index()]].may_launch = true;
  }
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kGpuAnnotation) continue;
    const auto known = by_name.find(events.name[row]);
    if (known != by_name.end() && store.Text(events.category[row]) == "gpu_region")
      known->second.gpu.push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }

  std::vector<RegionRow> rows;
  rows.reserve(by_name.size());
  for (auto& [name, sums] : by_name)
    rows.push_back(Describe(store.Text(name), sums, tasks.rows() > 0));
  std::sort(rows.begin(), rows.end(), [](const RegionRow& a, const RegionRow& b) {
    return a.total != b.total ? a.total > b.total : a.key < b.key;
  });
  return rows;
}

}  // namespace headroom
