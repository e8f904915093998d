// Tests the formats in which `headroom monitor` shows a sample.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/machine/metrics_server.h"
#include "cli/machine/prometheus_text.h"
#include "cli/terminal/metric_lines.h"
#include "cli/terminal/metric_table.h"

namespace headroom::cli {
namespace metric_output_test {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

struct Sampled {
  std::vector<Metric> metrics;
  Reading reading;

  void Add(Metric metric, double value, double total = kMissing) {
    metrics.push_back(std::move(metric));
    reading.values.push_back(value);
    reading.totals.push_back(total);
  }
};

Metric OnDevice(const char* name, const char* unit, const char* device,
                MetricKind kind = MetricKind::kGauge, const char* counter = "") {
  return {.name = name,
          .unit = unit,
          .scope = MetricScope::kDevice,
          .instance = device,
          .kind = kind,
          .counter = counter};
}

TEST(MetricLines, GroupsInstancesAndKeepsWhatIsMissing) {
  Sampled sampled;
  sampled.Add(OnDevice("gpu_util", "%", "GPU 0"), 40);
  sampled.Add({.name = "free_memory", .unit = "bytes"}, kMissing);
  sampled.Add(OnDevice("gpu_util", "%", "GPU 1"), kMissing);
  sampled.reading.time = TimeNs(62309324151951);
  sampled.reading.users = {
      {.resource = "CPU", .pid = 7, .name = "a \"b\"\n\xff", .value = 99.5},
      {.resource = "GPU 0", .pid = 8, .name = "", .value = kMissing, .in_tree = true}};
  MetricLines lines;
  const std::string line(lines.LineOf(sampled.metrics, sampled.reading, 1795246868000000012));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const nlohmann::json json = nlohmann::json::parse(line);
  EXPECT_EQ(json["schema"], "headroom.monitor/1");
  EXPECT_EQ(json["time"], "2026-11-21T07:41:08.000000012Z");
  EXPECT_EQ(json["monotonic_ns"], 62309324151951);
  EXPECT_EQ(json["values"]["gpu_util"], nlohmann::json::parse(R"({"GPU 0": 40, "GPU 1": null})"));
  EXPECT_TRUE(json["values"]["free_memory"].is_null());
  EXPECT_EQ(json["users"][0]["cpu_pct"], 99.5);
  EXPECT_EQ(json["users"][0]["name"], "a \"b\"\n\xef\xbf\xbd");
  EXPECT_TRUE(json["users"][1]["name"].is_null());
  EXPECT_TRUE(json["users"][1]["memory_bytes"].is_null());
  EXPECT_EQ(json["users"][1]["in_tree"], true);

  // One metric is added later, and another gets its first value later.
  sampled.Add(OnDevice("disk_busy_pct", "%", "a\"b"), 1e300);
  sampled.reading.values[1] = 0;
  sampled.reading.users.clear();
  const std::string later(lines.LineOf(sampled.metrics, sampled.reading, 1795246868000000012));
  EXPECT_EQ(later, MetricLines().LineOf(sampled.metrics, sampled.reading, 1795246868000000012));
  EXPECT_EQ(nlohmann::json::parse(later)["values"],
            nlohmann::json::parse(R"({"gpu_util": {"GPU 0": 40, "GPU 1": null}, "free_memory": 0,
                                      "disk_busy_pct": {"a\"b": 1e300}})"));
  const Sampled nothing;
  EXPECT_TRUE(
      nlohmann::json::parse(MetricLines().LineOf(nothing.metrics, nothing.reading, 0))["values"]
          .empty());
}

// The slot of a process that ended is reused for the metrics of the next one.
TEST(MetricLines, AMetricMayBeOfAnotherInstanceLater) {
  Sampled sampled;
  sampled.Add(OnDevice("process_rss_bytes", "bytes", "7 worker"), 1);
  MetricLines lines;
  MetricTable table;
  lines.LineOf(sampled.metrics, sampled.reading, 0);
  table.Add(sampled.metrics, sampled.reading);
  sampled.metrics[0].instance = "8 worker";
  sampled.reading.values[0] = kMissing;
  EXPECT_EQ(
      nlohmann::json::parse(lines.LineOf(sampled.metrics, sampled.reading, 0))["values"].dump(),
      R"({"process_rss_bytes":{"8 worker":null}})");
  table.Add(sampled.metrics, sampled.reading);
  EXPECT_EQ(table.Render("", 100, 24, Charset::kAscii).size(), 1u) << "the other one's is not its";
}

TEST(PrometheusText, HasBaseUnitsCountersAndEscapedLabels) {
  Sampled sampled;
  sampled.Add({.name = "cpu_util_simple", .unit = "%"}, 25);
  sampled.Add(OnDevice("gpu_sm_clock_mhz", "MHz", "GPU 0"), 1980);
  sampled.Add(OnDevice("gpu_sm_clock_mhz", "MHz", "GPU 1"), kMissing);
  sampled.Add(OnDevice("gpu_energy_j", "J", "GPU 0", MetricKind::kTotal), 12.5);
  sampled.Add({.name = "net_throughput_sent",
               .unit = "bytes/s",
               .kind = MetricKind::kRate,
               .counter = "network_sent_bytes"},
              kMissing, 4096);
  sampled.Add({.name = "free_memory", .unit = "bytes"}, kMissing);
  sampled.Add({.name = "process_rss_bytes",
               .unit = "bytes",
               .scope = MetricScope::kProcess,
               .instance = "7 a\"\\\n\x1b\xff"},
              1);
  const std::vector<GpuIdentity> gpus = {{.instance = "GPU 0", .name = "H\"200", .uuid = "GPU-1"}};
  EXPECT_EQ(
      PrometheusText(sampled.metrics, sampled.reading, gpus),
      R"(# HELP headroom_cpu_util_simple_ratio Busy time of the CPU, averaged over cores; waiting for I/O is not busy
# TYPE headroom_cpu_util_simple_ratio gauge
headroom_cpu_util_simple_ratio{scope="host"} 0.25
# HELP headroom_gpu_energy_joules_total Energy since the driver was loaded
# TYPE headroom_gpu_energy_joules_total counter
headroom_gpu_energy_joules_total{scope="device",device="GPU 0"} 12.5
# HELP headroom_gpu_info Name and UUID of each GPU that the program sees
# TYPE headroom_gpu_info gauge
headroom_gpu_info{device="GPU 0",name="H\"200",uuid="GPU-1"} 1
# HELP headroom_gpu_sm_clock_hertz Clock of the streaming multiprocessors (SMs)
# TYPE headroom_gpu_sm_clock_hertz gauge
headroom_gpu_sm_clock_hertz{scope="device",device="GPU 0"} 1980000000
# HELP headroom_network_sent_bytes_total Bytes sent over the network, without RDMA
# TYPE headroom_network_sent_bytes_total counter
headroom_network_sent_bytes_total{scope="host"} 4096
# HELP headroom_process_rss_bytes Resident memory of one process
# TYPE headroom_process_rss_bytes gauge
headroom_process_rss_bytes{scope="process",process="7 a\"\\\n??"} 1
)");
}

TEST(MetricsServer, AnswersForLoopbackOnly) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:9464", "localhost", "localhost:9464"})
    EXPECT_TRUE(IsLoopbackHost(host, 9464)) << host;
  for (const char* host : {"", "evil.example", "127.0.0.1:1", "localhost.evil.example",
                           "127.0.0.1:", "127.0.0.1:94640", "[::1]"})
    EXPECT_FALSE(IsLoopbackHost(host, 9464)) << host;
}

TEST(Sparkline, ShowsTheLastValuesAndLeavesWhatIsMissingBlank) {
  const std::deque<double> values = {100, 0, kMissing, 50, 100};
  EXPECT_EQ(Sparkline(values, 4, 100, Charset::kAscii), "_ +#");
  EXPECT_EQ(Sparkline(values, 4, 100, Charset::kUtf8), "▁ ▅█");
  EXPECT_EQ(Sparkline({0, 0}, 10, 0, Charset::kUtf8), "▁▁");
  EXPECT_EQ(Sparkline(values, 0, 100, Charset::kUtf8), "");
}

TEST(MetricTable, FitsItsWindowAndShowsNothingDangerous) {
  Sampled sampled;
  sampled.Add({.name = "cpu_util_simple", .unit = "%"}, 0);
  sampled.Add({.name = "never_there", .unit = "%"}, kMissing);
  sampled.Add({.name = "always_zero", .unit = "%"}, 0);
  for (int i = 0; i < 50; ++i) {
    sampled.Add({.name = "process_cpu_pct",
                 .unit = "%",
                 .scope = MetricScope::kProcess,
                 .instance = std::to_string(i) + " \x1b[2J" + std::string(40, 'x')},
                i + 1);
  }
  sampled.reading.users = {{.resource = "CPU", .pid = 7, .name = "\x1b]0;x\x07", .value = 120}};
  MetricTable table;
  table.Add(sampled.metrics, sampled.reading);
  for (const std::size_t height : {4u, 10u, 24u, 100u}) {
    for (const std::size_t width : {20u, 80u, 200u}) {
      const auto lines = table.Render("title", width, height, Charset::kUtf8);
      EXPECT_LE(lines.size(), height);
      EXPECT_EQ(lines[0], "title");
      std::string all;
      for (const std::string& line : lines) {
        EXPECT_LE(DisplayWidth(line), width);
        EXPECT_EQ(line.find('\x1b'), std::string::npos);
        all += line + "\n";
      }
      EXPECT_NE(all.find(width < 40 ? "cpu_" : "cpu_util_simple"), std::string::npos);
      EXPECT_EQ(all.find("never_there"), std::string::npos);
      EXPECT_EQ(all.find("always_zero"), std::string::npos);
      EXPECT_EQ(all.find(" more") != std::string::npos, height < 100) << width << " x " << height;
    }
  }
}

TEST(MetricTable, NoNumberIsCut) {
  Sampled sampled;
  sampled.Add({.name = "cpu_util_simple", .unit = "%"}, 58.3);
  sampled.Add(OnDevice("process_disk_written_bytes_per_s", "bytes/s", "23371 python3 train.py"),
              123.45e9);
  sampled.Add({.name = "context_switches_per_s", .unit = "1/s"}, 1234567890.5);
  sampled.reading.users = {
      {.resource = "CPU", .pid = 4194303, .name = "a process of some name", .value = 1234.5}};
  MetricTable table;
  table.Add(sampled.metrics, sampled.reading);
  const std::string last_value = "1234567890.5 1/s";
  for (const std::size_t width : {40u, 50u, 60u, 70u, 80u, 100u}) {
    for (const Charset charset : {Charset::kUtf8, Charset::kAscii}) {
      const auto lines = table.Render("title", width, 24, charset);
      ASSERT_EQ(lines.size(), 5u);
      const std::vector<std::string> values = {"58.3 %", "123 GB/s", last_value, "1234.5 %"};
      const std::string bars = width >= 80 ? (charset == Charset::kUtf8 ? " █" : " #") : "";
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::string& line = lines[i + 1];
        EXPECT_LE(DisplayWidth(line), width) << line;
        EXPECT_NE(line.find(values[i]), std::string::npos) << width << ": " << line;
      }
      EXPECT_TRUE(lines[1].starts_with("cpu_")) << lines[1];
      EXPECT_TRUE(lines[3].ends_with(last_value + bars)) << width << ": " << lines[3];
      EXPECT_NE(lines[2].find("233"), std::string::npos) << "whose it is: " << lines[2];
    }
  }
}

TEST(FormatMetric, NamesTheUnit) {
  EXPECT_EQ(FormatMetric(kMissing, "%"), "-");
  EXPECT_EQ(FormatMetric(12.345, "%"), "12.3 %");
  EXPECT_EQ(FormatMetric(1.5e9, "bytes/s"), "1.50 GB/s");
  EXPECT_EQ(FormatMetric(3, "1"), "3");
  EXPECT_EQ(FormatMetric(1980, "MHz"), "1980 MHz");
  EXPECT_EQ(FormatMetric(0x44, "bits"), "0x44");
}

}  // namespace metric_output_test
}  // namespace headroom::cli
