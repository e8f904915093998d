#include "answers/predict/recorded_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "analysis/test_trace.h"
#include "kernels/test_devices.h"

namespace headroom {
namespace recorded_steps_test {

constexpr double kTolerance = 1e-9;
constexpr std::int64_t kStepUs = 10'000;
constexpr int kSteps = 3;

const GpuModels& Models() {
  static const GpuModels models = GpuModels::Load({}, std::nullopt).value();
  return models;
}

struct Shape {
  std::string_view dims = "[[32, 4096], [4096, 4096]]";
  /// The kernel begins 20 us into the step, so by default it ends with the step.
  std::int64_t kernel_us = 9'980;
  bool marked = true;  ///< Each step has a marker.
};

/// Three steps of 10 ms, each with one matrix product for which the host waits.
StoreBuilder Steps(const Shape& shape = {}) {
  StoreBuilder b;
  for (int step = 0; step < kSteps; ++step) {
    const std::int64_t begin = step * kStepUs;
    if (shape.marked) b.Step(step, kMain, begin, kStepUs);
    auto& op = b.Op("aten::mm", kMain, begin + 1, 20).Sequence(step);
    if (!shape.dims.empty()) op.Shapes(shape.dims, R"(["float", "float"])");
    b.Call("cudaLaunchKernel", kMain, begin + 5, 4, step + 1);
    b.Kernel(kGemm, kStream, begin + 20, shape.kernel_us, step + 1);
    b.Call("cudaDeviceSynchronize", kMain, begin + 30,
           std::max<std::int64_t>(shape.kernel_us - 10, 5));
  }
  return b;
}

/// Samples of the energy counter, one per millisecond.
void AddPower(double watts, StoreBuilder& b) {
  constexpr std::int64_t kEveryUs = 1'000;
  for (std::int64_t us = 0; us <= kSteps * kStepUs; us += kEveryUs)
    b.Counter("gpu_energy_j", "GPU 0", "J", us, 1000 + watts * static_cast<double>(us) / 1e6);
}

struct RecordedJob {
  explicit RecordedJob(const StoreBuilder& builder, std::optional<std::int64_t> ranks = {})
      : store(builder.Build()) {
    store->metadata.world_size = ranks;
    Result<std::unique_ptr<Job>> made = Job::Make(*store, TestReferenceData(), {}, Calibration());
    EXPECT_TRUE(made.ok()) << made.status().message();
    job = std::move(made).value();
  }
  std::unique_ptr<TraceStore> store;
  std::unique_ptr<Job> job;
};

Status Add(const RecordedJob& recorded, const std::vector<std::string>& gpus,
           const RecordedStepQuestion& question, PredictReport& report, bool whole_job = false,
           std::span<const PlannedMachine> machines = {}) {
  Baseline baseline;
  baseline.corrected = {.low = 9, .mid = 10, .high = 12};
  const Result<std::vector<DeviceRates>> targets = Models().AllNamed(gpus);
  EXPECT_TRUE(targets.ok()) << targets.status().message();
  const DeviceRates source = Models().RatesNamed("H200").value();
  return AddRecordedStep(*recorded.job, baseline, Models(), source, targets.value(), question,
                         whole_job, machines, report);
}

PredictReport Predicted(const RecordedJob& recorded, const std::vector<std::string>& gpus,
                        const RecordedStepQuestion& question = {.trace = "a.json"},
                        std::span<const PlannedMachine> machines = {}) {
  PredictReport report;
  const Status status = Add(recorded, gpus, question, report, false, machines);
  EXPECT_TRUE(status.ok()) << status.message();
  return report;
}

TEST(SourceGpuOf, TheTraceOrElseTheUserNamesIt) {
  StoreBuilder unnamed = Steps(), named = Steps(), unknown = Steps(), sized = Steps();
  named.NameDevice(0, "NVIDIA H200");
  unknown.NameDevice(0, "Acme 9000");
  // A T4 reports 0.92 of its 16 GiB as memory.
  sized.SizeDevice(0, 40, 15'805'479'649, {7, 5});
  StoreBuilder beside_unnamed = named, beside_t4 = named;
  beside_unnamed.SizeDevice(1, 7, 1'000, {9, 0}).Kernel(kGemm, kStream, 100, 100).Device(1);
  beside_t4.NameDevice(1, "Tesla T4").Kernel(kGemm, kStream, 100, 100).Device(1);
  const struct {
    const StoreBuilder& builder;
    const char* from;
    const char* gpu;  ///< If nullptr, SourceGpuOf() must fail with `code` and `words`.
    StatusCode code = StatusCode::kOk;
    const char* words = "";
  } kCases[] = {
      {named, "", "H200"},
      {named, "NVIDIA H200 SXM", "H200"},
      {named, "T4", nullptr, StatusCode::kUsage,
       "--from T4: a.json states that it was recorded on NVIDIA H200; leave out --from"},
      {sized, "", "T4"},
      {sized, "H200", "H200"},
      {beside_unnamed, "", "H200"},
      {beside_t4, "", nullptr, StatusCode::kNoAnswer,
       "a.json: not recorded on exactly one known GPU: NVIDIA H200, Tesla T4; name the GPU"},
      {unnamed, "T4", "T4"},
      {unnamed, "T44", nullptr, StatusCode::kUsage, "unknown GPU 'T44'; similar names"},
      {unnamed, "", nullptr, StatusCode::kNoAnswer,
       "a.json: the trace does not name its GPU; name the GPU with --from"},
      {unknown, "", nullptr, StatusCode::kNoAnswer,
       "a.json: not recorded on exactly one known GPU: Acme 9000; name the GPU with --from"},
  };
  for (const auto& c : kCases) {
    const RecordedJob recorded(c.builder);
    const Result<DeviceRates> source = SourceGpuOf(Models(), *recorded.job, "a.json", c.from);
    if (c.gpu != nullptr) {
      ASSERT_TRUE(source.ok()) << source.status().message();
      EXPECT_EQ(source.value().device->short_name, c.gpu);
    } else {
      ASSERT_FALSE(source.ok()) << c.words;
      EXPECT_EQ(source.status().code(), c.code) << c.words;
      EXPECT_EQ(source.status().message().rfind(c.words, 0), 0u) << source.status().message();
    }
  }
}

TEST(AddRecordedStep, TheRecordedGpuKeepsTheBaselineUnlessTheHostChanges) {
  const RecordedJob recorded(Steps());
  const PredictReport report = Predicted(recorded, {"T4", "H200"});
  EXPECT_EQ(report.source_gpu, "H200");
  ASSERT_EQ(report.targets.size(), 2u);
  const PredictedTarget& t4 = report.targets[0];
  const PredictedTarget& h200 = report.targets[1];
  EXPECT_EQ(t4.gpu, "T4");
  EXPECT_NEAR(*t4.speedup, 10 / t4.step.mid, kTolerance);
  EXPECT_EQ(h200.step.low, 9);
  EXPECT_EQ(h200.step.high, 12);
  EXPECT_EQ(h200.speedup, 1);
  EXPECT_EQ(h200.doubt, "");
  EXPECT_EQ(h200.limited_by, "gpu");
  const RecordedJob short_kernels(Steps({.kernel_us = 5}));
  EXPECT_EQ(Predicted(short_kernels, {"H200"}).targets[0].limited_by, "host");
  const PredictReport of_host = Predicted(short_kernels, {"H100"});
  const PredictedMs& step = of_host.targets[0].step;
  EXPECT_LE(step.low, 0.9 * step.mid) << "the recorded host is just as uncertain there";
  EXPECT_GE(step.high, 1.2 * step.mid);
  EXPECT_EQ(h200.samples, 32);
  const PredictReport faster = Predicted(recorded, {"H200"}, {.trace = "a.json", .host_factor = 2});
  EXPECT_GE(faster.targets[0].step.mid, 9.98) << "what the kernel takes";
  EXPECT_LE(faster.targets[0].step.mid, 10);
  EXPECT_GT(faster.targets[0].step.low, 9.5) << "a range of its own";
}

// A job may use 15.8 GB of a T4.
TEST(AddRecordedStep, EachJobIsAGroupWithAMemoryOfItsOwn) {
  const RecordedJob recorded(Steps());
  PredictReport report;
  for (const auto& [name, bytes] : {std::pair("a.json", 14e9), std::pair("b.json", 16e9)}) {
    const RecordedMemory timeline{.parameters = bytes};
    const RecordedStepQuestion question{.trace = name, .workload = name, .timeline = timeline};
    ASSERT_TRUE(Add(recorded, {"T4"}, question, report).ok());
  }
  ASSERT_EQ(report.targets.size(), 2u);
  EXPECT_EQ(report.targets[0].group, 0u);
  EXPECT_EQ(report.targets[0].fits, true);
  EXPECT_EQ(report.targets[1].group, 1u);
  EXPECT_EQ(report.targets[1].fits, false);
  EXPECT_EQ(report.targets[1].workload, "b.json");
  EXPECT_EQ(report.baselines.at(1).trace, "b.json");
}

// 400 W for 10 ms on each of four ranks is 16 J.
TEST(AddRecordedStep, MeasuredEnergyIsOfTheRecordedGpuAndOfAllRanks) {
  StoreBuilder builder = Steps();
  AddPower(400, builder);
  const RecordedJob recorded(builder, 4);
  const PredictReport report = Predicted(recorded, {"H200"});
  EXPECT_EQ(report.baselines[0].gpus, 4);
  EXPECT_NEAR(report.baselines[0].energy->joules, 16, kTolerance);
  EXPECT_EQ(report.targets[0].gpus, 4);
  EXPECT_NEAR(report.targets[0].energy->joules, 16, kTolerance);
  EXPECT_EQ(report.targets[0].energy->source, EnergySource::kCounter);
  const PredictReport other = Predicted(recorded, {"H200"}, {.trace = "a.json", .host_factor = 2});
  EXPECT_EQ(other.targets[0].energy->source, EnergySource::kModel);
}

// The model assumes about 350 W for a busy H200. It clamps the ratio 33 / 350 to 0.5.
TEST(AddRecordedStep, OtherGpusCarryWhatTheModelIsOffBy) {
  StoreBuilder builder = Steps();
  const RecordedJob modelled(builder);
  AddPower(33, builder);
  const RecordedJob measured(builder);
  const PredictedTarget by_model = Predicted(modelled, {"T4"}).targets[0];
  const PredictedTarget carried = Predicted(measured, {"T4"}).targets[0];
  EXPECT_NEAR(carried.energy->joules, by_model.energy->joules / 2, kTolerance);
  EXPECT_EQ(carried.why,
            by_model.why +
                "; energy is the model's value multiplied by 0.50, the ratio of measured to "
                "modelled energy on H200");
}

TEST(AddRecordedStep, IgnoresAWorldSizeAboveAMillion) {
  for (const auto& [ranks, gpus] :
       {std::pair(1'000'000, 1'000'000), std::pair(1'000'001, 1), std::pair(0, 1)})
    EXPECT_EQ(Predicted(RecordedJob(Steps(), ranks), {"T4"}).targets[0].gpus, gpus) << ranks;
}

TEST(AddRecordedStep, RefusesQuestionsAboutStepsOrSamplesThatTheTraceLacks) {
  const RecordedJob unmarked(Steps({.marked = false})), shapeless(Steps({.dims = ""}));
  const struct {
    const RecordedJob& recorded;
    RecordedStepQuestion question;
    bool whole_job;
    const char* words;
  } kCases[] = {
      {unmarked, {.trace = "a.json"}, true, "a.json: has no marked steps, which "},
      {unmarked, {.trace = "a.json", .batch_curve = true}, false, "a.json: has no marked "},
      {shapeless,
       {.trace = "a.json", .batch_curve = true},
       false,
       "a.json: --batch-curve: the samples per step "}};
  for (const auto& c : kCases) {
    PredictReport report;
    const Status status = Add(c.recorded, {"T4"}, c.question, report, c.whole_job);
    EXPECT_EQ(status.code(), StatusCode::kNoAnswer) << c.words;
    EXPECT_EQ(status.message().rfind(c.words, 0), 0u) << status.message();
    EXPECT_TRUE(report.targets.empty() && report.baselines.empty()) << c.words;
  }
  EXPECT_FALSE(Predicted(unmarked, {"T4"}).targets[0].samples.has_value());
}

// A job may use 15.8 GB of a T4 (0.92 * 16 GiB) and 150 GB of an H200. The margin is a tenth.
TEST(AddRecordedStep, FitsUnlessTheMarginDecides) {
  const struct {
    double bytes;
    const char* gpu;
    std::optional<bool> fits;
    FitConfidence confidence;
  } kCases[] = {{10e9, "T4", true, FitConfidence::kFits},
                {14e9, "T4", true, FitConfidence::kLikely},
                {15e9, "T4", std::nullopt, FitConfidence::kMayNotFit},
                {16e9, "T4", false, FitConfidence::kDoesNotFit},
                {110e9, "H200", true, FitConfidence::kFits},
                {135e9, "H200", true, FitConfidence::kLikely},
                {136e9, "H200", std::nullopt, FitConfidence::kMayNotFit},
                {151e9, "H200", false, FitConfidence::kDoesNotFit}};
  const RecordedJob recorded(Steps());
  for (const auto& c : kCases) {
    const RecordedMemory timeline{.parameters = c.bytes};
    const PredictReport report =
        Predicted(recorded, {c.gpu}, {.trace = "a.json", .timeline = timeline});
    EXPECT_EQ(report.targets[0].fits, c.fits) << c.gpu << " " << c.bytes;
    EXPECT_EQ(report.targets[0].fit_confidence, c.confidence) << c.gpu << " " << c.bytes;
    EXPECT_EQ(report.targets[0].memory_bytes, c.bytes);
  }
}

TEST(AddRecordedStep, OnlyAJobOfOneGpuThatFitsIsScaledOut) {
  PlannedMachine machine{.price = 6, .gpu = "T4", .gpus = 2, .topology = {}};
  machine.topology = FlatTopology(100, DurationNs(0), 2);
  RecordedStepQuestion question{.trace = "a.json"};
  const std::span machines(&machine, 1);
  const RecordedJob one(Steps()), four(Steps(), 4);
  EXPECT_TRUE(Predicted(four, {"T4"}, question, machines).targets[0].machines.empty());
  question.timeline = RecordedMemory{.parameters = 16e9};
  const PredictReport report = Predicted(one, {"T4"}, question, machines);
  ASSERT_EQ(report.targets[0].machines.size(), 1u);
  EXPECT_EQ(report.targets[0].machines[0].price, 6u);
  EXPECT_EQ(
      report.targets[0].machines[0].no_answer,
      "the gradient buckets, as large as the gradients, do not fit in GPU memory next to the job");
}

// 700 W for 100 ms is 70 J.
TEST(EnergyOn, TheRangeOfTheStepWidensItsError) {
  const KernelConstants& constants = Models().constants();
  const DeviceRates h200 = Models().RatesNamed("H200").value();
  const StepActivity idle{.step_ms = 100};
  const double joules = 70 * constants.energy_idle;
  const struct {
    PredictedMs step;
    double of_time;
  } kCases[] = {{{.low = 90, .mid = 100, .high = 130}, 0.3},
                {{.low = 60, .mid = 100, .high = 130}, 0.4},
                {{.low = 0, .mid = 0, .high = 130}, 0}};
  for (const auto& c : kCases) {
    const StepEnergy energy = *EnergyOn(h200, idle, c.step, constants);
    EXPECT_NEAR(energy.joules, joules, kTolerance);
    EXPECT_NEAR(energy.error, std::hypot(constants.energy_error, c.of_time), kTolerance);
    EXPECT_NEAR(EnergyOn(h200, idle, c.step, constants, 1.5)->joules, 1.5 * joules, kTolerance);
  }
}

}  // namespace recorded_steps_test
}  // namespace headroom
