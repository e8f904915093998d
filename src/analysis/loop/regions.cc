#include "analysis/loop/regions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/interval_set.h"
#include "base/statistics.h"

namespace headroom {
namespace {

/// The regions of a trace, and their nesting.
class RegionTree {
 public:
  RegionTree(const TraceStore& store, NameFacts& names, const Attribution& attribution)
      : store_(store), attribution_(attribution) {
    const auto& events = store.host_events;
    for (const HostEventId step : store.steps.event.values()) {
      if (step.valid()) steps_.insert(step);
    }
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostEventId event(row);
      if (!steps_.contains(event) && IsRegion(store, names, event)) regions_.push_back(event);
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

  /// Returns the regions in order of their rows.
  const std::vector<HostEventId>& regions() const { return regions_; }

  /// Returns the region around this one.
  HostEventId Around(HostEventId region) const {
    const HostEventId parent = store_.host_events.parent[region.index()];
    return parent.valid() ? innermost_[parent.index()] : HostEventId::None();
  }

  /// Returns the innermost region, on the same thread, around a call.
  HostEventId RegionOf(HostEventId call) const { return innermost_[call.index()]; }

  /// Returns the innermost region of the loop's thread that is open at a call of a thread that
  /// works for the loop.
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
  /// Finds the loop's thread: the one with the steps, or without steps the one with the most
  /// regions.
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
  /// By event: the innermost region around it, the event included.
  std::vector<HostEventId> innermost_;
  std::vector<bool> has_regions_;  ///< By thread.
  ThreadId loop_;
};

/// Returns true if a range reduces the self time of the region around it. This holds for regions
/// and for the timers' other ranges (steps, layers), so that self time matches the timers'
/// statistics.
bool TakesTime(const TraceStore& store, std::size_t row) {
  if (store.host_events.kind[row] != HostEventKind::kAnnotation) return false;
  const std::string_view category = store.Text(store.host_events.category[row]);
  return category == "region" || category == "step";
}

/// Assigns the time of a thread to the open range that began last, because ranges may overlap
/// without nesting.
class LatestBegun {
 public:
  LatestBegun(const TraceStore& store, std::vector<DurationNs>& own) : store_(store), own_(own) {}

  /// Requires ranges in order of their rows.
  void Enter(HostEventId range) {
    const auto& events = store_.host_events;
    if (!open_.empty() && events.thread[open_.back().index()] != events.thread[range.index()])
      Finish();
    const TimeNs start = events.start[range.index()];
    PassUntil(start);
    now_ = start;
    open_.push_back(range);
  }
  void Finish() { PassUntil(TimeNs(INT64_MAX)); }

 private:
  void PassUntil(TimeNs time) {
    while (!open_.empty()) {
      const TimeNs end = std::min(store_.HostEnd(open_.back()), time);
      if (end > now_) {
        own_[open_.back().index()] += end - now_;
        now_ = end;
      }
      if (store_.HostEnd(open_.back()) > time) return;
      open_.pop_back();
    }
  }

  const TraceStore& store_;
  std::vector<DurationNs>& own_;  ///< By row.
  std::vector<HostEventId> open_;
  TimeNs now_;
};

/// Sums over the ranges of one name.
struct Sums {
  std::vector<DurationNs> durations;
  DurationNs total, self;
  IntervalSet tasks;          ///< Tasks launched inside.
  bool may_launch = false;    ///< A thread with this name launches GPU work.
  std::vector<Interval> gpu;  ///< Times that GPU events measured.

  /// Adds to the total the time that no earlier entry covers on that thread. Requires entries in
  /// order of thread and start.
  void Cover(ThreadId thread, TimeNs start, TimeNs end) {
    const TimeNs from = thread == covered_on_ ? std::max(start, covered_to_) : start;
    if (end > from) total += end - from;
    covered_to_ = thread == covered_on_ ? std::max(end, covered_to_) : end;
    covered_on_ = thread;
  }

 private:
  ThreadId covered_on_ = ThreadId::None();
  TimeNs covered_to_;
};

/// Returns, by row of the host events, the time in which the range was the open range that began
/// last.
std::vector<DurationNs> OwnTimes(const TraceStore& store, const RegionTree& tree) {
  std::vector<DurationNs> own(store.host_events.rows());
  LatestBegun latest(store, own);
  auto next = tree.regions().begin();
  for (std::size_t row = 0; row < own.size(); ++row) {
    const bool is_region = next != tree.regions().end() && next->index() == row;
    if (is_region) ++next;
    if (is_region || TakesTime(store, row)) latest.Enter(HostEventId(row));
  }
  latest.Finish();
  return own;
}

/// Fills in the mean and standard deviation of a sample, in whole nanoseconds; 0 for fewer than two
/// values.
void FillMoments(const std::vector<DurationNs>& durations, RegionRow& row) {
  double mean = 0, squares = 0, n = 0;
  for (const DurationNs duration : durations) {  // Welford's algorithm.
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

bool IsRegion(const TraceStore& store, NameFacts& names, HostEventId event) {
  const auto& events = store.host_events;
  if (events.kind[event.index()] != HostEventKind::kAnnotation) return false;
  const std::string_view category = store.Text(events.category[event.index()]);
  if (category != "region" && category != "user_annotation") return false;
  const HostRoles roles = names.Roles(events.name[event.index()]);
  return !roles.Has(HostRole::kFrameworkRange) && !roles.Has(HostRole::kLayerRange);
}

std::vector<RegionRow> RegionTable(const TraceStore& store, NameFacts& names,
                                   const Attribution& attribution) {
  const RegionTree tree(store, names, attribution);
  if (tree.regions().empty()) return {};
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  std::map<StringId, Sums> by_name;
  const std::vector<DurationNs> own = OwnTimes(store, tree);
  for (const HostEventId region : tree.regions()) {
    const DurationNs duration = events.duration[region.index()];
    Sums& sums = by_name[events.name[region.index()]];
    sums.durations.push_back(duration);
    sums.self += own[region.index()];
    sums.Cover(events.thread[region.index()], events.start[region.index()], store.HostEnd(region));
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
