// The noise model of `headroom diff`: the uncertainty of a figure of one recording, and of the
// difference between two recordings.
//
// Sources:
// - Standard error of a median by its order statistics: McKean and Schrader, "A comparison of
//   methods for studentizing the sample median" (1984).
// - Equivalent number of independent values of a correlated series, n (1 - r) / (1 + r): Zwiers and
//   von Storch, "Taking serial correlation into account in tests of the mean" (1995).
// - Bias of r, (1 + 4 r) / n: Marriott and Pope (1954).
// - Degrees of freedom of a sum: Welch (1947).
//
// docs/diff.md has the formulas.
#pragma once

#include <span>
#include <vector>

namespace headroom {

/// A figure of one run, in any unit, and its standard error within the run.
struct Estimate {
  double value = 0;
  double error = 0;    ///< Standard error; 0 if every step had the same value.
  double freedom = 0;  ///< Degrees of freedom of `error`; 0 if unknown (one step).
};

/// Returns the median of a series in order of time. For an even number of values, takes the lower
/// middle one, as the report does. Returns zeros for an empty series.
Estimate EstimateMedian(std::span<const double> series);
/// Returns the mean of a series, with its error.
Estimate EstimateMean(std::span<const double> series);

/// Returns the number of independent values that carry as much information as this series: at least
/// 2, at most its length. Returns the length for fewer than eight values, because they do not show
/// correlation.
double IndependentValues(std::span<const double> series);

/// Returns the factor of the standard error for a two-sided 95 % interval (Student's quantile).
/// REQUIRES: freedom >= 1.
double StudentFactor(double freedom);

/// B minus A, with a 95 % interval.
struct Difference {
  double a = 0, b = 0;  ///< Means over the runs of each side.
  double delta = 0;
  double low = 0, high = 0;
  bool bounded = false;  ///< False if the interval is unknown: too few steps and runs.
  /// True if the interval comes from repeated runs instead of the steps of one run.
  bool of_runs = false;

  /// Returns true if the interval contains 0 or is unknown.
  bool is_noise() const { return !bounded || (low <= 0 && high >= 0); }
};

/// Returns the change from the runs of A to those of B.
///
/// If there are three or more runs in total, runs are the unit. The interval is Student's, with a
/// pooled variance of the values, each side relative to its mean. It is at least as wide as the
/// steps within the runs imply. Three or four runs give an unreliable spread. Student's factor is
/// then that of five runs, and the interval is at least as wide as `run_to_run` implies.
///
/// If each side has one run, steps are the unit. The interval then combines both standard errors
/// and `run_to_run`, the relative standard deviation between runs, which one run does not show.
///
/// REQUIRES: `a` and `b` are not empty.
Difference ChangeOf(std::span<const Estimate> a, std::span<const Estimate> b, double run_to_run);

}  // namespace headroom
