#include "analysis/loop/metric_curves.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace headroom {
namespace {

/// Limits per metric and in total: a chart with more curves is unreadable, and one page contains
/// all curves.
constexpr std::size_t kMaxOfOne = 16, kMaxInAll = 240;

class SampleSums {
 public:
  void Add(int bucket, double value, ThreadId thread) {
    Sum& sum = sums_[bucket];
    const bool first = sum.count == 0;
    sum.least = first ? value : std::min(sum.least, value);
    sum.most = first ? value : std::max(sum.most, value);
    // Divides first, because the difference of two numbers may overflow.
    const auto count = static_cast<double>(++sum.count);
    sum.mean += value / count - sum.mean / count;
    least_ = thread_.valid() ? std::min(least_, value) : value;
    most_ = thread_.valid() ? std::max(most_, value) : value;
    thread_ = thread;
  }

  /// Returns half the spread, which callers only compare: the full spread may overflow.
  double Spread() const { return most_ / 2 - least_ / 2; }

  MetricCurve Take(std::string_view instance) const {
    MetricCurve curve{.instance = std::string(instance), .thread = thread_, .buckets = {}};
    for (const auto& [bucket, sum] : sums_) {
      // Rounding may put the mean slightly outside the range.
      curve.buckets.push_back(
          {bucket, sum.least, std::clamp(sum.mean, sum.least, sum.most), sum.most});
    }
    return curve;
  }

 private:
  struct Sum {
    std::int64_t count = 0;
    double least = 0, mean = 0, most = 0;
  };
  std::map<int, Sum> sums_;
  ThreadId thread_;
  double least_ = 0, most_ = 0;
};

}  // namespace

std::optional<std::pair<TimeNs, TimeNs>> RangeOfMetrics(const TraceStore& store) {
  const auto& counters = store.counters;
  if (counters.rows() == 0) return std::nullopt;
  std::pair range{counters.time[0], counters.time[0]};
  for (std::size_t row = 1; row < counters.rows(); ++row) {
    range.first = std::min(range.first, counters.time[row]);
    range.second = std::max(range.second, counters.time[row]);
  }
  return range;
}

std::vector<MetricCurves> CurvesOfMetrics(const TraceStore& store, TimeNs begin, TimeNs end) {
  const auto& counters = store.counters;
  const double width = static_cast<double>((end - begin).ns()) / kCurveBuckets;
  using Metric = std::tuple<std::string_view, std::string_view>;  // Name, unit.
  using Of = std::tuple<std::string_view, std::uint32_t>;         // Instance, process.
  std::map<Metric, std::map<Of, SampleSums>> found;
  for (std::size_t row = 0; row < counters.rows(); ++row) {
    const TimeNs time = counters.time[row];
    if (!std::isfinite(counters.value[row]) || time < begin || time > end) continue;
    const double at = width > 0 ? static_cast<double>((time - begin).ns()) / width : 0;
    const int bucket = std::min(static_cast<int>(at), kCurveBuckets - 1);
    const ThreadId thread = counters.thread[row];
    found[{store.Text(counters.name[row]), store.Text(counters.unit[row])}]
         [{store.Text(counters.series[row]), store.threads.process[thread.index()].index()}]
             .Add(bucket, counters.value[row], thread);
  }
  std::vector<MetricCurves> metrics;
  std::size_t in_all = 0;
  for (const auto& [metric, curves] : found) {
    using Row = std::pair<const Of, SampleSums>;
    std::vector<const Row*> rows;
    for (const Row& row : curves) rows.push_back(&row);
    const std::size_t most = std::min(kMaxOfOne, kMaxInAll - in_all);
    if (rows.size() > most) {
      std::stable_sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) {
        return a->second.Spread() > b->second.Spread();
      });
      rows.resize(most);
    }
    MetricCurves& result = metrics.emplace_back();
    std::tie(result.name, result.unit) = metric;
    result.left_out = static_cast<std::int64_t>(curves.size() - rows.size());
    for (const Row* row : rows) result.curves.push_back(row->second.Take(std::get<0>(row->first)));
    in_all += rows.size();
  }
  return metrics;
}

}  // namespace headroom
