#include "analysis/loop/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "analysis/test_trace.h"

namespace headroom {
namespace metrics_test {

std::vector<MetricRow> Table(const StoreBuilder& builder) { return MetricTable(*builder.Build()); }

TEST(MetricTable, MeansAreWeightedWithTime) {
  StoreBuilder b;
  b.Counter("power", "GPU 0", "W", 0, 100);
  b.Counter("power", "GPU 0", "W", 10, 200);   // 10 us at 150.
  b.Counter("power", "GPU 0", "W", 100, 200);  // 90 us at 200.
  const std::vector<MetricRow> rows = Table(b);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].gpu, 0);
  EXPECT_EQ(rows[0].instance, "GPU 0");
  EXPECT_EQ(rows[0].unit, "W");
  EXPECT_DOUBLE_EQ(rows[0].mean, 195);
  EXPECT_EQ(rows[0].min, 100);
  EXPECT_EQ(rows[0].max, 200);
  EXPECT_EQ(rows[0].last, 200);
  EXPECT_EQ(rows[0].samples, 3);
}

TEST(MetricTable, MissingSamplesAreInNoFigure) {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  StoreBuilder b;
  b.Counter("rate", "eth0", "bytes/s", 0, kMissing);  // The first sample of a rate.
  b.Counter("rate", "eth0", "bytes/s", 10, 4);
  b.Counter("rate", "eth0", "bytes/s", 20, 6);
  b.Counter("rate", "eth0", "bytes/s", 30, kMissing);
  b.Counter("rate", "eth0", "bytes/s", 1000, 100);  // Isolated: it belongs to no span.
  b.Counter("rate", "eth1", "bytes/s", 0, INFINITY);
  const std::vector<MetricRow> rows = Table(b);
  ASSERT_EQ(rows.size(), 1u) << "eth1 holds no number";
  EXPECT_EQ(rows[0].gpu, std::nullopt);
  EXPECT_DOUBLE_EQ(rows[0].mean, 5);
  EXPECT_EQ(rows[0].max, 100);
  EXPECT_EQ(rows[0].samples, 3);
}

TEST(MetricTable, LoneSamplesCountAlike) {
  StoreBuilder b;
  b.Counter("a", "", "", 5, 3);
  b.Counter("a", "", "", 5, 5);
  const std::vector<MetricRow> rows = Table(b);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].mean, 4);
  EXPECT_EQ(rows[0].unit, "");
}

TEST(MetricTable, SaysOnWhichMachineWhereThatWasRecorded) {
  StoreBuilder b;
  b.Counter("power", "GPU 0", "W", 0, 100);
  EXPECT_EQ(Table(b).at(0).host, "");
  b.Instant("headroom", "about", 0, R"("argv": "train.py")");
  b.Instant("elsewhere", "about", 0, R"("host": "not ours")");
  b.Instant("headroom", "about", 0, R"("host": "node7")");
  EXPECT_EQ(Table(b).at(0).host, "node7");

  // Two recordings merged into one file: GPU 0 differs between the machines.
  b.InProcess("2");
  b.Instant("headroom", "about", 0, R"("host": "node8")");
  b.Counter("power", "GPU 0", "W", 10, 300);
  b.InProcess("3").Counter("power", "GPU 0", "W", 20, 700);
  const std::vector<MetricRow> rows = Table(b);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].host, "");
  EXPECT_EQ(rows[0].mean, 700);
  EXPECT_EQ(rows[1].host, "node7");
  EXPECT_EQ(rows[1].mean, 100);
  EXPECT_EQ(rows[2].host, "node8");
  EXPECT_EQ(rows[2].mean, 300);
}

TEST(MetricTable, RowsComeByNameThenGpuThenInstance) {
  StoreBuilder b;
  for (const char* instance : {"GPU 10", "GPU 2", "GPU x", ""}) b.Counter("b", instance, "%", 0, 1);
  b.Counter("a", "sda", "%", 0, 1);
  std::vector<std::string> order;
  for (const MetricRow& row : Table(b)) order.push_back(row.name + " " + row.instance);
  EXPECT_EQ(order, (std::vector<std::string>{"a sda", "b ", "b GPU x", "b GPU 2", "b GPU 10"}));
}

struct NoteCase {
  const char* shows;
  void (*draw)(StoreBuilder&);
  const char* note;  ///< Part of the expected note; empty if no note is expected.
};

const NoteCase kNotes[] = {
    {"a quota that throttles",
     [](StoreBuilder& b) { b.Counter("cgroup_cpu_throttled", "", "%", 0, 12.5); },
     "CPU quota of the container throttled the job: cgroup_cpu_throttled was 12.5 %"},
    {"a quota that does not",
     [](StoreBuilder& b) { b.Counter("cgroup_cpu_throttled", "", "%", 0, 0); }, ""},
    {"a GPU that is held down",
     [](StoreBuilder& b) { b.Counter("gpu_throttle_sw_power_cap", "GPU 1", "%", 0, 40); },
     "GPU 1 was slowed down: gpu_throttle_sw_power_cap was 40.0 %"},
    {"a GPU that has nothing to do",
     [](StoreBuilder& b) { b.Counter("gpu_throttle_idle", "GPU 1", "%", 0, 40); }, ""},
    {"memory that runs short",
     [](StoreBuilder& b) { b.Counter("cgroup_memory_used", "", "%", 0, 98); },
     "memory of the machine ran short: cgroup_memory_used reached 98.0 %"},
    {"a busy memory bus is no shortage",
     [](StoreBuilder& b) { b.Counter("gpu_memory_util", "GPU 0", "%", 0, 99); }, ""},
    {"others on the GPU, each once",
     [](StoreBuilder& b) {
       for (int i = 0; i < 3; ++i) {
         b.Instant("headroom", "foreign_user", i,
                   R"("resource": "GPU 0", "pid": 4711, "name": "python3")");
       }
     },
     "other processes used GPU 0 while the job ran: python3 (4711)"},
    {"points of another kind",
     [](StoreBuilder& b) { b.Instant("gradient", "foreign_user", 0, R"("resource": "GPU 0")"); },
     ""},
};

TEST(ExplainMachine, Notes) {
  for (const NoteCase& c : kNotes) {
    SCOPED_TRACE(c.shows);
    StoreBuilder b;
    c.draw(b);
    const std::unique_ptr<TraceStore> store = b.Build();
    const std::vector<MachineNote> notes = ExplainMachine(*store, MetricTable(*store));
    ASSERT_EQ(notes.size(), *c.note == '\0' ? 0u : 1u);
    if (!notes.empty()) {
      EXPECT_NE(notes[0].text.find(c.note), std::string::npos) << notes[0].text;
    }
  }
}

TEST(ExplainMachine, IsEvidenceOfWhatItMayExplain) {
  StoreBuilder b;
  for (int i = 0; i < 4; ++i) {
    b.Step(i, kMain, i * 10'000, 10'000);
    b.Launch("aten::mm", kMain, i * 10'000 + 9'000, kGemm, kStream, i * 10'000 + 9'010, 500);
  }
  const auto sample = [&](std::string_view name, std::string_view series, double value) {
    for (const std::int64_t at : {0, 40'000}) b.Counter(name, series, "%", at, value);
  };
  sample("process_tree_runqueue_wait_pct", "", 60);
  sample("cgroup_cpu_throttled_periods_pct", "", 100);
  sample("memory_pressure_full_pct", "", 30);
  sample("io_pressure_full_pct", "", 1);
  sample("gpu_throttle_sw_power_cap", "GPU 0", 50);
  const TraceReport report = AnalyzeTrace(b);
  ASSERT_EQ(report.bottleneck.verdict, Verdict::kHost);
  std::string evidence;
  for (const std::string& text : report.bottleneck.evidence) evidence += text + "\n";
  for (const char* word : {"no CPU core: 60.0 %", "quota", "waited for memory"})
    EXPECT_NE(evidence.find(word), std::string::npos) << word << " in " << evidence;
  for (const char* word : {"waited for files", "GPU 0"})
    EXPECT_EQ(evidence.find(word), std::string::npos) << word << " in " << evidence;
}

}  // namespace metrics_test
}  // namespace headroom
