// Invariants of any job: generated jobs here, recorded ones in
// tests/integration/test_invariants.py.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/test_trace.h"
#include "whatif/finding_forecasts.h"

namespace headroom {
namespace invariants_test {

constexpr const char* kTanh =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::tanh_kernel_cuda(at::TensorIteratorBase&)>(int)";

/// One step of a job. All steps of the job are copies of it. Times are microseconds.
struct Job {
  struct Launch {
    std::string kernel;
    std::int64_t pause;  ///< Host time before the launch.
    std::int64_t time;   ///< Kernel time.
  };
  std::int64_t batch_wait = 0;
  std::vector<Launch> launches;
  std::int64_t tail = 0;  ///< Host time after the GPU work.
  bool marked = true;
};

Job AnyJob() {
  Job job;
  job.batch_wait = *rc::gen::elementOf(std::vector<std::int64_t>{0, 0, 40, 900});
  const int launches = *rc::gen::inRange(1, 9);
  for (int i = 0; i < launches; ++i) {
    job.launches.push_back({*rc::gen::element<std::string>(kGemm, kAdd, kTanh, kAllReduce),
                            *rc::gen::inRange<std::int64_t>(1, 120),
                            *rc::gen::inRange<std::int64_t>(1, 300)});
  }
  job.tail = *rc::gen::inRange<std::int64_t>(1, 200);
  return job;
}

/// A recording of `steps` steps from `start` on. The host waits for the GPU at the end of each, so
/// all are identical.
StoreBuilder Record(const Job& job, int steps, std::int64_t start = 0) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  std::int64_t now = start, gpu_free = start, correlation = 1;
  for (int i = 0; i < steps; ++i) {
    const std::int64_t begin = now;
    if (job.batch_wait > 0) {
      b.Annotation("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", kMain, now + 1,
                   job.batch_wait);
      now += job.batch_wait + 2;
    }
    for (const Job::Launch& launch : job.launches) {
      now += launch.pause;
      b.Op("aten::mm", kMain, now, 6);
      b.Call("cudaLaunchKernel", kMain, now + 1, 3, correlation);
      const std::int64_t at = std::max(gpu_free, now + 5);
      b.Kernel(launch.kernel, kStream, at, launch.time, correlation++);
      gpu_free = at + launch.time;
      now += 7;
    }
    const std::int64_t wait = std::max<std::int64_t>(gpu_free - now, 0) + 3;
    b.Call("cudaStreamSynchronize", kMain, now, wait);
    now += wait + job.tail;
    if (job.marked) b.Step(i, kMain, begin, now - begin);
  }
  return b;
}

/// A report with its forecasts, on a machine where recording costs nothing.
TraceReport Forecasted(const StoreBuilder& builder, const AnalysisOptions& options = {}) {
  const std::unique_ptr<TraceStore> store = builder.Build();
  Result<TraceReport> report = Analyze(*store, TestReferenceData(), options);
  RC_ASSERT(report.ok());
  const Status status = ForecastFindings(
      *store, TestReferenceData(),
      {.calibration = {}, .from = "a test", .measured_step_ms = std::nullopt}, report.value());
  RC_ASSERT(status.ok());
  return std::move(report).value();
}

std::vector<std::int64_t> Walls(const TraceReport& report) {
  std::vector<std::int64_t> walls;
  for (const StepRow& row : report.steps.list) walls.push_back(row.wall.ns());
  return walls;
}

std::vector<std::string> Ids(const TraceReport& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.findings) ids.push_back(finding.id);
  return ids;
}

RC_GTEST_PROP(Invariants, ForecastsStayBetweenNothingAndTheStep, ()) {
  const TraceReport report = Forecasted(Record(AnyJob(), *rc::gen::inRange(1, 7)));
  RC_ASSERT(report.breakdown.has_value());
  RC_ASSERT(report.breakdown->step.Sum() == report.breakdown->wall);
  RC_ASSERT(report.engine.has_value());
  if (report.engine->corrected_step_ms) {
    RC_ASSERT(0 <= report.engine->corrected_step_ms->low);
    RC_ASSERT(report.engine->corrected_step_ms->low <= report.engine->corrected_step_ms->mid);
    RC_ASSERT(report.engine->corrected_step_ms->mid <= report.engine->corrected_step_ms->high);
    RC_ASSERT(report.engine->corrected_step_ms->mid <= report.steps.step_time->ms() * (1 + 1e-9));
  }
  for (const Finding& finding : report.findings) {
    if (finding.share_pct) RC_ASSERT(*finding.share_pct >= 0 && *finding.share_pct <= 100);
    if (!finding.saves_ms) continue;
    RC_ASSERT(finding.saves_ms->low <= finding.saves_ms->mid);
    RC_ASSERT(finding.saves_ms->mid <= finding.saves_ms->high);
    RC_ASSERT(finding.saves_ms->mid <= report.breakdown->wall.ms() * (1 + 1e-9));
    // A change may make the step longer, but removing idle time cannot.
    if (!finding.idle) continue;
    RC_ASSERT(0 <= finding.saves_ms->low);
    RC_ASSERT(finding.saves_ms->high <= finding.idle->ms() * (1 + 1e-9));
  }
}

RC_GTEST_PROP(Invariants, AJobThatRunsLaterHasTheSameReport, ()) {
  Job job = AnyJob();
  job.marked = *rc::gen::arbitrary<bool>();
  const std::int64_t later = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000);
  const TraceReport a = Forecasted(Record(job, 5)), b = Forecasted(Record(job, 5, later));
  RC_ASSERT(Walls(a) == Walls(b));
  RC_ASSERT(a.bottleneck.verdict == b.bottleneck.verdict);
  RC_ASSERT(a.bottleneck.evidence == b.bottleneck.evidence);
  RC_ASSERT(Ids(a) == Ids(b));
  RC_ASSERT(a.steps.source == b.steps.source);
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    RC_ASSERT(a.findings[i].title == b.findings[i].title);
    RC_ASSERT(a.findings[i].saves_ms.has_value() == b.findings[i].saves_ms.has_value());
    if (a.findings[i].saves_ms)
      RC_ASSERT(a.findings[i].saves_ms->mid == b.findings[i].saves_ms->mid);
  }
}

/// Selects steps `first` to `last`. The first step of a recording begins with its annotation, all
/// others where the GPU work of the previous step ends. From step 1 on, all are identical.
AnalysisOptions Window(std::int64_t first, std::int64_t last) {
  AnalysisOptions window;
  window.first_step = first;
  window.last_step = last;
  return window;
}

RC_GTEST_PROP(Invariants, TwiceTheSameStepsGiveTheSameAsOnce, ()) {
  const Job job = AnyJob();
  const int steps = *rc::gen::inRange(3, 6);
  const StoreBuilder recording = Record(job, 2 * steps + 2);
  const TraceReport once = Forecasted(recording, Window(1, steps)),
                    twice = Forecasted(recording, Window(1, 2 * steps));
  RC_ASSERT(twice.steps.list.size() == 2 * once.steps.list.size());
  RC_ASSERT(Walls(once).back() == Walls(twice).back());
  RC_ASSERT(once.breakdown->wall == twice.breakdown->wall);
  RC_ASSERT(once.bottleneck.verdict == twice.bottleneck.verdict);
  RC_ASSERT(Ids(once) == Ids(twice));
}

RC_GTEST_PROP(Invariants, AWindowOfLikeStepsAgreesWithAnyOther, ()) {
  const Job job = AnyJob();
  const std::int64_t first = *rc::gen::inRange<std::int64_t>(1, 4),
                     last = *rc::gen::inRange(first + 1, first + 4);
  const StoreBuilder recording = Record(job, 9);
  const TraceReport all = Forecasted(recording, Window(1, 7)),
                    some = Forecasted(recording, Window(first, last));
  const std::vector<std::int64_t> walls = Walls(all);
  RC_ASSERT(Walls(some) ==
            std::vector<std::int64_t>(walls.begin() + first - 1, walls.begin() + last));
  RC_ASSERT(some.breakdown->wall == all.breakdown->wall);
  RC_ASSERT(some.bottleneck.verdict == all.bottleneck.verdict);
  RC_ASSERT(all.engine->corrected_step_ms.has_value() ==
            some.engine->corrected_step_ms.has_value());
  if (all.engine->corrected_step_ms) {
    RC_ASSERT(some.engine->corrected_step_ms->mid >= all.engine->corrected_step_ms->low - 1e-6);
    RC_ASSERT(some.engine->corrected_step_ms->mid <= all.engine->corrected_step_ms->high + 1e-6);
  }
}

}  // namespace invariants_test
}  // namespace headroom
