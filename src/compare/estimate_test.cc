#include "compare/estimate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace headroom {
namespace estimate_test {

/// Step times: a level, relative noise, correlation with the previous step, and occasional steps
/// that take twice as long.
struct Steps {
  double level = 100, noise = 0.02, correlation = 0, outliers = 0;
  int count = 50;
};

std::vector<double> Draw(const Steps& steps, std::mt19937& random) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  std::vector<double> series;
  double state = normal(random);
  for (int i = 0; i < steps.count; ++i) {
    if (i > 0) {
      state = steps.correlation * state +
              std::sqrt(1 - steps.correlation * steps.correlation) * normal(random);
    }
    const double outlier = uniform(random) < steps.outliers ? 2 : 1;
    series.push_back(steps.level * (1 + steps.noise * state) * outlier);
  }
  return series;
}

/// Shares of comparisons with an interval entirely above, and entirely below 0.
struct Alarms {
  double above = 0, below = 0;
};

Alarms Simulate(const Steps& a, const Steps& b, unsigned seed) {
  constexpr int kRounds = 2000;
  std::mt19937 random(seed);
  Alarms alarms;
  for (int round = 0; round < kRounds; ++round) {
    const Estimate of_a = EstimateMedian(Draw(a, random)), of_b = EstimateMedian(Draw(b, random));
    const Difference difference = ChangeOf({&of_a, 1}, {&of_b, 1}, 0);
    alarms.above += difference.low > 0 ? 1.0 / kRounds : 0;
    alarms.below += difference.high < 0 ? 1.0 / kRounds : 0;
  }
  return alarms;
}

TEST(EstimateTest, EqualNoiseAlarmsAsRarelyAsClaimed) {
  // 2.5 % on either side; a simulation of 2000 rounds is off by at most 1 %.
  constexpr double kMax = 0.025 + 0.01;
  const Steps cases[] = {
      {.count = 3},
      {.count = 5},
      {.count = 10},
      {.count = 30},
      {.count = 200},
      {.noise = 0.1, .count = 20},
      {.outliers = 0.05, .count = 50},
      {.correlation = 0.5, .count = 40},
      {.correlation = 0.8, .count = 200},
  };
  unsigned seed = 1;
  for (const Steps& steps : cases) {
    const Alarms alarms = Simulate(steps, steps, seed++);
    EXPECT_LE(alarms.above, kMax) << steps.count << " steps, correlation " << steps.correlation;
    EXPECT_LE(alarms.below, kMax) << steps.count << " steps, correlation " << steps.correlation;
  }
}

TEST(EstimateTest, FivePercentAreFoundWithEnoughSteps) {
  const Steps before = {.count = 50};
  Steps after = before;
  after.level = 105;
  EXPECT_GE(Simulate(before, after, 7).above, 0.99);
  // Noisier steps give the same result with more steps.
  const Steps noisy = {.noise = 0.05, .count = 200};
  Steps slower = noisy;
  slower.level = 105;
  EXPECT_GE(Simulate(noisy, slower, 8).above, 0.99);
}

TEST(EstimateTest, RepeatedRunsHoldWhatDiffersBetweenRuns) {
  // Each run has its own level, which its steps do not show: 3 % from run to run.
  std::mt19937 random(3);
  std::normal_distribution<double> level(100, 3);
  int above = 0, found = 0;
  constexpr int kRounds = 1000, kRuns = 5;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Estimate> a, b, slower;
    for (int run = 0; run < kRuns; ++run) {
      a.push_back(EstimateMedian(Draw({.level = level(random), .noise = 0.001}, random)));
      b.push_back(EstimateMedian(Draw({.level = level(random), .noise = 0.001}, random)));
      slower.push_back(
          EstimateMedian(Draw({.level = 1.15 * level(random), .noise = 0.001}, random)));
    }
    above += ChangeOf(a, b, 0.005).low > 0 ? 1 : 0;
    found += ChangeOf(a, slower, 0.005).low > 0 ? 1 : 0;
  }
  EXPECT_LE(above, kRounds * 0.035);
  EXPECT_GE(found, kRounds * 0.95);
}

TEST(EstimateTest, AFewMoreRunsTellMoreThanOneEach) {
  // Runs differ by the assumed spread. With Student's factor for one degree of freedom, 12.7, a
  // third run would widen the interval of two runs.
  constexpr double kAssumed = 0.005;
  std::mt19937 random(11);
  std::normal_distribution<double> level(100, 100 * kAssumed);
  const auto run = [&](double factor) {
    return EstimateMedian(Draw({.level = factor * level(random), .noise = 0.001}, random));
  };
  constexpr int kRounds = 2000;
  for (const std::size_t of_a : {2U, 3U}) {
    int above = 0, found = 0;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Estimate> a;
      while (a.size() < of_a) a.push_back(run(1));
      const Estimate same = run(1), slower = run(1.03);
      above += ChangeOf(a, {&same, 1}, kAssumed).low > 0 ? 1 : 0;
      found += ChangeOf(a, {&slower, 1}, kAssumed).low > 0 ? 1 : 0;
    }
    EXPECT_LE(above, kRounds * 0.035) << of_a;
    EXPECT_GE(found, kRounds * 0.8) << of_a;
  }
}

TEST(EstimateTest, OneStepTellsNothingOfNoise) {
  const std::vector<double> one = {5};
  const Estimate estimate = EstimateMedian(one);
  EXPECT_EQ(estimate.value, 5);
  const Difference difference = ChangeOf({&estimate, 1}, {&estimate, 1}, 0.01);
  EXPECT_FALSE(difference.bounded);
  EXPECT_TRUE(difference.is_noise());
}

TEST(EstimateTest, CountsThatNeverVaryHaveNoNoise) {
  const std::vector<double> before(3, 100.0), after(3, 101.0);
  const Estimate a = EstimateMean(before), b = EstimateMean(after);
  const Difference difference = ChangeOf({&a, 1}, {&b, 1}, 0);
  EXPECT_EQ(difference.low, 1);
  EXPECT_EQ(difference.high, 1);
}

TEST(EstimateTest, CorrelationLeavesFewerIndependentValues) {
  std::mt19937 random(5);
  const double white = IndependentValues(Draw({.count = 1000}, random));
  const double correlated = IndependentValues(Draw({.correlation = 0.8, .count = 1000}, random));
  EXPECT_GT(white, 800);
  EXPECT_NEAR(correlated, 1000 * 0.2 / 1.8, 40);
}

TEST(EstimateTest, StudentFactorFallsToThatOfTheNormalDistribution) {
  EXPECT_NEAR(StudentFactor(1), 12.706, 1e-3);
  EXPECT_NEAR(StudentFactor(4), 2.776, 1e-3);
  EXPECT_NEAR(StudentFactor(60), 2.000, 1e-3);
  EXPECT_NEAR(StudentFactor(1e9), 1.960, 1e-3);
  for (double freedom = 1; freedom < 100; freedom += 0.25)
    EXPECT_GE(StudentFactor(freedom), StudentFactor(freedom + 0.25)) << freedom;
}

}  // namespace estimate_test
}  // namespace headroom
