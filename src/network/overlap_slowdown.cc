#include "network/overlap_slowdown.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

/// Tasks with equal signatures do the same work, to the extent that the trace shows it.
using Signature = std::tuple<StringId, std::int32_t, std::int32_t, std::int32_t, std::int32_t,
                             std::int32_t, std::int32_t, std::string_view>;

struct Durations {
  std::vector<double> alone, beside;
};

std::string_view ShapesAt(const TraceStore& store, std::size_t task) {
  HostEventId event = store.gpu_tasks.launch[task];
  while (event.valid() && store.host_events.kind[event.index()] != HostEventKind::kOperator)
    event = store.host_events.parent[event.index()];
  return event.valid() ? store.Arg(store.host_events.args[event.index()], kInputDimsArg)
                       : std::string_view();
}

Signature SignatureOf(const TraceStore& store, std::size_t task) {
  const auto& rows = store.gpu_tasks;
  return {rows.name[task],    rows.grid_x[task],  rows.grid_y[task],  rows.grid_z[task],
          rows.block_x[task], rows.block_y[task], rows.block_z[task], ShapesAt(store, task)};
}

/// One kernel's median time during collectives, divided by its median time alone. The weight is its
/// total time during collectives.
struct Ratio {
  double times, weight;
};

std::optional<Ratio> Compare(Durations& durations) {
  constexpr std::size_t kMinAlone = 3, kMinBeside = 2;
  constexpr double kMaxSpread = 0.1;
  std::vector<double>&alone = durations.alone, &beside = durations.beside;
  if (alone.size() < kMinAlone || beside.size() < kMinBeside) return std::nullopt;
  std::sort(alone.begin(), alone.end());
  std::sort(beside.begin(), beside.end());
  const double usual = SortedPercentile(alone, 50);
  if (usual <= 0 || SortedPercentile(alone, 75) - SortedPercentile(alone, 25) > kMaxSpread * usual)
    return std::nullopt;
  double weight = 0;
  for (const double duration : beside) weight += duration;
  return Ratio{.times = SortedPercentile(beside, 50) / usual, .weight = weight};
}

/// Returns the quantile of `times`, weighted by `weight`. REQUIRES: `ratios` are sorted by `times`,
/// and not empty.
double Quantile(const std::vector<Ratio>& ratios, double share) {
  double all = 0, sum = 0;
  for (const Ratio& ratio : ratios) all += ratio.weight;
  for (const Ratio& ratio : ratios) {
    sum += ratio.weight;
    if (sum >= share * all) return ratio.times;
  }
  return ratios.back().times;
}

}  // namespace

IntervalSet TimeOfCollectives(const TraceStore& store, const IsCollective& is_collective) {
  IntervalSet time;
  for (std::size_t task = 0; task < store.gpu_tasks.rows(); ++task) {
    if (is_collective(task))
      time.AppendInOrder({store.gpu_tasks.start[task], store.TaskEnd(GpuTaskId(task))});
  }
  return time;
}

bool IsBeside(Interval task, const IntervalSet& collectives) {
  constexpr double kNearly = 0.99;
  return task.length() > DurationNs(0) &&
         static_cast<double>(collectives.MeasureWithin(task).ns()) >=
             kNearly * static_cast<double>(task.length().ns());
}

std::optional<OverlapSlowdown> MeasureOverlapSlowdown(const TraceStore& store,
                                                      const IsCollective& is_collective) {
  constexpr std::size_t kMinKernels = 5;
  const IntervalSet collectives = TimeOfCollectives(store, is_collective);
  if (collectives.empty()) return std::nullopt;
  std::map<Signature, Durations> kernels;
  for (std::size_t task = 0; task < store.gpu_tasks.rows(); ++task) {
    if (store.gpu_tasks.kind[task] != GpuTaskKind::kKernel || is_collective(task)) continue;
    const Interval span = {store.gpu_tasks.start[task], store.TaskEnd(GpuTaskId(task))};
    if (span.length() <= DurationNs(0)) continue;
    Durations& durations = kernels[SignatureOf(store, task)];
    const auto time = static_cast<double>(span.length().ns());
    if (collectives.MeasureWithin(span) == DurationNs(0)) {
      durations.alone.push_back(time);
    } else if (IsBeside(span, collectives)) {
      durations.beside.push_back(time);
    }
  }
  std::vector<Ratio> ratios;
  for (auto& [signature, durations] : kernels) {
    if (const std::optional<Ratio> ratio = Compare(durations)) ratios.push_back(*ratio);
  }
  if (ratios.size() < kMinKernels) return std::nullopt;
  std::sort(ratios.begin(), ratios.end(),
            [](const Ratio& a, const Ratio& b) { return a.times < b.times; });
  return OverlapSlowdown{.low = Quantile(ratios, 0.25),
                         .mid = Quantile(ratios, 0.5),
                         .high = Quantile(ratios, 0.75),
                         .kernels = static_cast<std::int64_t>(ratios.size())};
}

}  // namespace headroom
