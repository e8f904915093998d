#include "capture/metrics/system_sampler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/board/test_root.h"
#include "capture/metrics/descriptions.h"

namespace headroom {
namespace system_sampler_test {

double ValueOf(const SystemSampler& sampler, const Reading& reading, std::string_view name) {
  for (std::size_t i = 0; i < sampler.metrics().size(); ++i) {
    if (sampler.metrics()[i].name == name) return reading.values[i];
  }
  return NAN;
}

SamplerOptions Here(DurationNs period = DurationNs(1'000'000'000)) {
  SamplerOptions options;
  options.process = getpid();
  options.period = period;
  options.nvml_libraries = {FakeLibrary(kFakeNvml)};
  return options;
}

void Wait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

TEST(SystemSampler, HasDeterminedsMetricsUnderTheirNames) {
  SystemSampler sampler(Here());
  std::set<std::string> names;
  for (const Metric& metric : sampler.metrics()) names.insert(metric.name);
  for (const char* name :
       {"gpu_util", "gpu_free_memory", "net_throughput_sent", "net_throughput_recv", "disk_iops",
        "disk_throughput_read", "disk_throughput_write", "free_memory", "cpu_util_simple"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

// Composer writes the counters of all disks under one key, so only one disk's counters survive.
TEST(SystemSampler, NoTwoMetricsShareANameAndAnInstance) {
  for (const char* kernel : {"linux-3.10-cgroup-v1", "linux-5.15-cgroup-v2", "linux-6.18-hybrid"}) {
    const TestRoot root(kernel);
    SamplerOptions options;
    options.root = root.path();
    options.nvml_libraries = {FakeLibrary(kFakeNvml)};
    SystemSampler sampler(options);
    sampler.Sample();
    std::set<std::pair<std::string, std::string>> seen;
    for (const Metric& metric : sampler.metrics())
      EXPECT_TRUE(seen.emplace(metric.name, metric.instance).second)
          << kernel << ": " << metric.name << " of " << metric.instance;
    EXPECT_GT(seen.size(), 30u);
  }
}

TEST(SystemSampler, EveryMetricIsDescribedAndHasOneUnit) {
  SystemSampler sampler(Here());
  for (int i = 0; i < 2; ++i) sampler.Sample();
  std::map<std::string, std::string> units;
  for (const Metric& metric : sampler.metrics()) {
    EXPECT_NE(DescribeMetric(metric.name), "") << metric.name;
    EXPECT_EQ(units.try_emplace(metric.name, metric.unit).first->second, metric.unit);
  }
  EXPECT_EQ(DescribeMetric("no_such"), "");
}

TEST(SystemSampler, SamplesThisMachine) {
  SystemSampler sampler(Here());
  const TimeNs before = MonotonicNow();
  EXPECT_GE(sampler.Sample().time, before);
  Wait(30);
  const Reading& reading = sampler.Sample();
  EXPECT_LE(reading.time, MonotonicNow());
  ASSERT_EQ(reading.values.size(), sampler.metrics().size());
  ASSERT_EQ(reading.totals.size(), sampler.metrics().size());
  EXPECT_GT(ValueOf(sampler, reading, "free_memory"), 0);
  EXPECT_GT(ValueOf(sampler, reading, "process_tree_rss_bytes"), 0);
  EXPECT_GT(ValueOf(sampler, reading, "sampler_cpu_pct"), 0);
  const double cpu = ValueOf(sampler, reading, "cpu_util_simple");
  EXPECT_TRUE(std::isnan(cpu) || (cpu >= 0 && cpu <= 100)) << cpu;
}

// wandb had no data for runs shorter than its period.
TEST(SystemSampler, ARunShorterThanAPeriodHasRates) {
  SystemSampler sampler(Here(DurationNs(60'000'000'000)));
  sampler.Sample();
  Wait(20);
  const Reading& last = sampler.SampleLast();
  EXPECT_TRUE(std::isfinite(ValueOf(sampler, last, "context_switches_per_s")));
  EXPECT_TRUE(std::isfinite(ValueOf(sampler, last, "process_tree_cpu_pct")));
}

// When stopped, Determined's sampler took the remaining samples of a window back to back, so its
// rates covered almost no time.
TEST(SystemSampler, TheLastWindowHasNoRatesWhereItIsTooShort) {
  SystemSampler sampler(Here(DurationNs(40'000'000)));
  sampler.Sample();
  Wait(40);
  EXPECT_TRUE(std::isfinite(ValueOf(sampler, sampler.Sample(), "context_switches_per_s")));
  const Reading& short_one = sampler.SampleLast();
  EXPECT_TRUE(std::isnan(ValueOf(sampler, short_one, "context_switches_per_s")));
  EXPECT_TRUE(std::isnan(ValueOf(sampler, short_one, "cpu_util_simple")));
  EXPECT_GT(ValueOf(sampler, short_one, "free_memory"), 0) << "gauges are still reported";

  SystemSampler other(Here(DurationNs(40'000'000)));
  other.Sample();
  Wait(40);
  other.Sample();
  Wait(30);
  EXPECT_TRUE(std::isfinite(ValueOf(other, other.SampleLast(), "context_switches_per_s")));
}

// TraceML records unreadable values as 0.
TEST(SystemSampler, WhatIsNotThereIsMissing) {
  const TestRoot root("");
  SamplerOptions options;
  options.root = root.path();
  options.nvml_libraries = options.rocm_libraries = {};
  SystemSampler sampler(options);
  for (int i = 0; i < 3; ++i) {
    const Reading& reading = sampler.Sample();
    for (std::size_t m = 0; m < sampler.metrics().size(); ++m) {
      const Metric& metric = sampler.metrics()[m];
      EXPECT_TRUE(metric.name == "sampler_cpu_pct" || std::isnan(reading.values[m])) << metric.name;
    }
  }
}

TEST(SystemSampler, MetricsStayWhereTheyAre) {
  const TestRoot root("linux-5.15-cgroup-v2");
  SamplerOptions options;
  options.root = root.path();
  options.nvml_libraries = {};
  SystemSampler sampler(options);
  sampler.Sample();
  std::vector<std::string> before;
  for (const Metric& metric : sampler.metrics()) before.push_back(metric.name + metric.instance);
  root.Write("proc/net/dev", "new0: 7000 10 0 0 0 0 0 0 3000 10 0 0 0 0 0 0\n");
  const Reading& reading = sampler.Sample();
  ASSERT_GT(sampler.metrics().size(), before.size());
  EXPECT_EQ(reading.values.size(), sampler.metrics().size());
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(sampler.metrics()[i].name + sampler.metrics()[i].instance, before[i]);
}

TEST(SetVisibleDevices, ReadsTheEnvironmentOfTheProgram) {
  const TestRoot root("");
  std::string environment;
  for (const char* entry :
       {"XCUDA_VISIBLE_DEVICES=9", "CUDA_VISIBLE_DEVICES=2,0", "ROCR_VISIBLE_DEVICES=", "A=b"}) {
    environment += entry;
    environment += '\0';
  }
  root.Write("proc/10/environ", environment);
  SamplerOptions options;
  options.root = root.path();
  SetVisibleDevices(10, options);
  EXPECT_EQ(options.visible_devices, "2,0");
  EXPECT_EQ(options.visible_amd_devices, "");
  SamplerOptions none;
  none.root = root.path();
  SetVisibleDevices(11, none);
  EXPECT_EQ(none.visible_devices, std::nullopt);
}

}  // namespace system_sampler_test
}  // namespace headroom
