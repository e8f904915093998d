#include "analysis/analyze.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "analysis/test_trace.h"

namespace headroom {
namespace analyze_test {

/// Latest time and longest duration that readers accept, in ns.
constexpr std::int64_t kFar = std::int64_t{1} << 61;

rc::Gen<std::int64_t> AnyTime() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 50),
                        rc::gen::inRange<std::int64_t>(0, 1'000'000),
                        rc::gen::elementOf(std::vector<std::int64_t>{-kFar, kFar, 0}));
}

rc::Gen<std::int64_t> AnyDuration() {
  return rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 30),
                        rc::gen::inRange<std::int64_t>(0, 1'000'000),
                        rc::gen::elementOf(std::vector<std::int64_t>{0, kFar}));
}

/// Generates any mixture of rows, plausible or not.
StoreBuilder AnyTrace(bool far) {
  const std::vector<std::string> host_names = {"ProfilerStep#1",
                                               "ProfilerStep#2",
                                               "aten::mm",
                                               "autograd::engine::evaluate_function: MmBackward0",
                                               "Optimizer.step#SGD.step",
                                               "enumerate(DataLoader)#x",
                                               "Callback.on_end",
                                               "layer::a",
                                               "nn.Module: Linear_0",
                                               "train.py(1): f",
                                               "cudaLaunchKernel",
                                               "cudaStreamSynchronize",
                                               "cudaMemcpyAsync"};
  const auto time = far ? AnyTime() : rc::gen::inRange<std::int64_t>(0, 300);
  const auto duration = far ? AnyDuration() : rc::gen::inRange<std::int64_t>(0, 60);
  StoreBuilder b;
  b.InNanoseconds();
  const int host = *rc::gen::inRange(0, 40);
  for (int i = 0; i < host; ++i) {
    b.InProcess(*rc::gen::element<std::string>("1", "1", "1", "2"));
    const auto kind = static_cast<HostEventKind>(*rc::gen::inRange(0, 8));
    b.Event(kind, *rc::gen::elementOf(host_names), *rc::gen::inRange<std::int64_t>(0, 3), *time,
            *duration)
        .Correlation(*rc::gen::inRange<std::int64_t>(0, 20))
        .Sequence(*rc::gen::inRange<std::int64_t>(-1, 4))
        .ForwardThread(*rc::gen::inRange(-1, 3));
  }
  const int tasks = *rc::gen::inRange(0, 30);
  for (int i = 0; i < tasks; ++i) {
    const auto correlation = *rc::gen::inRange<std::int64_t>(0, 20);
    const std::int64_t stream = *rc::gen::inRange<std::int64_t>(0, 3);
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        b.Kernel(kGemm, stream, *time, *duration, correlation);
        break;
      case 1:
        b.Kernel(kAllReduce, stream, *time, *duration, correlation).Device(1);
        break;
      case 2:
        b.Copy(CopyKind::kHostToDevice, stream, *time, *duration, correlation);
        break;
      default:
        b.Set(stream, *time, *duration, correlation);
        break;
    }
  }
  return b;
}

RC_GTEST_PROP(AnalyzeProperty, PartsSumToTheirWholesInAnyTrace, ()) {
  const TraceReport report = AnalyzeTrace(AnyTrace(/*far=*/false));
  if (report.breakdown) {
    RC_ASSERT(report.breakdown->step.Sum().ns() == report.breakdown->wall.ns());
    if (report.stretch) {
      RC_ASSERT(report.breakdown->wall.ns() == report.stretch->wall.ns());
    } else {
      RC_ASSERT(report.breakdown->wall.ns() >= report.steps.min->ns());
      RC_ASSERT(report.breakdown->wall.ns() <= report.steps.max->ns());
    }
  }
  if (!report.causes.empty()) {
    DurationNs sum;
    for (const CauseRow& cause : report.causes) {
      RC_ASSERT(cause.time.ns() >= 0);
      sum += cause.time;
    }
    RC_ASSERT(sum.ns() == report.breakdown->wall.ns());
  }
  DurationNs of_kernels, of_operators, of_classes;
  for (const TimeRow& row : report.kernels) of_kernels += row.total;
  for (const TimeRow& row : report.operators) of_operators += row.total;
  for (const ClassRow& row : report.classes) of_classes += row.total;
  RC_ASSERT(of_classes.ns() == of_kernels.ns());
  RC_ASSERT(of_operators.ns() <= of_kernels.ns());
  for (const GpuTimeRow& row : report.gpu_time) {
    RC_ASSERT((row.busy + row.idle).ns() == row.span.ns());
    RC_ASSERT(row.busy.ns() == (row.compute + row.exposed_communication + row.exposed_memory).ns());
  }
  for (const StepRow& row : report.steps.list) {
    RC_ASSERT(row.wall.ns() >= 0);
    if (row.gpu_busy) RC_ASSERT((*row.gpu_busy + row.host_wait).ns() <= row.wall.ns());
  }
}

RC_GTEST_PROP(AnalyzeProperty, SurvivesTimesAtTheEdge, ()) {
  const TraceReport report = AnalyzeTrace(AnyTrace(/*far=*/true));
  if (report.breakdown) RC_ASSERT(report.breakdown->step.Sum().ns() == report.breakdown->wall.ns());
}

TEST(Analyze, TellsWhatTheFileSaysOfItself) {
  StoreBuilder b;
  b.NameDevice(1, "NVIDIA H200").NameDevice(0, "NVIDIA H200");
  b.Op("aten::mm", kMain, 50, 10);
  b.Kernel(kGemm, kStream, 70, 10);
  AnalysisOptions options;
  options.path = "a.json";
  options.rank = 3;
  const TraceReport report = AnalyzeTrace(b, options);
  EXPECT_EQ(report.input.path, "a.json");
  EXPECT_EQ(report.input.rank, 3) << "the trace does not say its own";
  EXPECT_EQ(report.input.events, 2);
  ASSERT_EQ(report.input.devices.size(), 2u);
  EXPECT_EQ(report.input.devices[0].id, 0);
  EXPECT_FALSE(report.input.devices[0].sms);
  EXPECT_EQ(report.trace_start, AtUs(50));
}

}  // namespace analyze_test
}  // namespace headroom
