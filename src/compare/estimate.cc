#include "compare/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>

namespace headroom {
namespace {

constexpr double kNormalFactor = 1.959964;
constexpr double kMinFreedom = 3;  ///< Below this, the spread between the runs alone is unreliable.

double MeanOf(std::span<const double> series) {
  return std::accumulate(series.begin(), series.end(), 0.0) / static_cast<double>(series.size());
}

double DeviationOf(std::span<const double> series, double mean) {
  double squares = 0;
  for (const double value : series) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(series.size() - 1));
}

double SumOfSquaresAround(std::span<const Estimate> runs, double mean) {
  double squares = 0;
  for (const Estimate& run : runs) squares += (run.value / mean - 1) * (run.value / mean - 1);
  return squares;
}

double MeanOfRuns(std::span<const Estimate> runs) {
  double sum = 0;
  for (const Estimate& run : runs) sum += run.value;
  return sum / static_cast<double>(runs.size());
}

}  // namespace

double IndependentValues(std::span<const double> series) {
  constexpr std::size_t kMin = 8;
  constexpr double kMaxCorrelation = 0.98;
  const auto n = static_cast<double>(series.size());
  if (series.size() < kMin) return n;
  const double mean = MeanOf(series);
  double all = 0, lagged = 0;
  for (std::size_t i = 0; i < series.size(); ++i) {
    all += (series[i] - mean) * (series[i] - mean);
    if (i > 0) lagged += (series[i] - mean) * (series[i - 1] - mean);
  }
  if (all <= 0) return n;
  const double r = lagged / all;
  const double unbiased = std::clamp(r + (1 + 4 * r) / n, 0.0, kMaxCorrelation);
  return std::max(2.0, n * (1 - unbiased) / (1 + unbiased));
}

Estimate EstimateMean(std::span<const double> series) {
  if (series.empty()) return {};
  Estimate estimate{.value = MeanOf(series)};
  if (series.size() < 2) return estimate;
  const double independent = IndependentValues(series);
  estimate.error = DeviationOf(series, estimate.value) / std::sqrt(independent);
  estimate.freedom = std::max(1.0, independent - 1);
  return estimate;
}

Estimate EstimateMedian(std::span<const double> series) {
  if (series.empty()) return {};
  std::vector<double> sorted(series.begin(), series.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t count = sorted.size();
  const auto n = static_cast<double>(count);
  Estimate estimate{.value = sorted[(count - 1) / 2]};
  if (count < 2) return estimate;
  const double independent = IndependentValues(series);
  estimate.freedom = std::max(1.0, independent - 1);
  // Fewer values have no reliable outer order statistics.
  constexpr std::size_t kMinForOrder = 12;
  if (count < kMinForOrder) {
    const double of_mean = DeviationOf(series, MeanOf(series)) / std::sqrt(independent);
    estimate.error = std::sqrt(std::numbers::pi / 2) * of_mean;
    return estimate;
  }
  const double reach = kNormalFactor * std::sqrt(n / 4);
  const auto outer = static_cast<std::size_t>(std::max(1.0, std::round((n + 1) / 2 - reach)));
  estimate.error = (sorted[count - outer] - sorted[outer - 1]) / (2 * kNormalFactor) *
                   std::sqrt(n / independent);
  return estimate;
}

double StudentFactor(double freedom) {
  // Quantiles at 97.5 %, by degrees of freedom.
  constexpr std::array kQuantiles = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                     2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                     2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                     2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  const double bounded = std::max(1.0, freedom);
  if (bounded >= static_cast<double>(kQuantiles.size())) {
    // Uses the first terms of the expansion in 1 / freedom.
    constexpr double z = kNormalFactor;
    return z + (z * z * z + z) / (4 * bounded) +
           (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * bounded * bounded);
  }
  // Interpolates. The curve is convex, so the chord is an upper bound.
  const auto below = static_cast<std::size_t>(bounded);
  const double share = bounded - static_cast<double>(below);
  return kQuantiles[below - 1] * (1 - share) + kQuantiles[below] * share;
}

Difference ChangeOf(std::span<const Estimate> a, std::span<const Estimate> b, double run_to_run) {
  Difference change{.a = MeanOfRuns(a), .b = MeanOfRuns(b)};
  change.delta = change.b - change.a;
  change.low = change.high = change.delta;
  double within = 0, fourth = 0, assumed = 0;
  bool known = true;
  for (const std::span<const Estimate> side : {a, b}) {
    const auto count = static_cast<double>(side.size());
    for (const Estimate& run : side) {
      const double squared = run.error * run.error / (count * count);
      known &= run.freedom > 0;
      within += squared;
      if (run.freedom > 0) fourth += squared * squared / run.freedom;
      assumed += std::pow(run_to_run * run.value / count, 2);
    }
  }
  const auto reach_within = [&](double variance) {
    return StudentFactor(fourth > 0 ? variance * variance / fourth : 1e9) * std::sqrt(variance);
  };
  double reach = 0;
  const std::size_t runs = a.size() + b.size();
  if (runs > 2 && change.a != 0 && change.b != 0) {
    change.of_runs = true;
    const auto freedom = static_cast<double>(runs - 2);
    const double pooled =
        (SumOfSquaresAround(a, change.a) + SumOfSquaresAround(b, change.b)) / freedom;
    const double scale = change.a * change.a / static_cast<double>(a.size()) +
                         change.b * change.b / static_cast<double>(b.size());
    reach = StudentFactor(std::max(freedom, kMinFreedom)) * std::sqrt(pooled * scale);
    // Three or four runs give an unreliable spread. They may agree by chance, or Student's factor
    // is so large that one run each would give a narrower interval.
    if (freedom < kMinFreedom)
      reach = std::max(reach, kNormalFactor * run_to_run * std::sqrt(scale));
    // Runs that agree by chance must not be more certain than their steps are.
    reach = std::max(reach, reach_within(within));
  } else if (known) {
    reach = reach_within(within + assumed);
  } else {
    return change;
  }
  change.bounded = true;
  change.low = change.delta - reach;
  change.high = change.delta + reach;
  return change;
}

}  // namespace headroom
