// What a number of a recording may be off by, and what the difference of two of them may be: the
// noise model of `headroom diff`.
//
// Sources: standard error of a median by its order statistics: McKean and Schrader, "A comparison
// of methods for studentizing the sample median" (1984). Equivalent number of independent values of
// a correlated series, n (1 - r) / (1 + r): Zwiers and von Storch, "Taking serial correlation into
// account in tests of the mean" (1995); the bias of r, (1 + 4 r) / n: Marriott and Pope (1954).
// Degrees of freedom of a sum: Welch (1947). docs/diff.md has the formulas.
#pragma once

#include <span>
#include <vector>

namespace headroom {

/// A figure of one run, in any unit, and its standard error within the run.
struct Estimate {
  double value = 0;
  double error = 0;    ///< Standard error; 0: every step had the same.
  double freedom = 0;  ///< Degrees of freedom of `error`; 0: it is not known (one step).
};

/// The median of a series in order of time: the lower middle one of an even number, as the
/// report's. All 0 for an empty series.
Estimate EstimateMedian(std::span<const double> series);
/// The mean.
Estimate EstimateMean(std::span<const double> series);

/// How many independent values tell as much as this series does: between 2 and its length, which it
/// is below eight values, where correlation cannot be told.
double IndependentValues(std::span<const double> series);

/// Factor of the standard error that makes a two-sided interval of 95 %; Student's quantile.
/// REQUIRES: freedom >= 1.
double StudentFactor(double freedom);

/// B less A, with an interval of 95 %.
struct Difference {
  double a = 0, b = 0;  ///< Means over the runs of each.
  double delta = 0;
  double low = 0, high = 0;
  bool bounded = false;  ///< Else nothing is known of the interval: too few steps and runs.
  bool of_runs = false;  ///< The interval comes from repeated runs, not from the steps of one.

  /// Whether the interval holds 0; true where nothing is known of it.
  bool is_noise() const { return !bounded || (low <= 0 && high >= 0); }
};

/// The change from the runs of A to those of B.
///
/// With three runs or more in all, runs are the unit: Student's interval with a pooled variance of
/// their values, each side's relative to its mean, and no narrower than what the steps within the
/// runs tell. With three or four, which hardly tell their spread, Student's factor is that of five,
/// and the interval no narrower than `run_to_run` makes it. Else the steps are: both standard
/// errors, and `run_to_run`, the standard deviation, as a share, that one run may differ by from
/// the next for reasons that no step of it shows. REQUIRES: neither is empty.
Difference ChangeOf(std::span<const Estimate> a, std::span<const Estimate> b, double run_to_run);

}  // namespace headroom
