#include "analysis/loop/metric_curves.h"

#include <gtest/gtest.h>

#include <limits>

#include "store/store_builder.h"

namespace headroom {
namespace metric_curves_test {

TimeNs AtUs(std::int64_t us) { return TimeNs(us * 1000); }

TEST(MetricCurves, APartHasTheLeastTheMeanAndTheMostOfItsSamples) {
  StoreBuilder b;
  // Each part is 10 us long.
  for (const auto& [time, value] : {std::pair(0, 3.0), {4, 0.0}, {9, 3.0}, {10, 1.0}, {2560, 7.0}})
    b.Counter("loader.ready", "", "1", time, value);
  b.Counter("loader.ready", "", "1", 5, std::numeric_limits<double>::quiet_NaN());
  b.Counter("loader.ready", "", "1", 2561, 99);
  const auto store = b.Build();
  const std::vector<MetricCurves> metrics = CurvesOfMetrics(*store, AtUs(0), AtUs(2560));
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].name, "loader.ready");
  EXPECT_EQ(metrics[0].unit, "1");
  ASSERT_EQ(metrics[0].curves.size(), 1u);
  const std::vector<CurveBucket>& buckets = metrics[0].curves[0].buckets;
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].index, 0);
  EXPECT_EQ(buckets[0].least, 0);
  EXPECT_EQ(buckets[0].mean, 2);
  EXPECT_EQ(buckets[0].most, 3);
  EXPECT_EQ(buckets[1].index, 1);
  EXPECT_EQ(buckets[2].index, kCurveBuckets - 1);  // The end belongs to the last part.
  EXPECT_EQ(buckets[2].most, 7);
}

TEST(MetricCurves, TheLargestNumbersHaveAMean) {
  constexpr double kLargest = std::numeric_limits<double>::max();
  StoreBuilder b;
  for (const double value : {-kLargest, kLargest, kLargest}) b.Counter("huge", "", "", 0, value);
  const auto store = b.Build();
  const std::vector<MetricCurves> metrics = CurvesOfMetrics(*store, AtUs(0), AtUs(10));
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_NEAR(metrics[0].curves[0].buckets[0].mean / kLargest, 1.0 / 3, 1e-9);
}

TEST(MetricCurves, EachProcessAndInstanceHasItsOwn) {
  StoreBuilder b;
  b.InProcess("1").Counter("util", "value", "%", 0, 10).Counter("util", "value", "%", 5, 10);
  b.InProcess("2").Counter("util", "value", "%", 0, 90).Counter("util", "other", "%", 0, 50);
  b.Counter("util", "value", "MHz", 0, 1000);
  const auto store = b.Build();
  const std::vector<MetricCurves> metrics = CurvesOfMetrics(*store, AtUs(0), AtUs(0));
  ASSERT_EQ(metrics.size(), 2u);
  EXPECT_EQ(metrics[0].unit, "%");
  ASSERT_EQ(metrics[0].curves.size(), 3u);
  EXPECT_EQ(metrics[0].curves[0].instance, "other");
  EXPECT_EQ(metrics[0].curves[1].buckets[0].mean, 10);
  EXPECT_EQ(metrics[0].curves[2].buckets[0].mean, 90);
  EXPECT_NE(metrics[0].curves[1].thread, metrics[0].curves[2].thread);
}

TEST(MetricCurves, OfTooManyThoseThatVaryMostAreKept) {
  StoreBuilder b;
  for (int core = 0; core < 128; ++core) {
    b.Counter("cpu_util", std::to_string(core), "%", 0, 50);
    b.Counter("cpu_util", std::to_string(core), "%", 10, 50 + core % 64);
  }
  const auto store = b.Build();
  const std::vector<MetricCurves> metrics = CurvesOfMetrics(*store, AtUs(0), AtUs(10));
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].curves.size() + static_cast<std::size_t>(metrics[0].left_out), 128u);
  ASSERT_LT(metrics[0].curves.size(), 32u);
  for (const MetricCurve& curve : metrics[0].curves) EXPECT_GE(curve.buckets.back().most, 100);
}

TEST(MetricCurves, ManyMetricsAreAllNamed) {
  StoreBuilder b;
  for (int i = 0; i < 2500; ++i) b.Counter("counter " + std::to_string(i), "", "", 0, i);
  const auto store = b.Build();
  const std::vector<MetricCurves> metrics = CurvesOfMetrics(*store, AtUs(0), AtUs(10));
  EXPECT_EQ(metrics.size(), 2500u);
  std::size_t curves = 0;
  std::int64_t left_out = 0;
  for (const MetricCurves& metric : metrics) {
    curves += metric.curves.size();
    left_out += metric.left_out;
  }
  EXPECT_LT(curves, 500u);
  EXPECT_EQ(curves + static_cast<std::size_t>(left_out), 2500u);
}

TEST(MetricCurves, WithoutSamplesThereAreNone) {
  const auto store = StoreBuilder().Build();
  EXPECT_TRUE(CurvesOfMetrics(*store, AtUs(0), AtUs(10)).empty());
  EXPECT_FALSE(RangeOfMetrics(*store).has_value());
}

}  // namespace metric_curves_test
}  // namespace headroom
