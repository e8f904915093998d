#include "predict/energy.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/test_devices.h"
#include "predict/step_estimate.h"
#include "store/store_builder.h"

namespace headroom {
namespace energy_test {

constexpr double kTolerance = 1e-9;

TEST(Energy, AGpuThatWaitsTakesTheIdleShareAndOneAtFullRateAll) {
  const KernelConstants& constants = ShippedConstants();
  const DeviceRates h200 = RatesOfGpu("H200");  // 700 W.
  const auto joules = [&](double busy, double active) {
    return ModelledEnergy({.step_ms = 100, .busy_ms = busy, .active_ms = active}, h200, constants)
        ->joules;
  };
  EXPECT_NEAR(joules(0, 0), 70 * constants.energy_idle, kTolerance);
  EXPECT_NEAR(joules(100, 0), 70 * (constants.energy_idle + constants.energy_busy), kTolerance);
  EXPECT_NEAR(joules(100, 100), 70, kTolerance);
  EXPECT_NEAR(joules(500, 500), 70, kTolerance) << "at most the power limit";
}

// A power-limited card draws all of its power.
TEST(Energy, LargeProductsTakeAllThePowerOfASmallCard) {
  OperatorList list;
  list.works.push_back({.work = {.shape = ProductWork{.m = 8192, .k = 8192, .n = 8192}}});
  for (const char* gpu : {"T4", "L4", "P4", "A100-80", "H200"}) {
    const DeviceRates rates = RatesOfGpu(gpu);
    const Result<StepEstimate> step =
        EstimateStep(list, rates, ShippedConstants(), HostModel::None());
    ASSERT_TRUE(step.ok());
    const double watts = ModelledEnergy(step.value().activity, rates, ShippedConstants())->joules *
                         1e3 / step.value().step.mid;
    EXPECT_GT(watts, 0.88 * *rates.device->tdp_w) << gpu;
    EXPECT_LE(watts, *rates.device->tdp_w * (1 + kTolerance)) << gpu;
  }
}

TEST(Energy, WithoutAPowerLimitThereIsNone) {
  DeviceSpec device = *ShippedDevices().Find("H200");
  device.tdp_w.reset();
  DeviceRates rates = RatesOfGpu("H200");
  rates.device = &device;
  EXPECT_FALSE(ModelledEnergy({.step_ms = 1}, rates, ShippedConstants()).has_value());
}

std::vector<Interval> TwoSteps() {
  return {{TimeNs(0), TimeNs(1'000'000'000)}, {TimeNs(1'000'000'000), TimeNs(2'000'000'000)}};
}

TEST(Energy, TheCounterGoesBeforeSamplesOfPowerAndAllGpusOfTheJobCount) {
  StoreBuilder b;
  for (const std::int64_t device : {0, 1}) {
    const std::string gpu = "GPU " + std::to_string(device);
    b.Kernel("k", 7, 100, 100).Device(device);
    b.Counter("gpu_energy_j", gpu, "J", 0, 1000);
    b.Counter("gpu_energy_j", gpu, "J", 2'000'000, device == 0 ? 1600 : 2000);
    b.Counter("gpu_power_w", gpu, "W", 0, 1).Counter("gpu_power_w", gpu, "W", 2'000'000, 1);
  }
  const std::optional<StepEnergy> energy = MeasuredEnergy(*b.Build(), TwoSteps());
  ASSERT_TRUE(energy.has_value());
  EXPECT_EQ(energy->source, EnergySource::kCounter);
  EXPECT_NEAR(energy->joules, 400, kTolerance) << "mean over the GPUs";
}

// Without CUDA_VISIBLE_DEVICES, the recorder samples the whole machine.
TEST(Energy, NeighboursThatRunNoKernelOfTheJobDoNotCount) {
  StoreBuilder b;
  b.Kernel("k", 7, 100, 100).Device(1);
  for (int device = 0; device < 8; ++device) {
    b.Counter("gpu_energy_j", "GPU " + std::to_string(device), "J", 0, 1000);
    b.Counter("gpu_energy_j", "GPU " + std::to_string(device), "J", 2'000'000, 1200 + device);
  }
  EXPECT_NEAR(MeasuredEnergy(*b.Build(), TwoSteps())->joules, 100.5, kTolerance);
  EXPECT_EQ(WorkingGpus(*b.Build(), TwoSteps()), 1);
  b.Kernel("k", 7, 100, 100).Device(3);
  EXPECT_EQ(WorkingGpus(*b.Build(), TwoSteps()), 2);
}

TEST(Energy, WhichOfSeveralGpusAreTheJobsMustBeKnown) {
  StoreBuilder unnumbered, unsampled;
  unnumbered.Kernel("k", 7, 100, 100).Device(-1);
  unsampled.Kernel("k", 7, 100, 100).Device(2);
  for (StoreBuilder* b : {&unnumbered, &unsampled}) {
    for (const char* gpu : {"GPU 0", "GPU 1"}) {
      b->Counter("gpu_energy_j", gpu, "J", 0, 1000);
      b->Counter("gpu_energy_j", gpu, "J", 2'000'000, 1600);
    }
    EXPECT_FALSE(MeasuredEnergy(*b->Build(), TwoSteps()).has_value());
  }
}

TEST(Energy, GrowthOfOneCounterDoesNotHideTheResetOfAnother) {
  StoreBuilder b;
  for (const std::int64_t device : {0, 1}) b.Kernel("k", 7, 100, 100).Device(device);
  b.Counter("gpu_energy_j", "GPU 0", "J", 0, 1000);
  b.Counter("gpu_energy_j", "GPU 0", "J", 1'000'000, 5);
  b.Counter("gpu_energy_j", "GPU 0", "J", 2'000'000, 305);
  b.Counter("gpu_energy_j", "GPU 1", "J", 0, 0);
  b.Counter("gpu_energy_j", "GPU 1", "J", 2'000'000, 5000);
  EXPECT_FALSE(MeasuredEnergy(*b.Build(), TwoSteps()).has_value());
}

TEST(Energy, PowerIsIntegratedOverItsSamples) {
  StoreBuilder b;
  b.Counter("gpu_power_w", "GPU 0", "W", 0, 100)
      .Counter("gpu_power_w", "GPU 0", "W", 1'000'000, 300)
      .Counter("gpu_power_w", "GPU 0", "W", 2'000'000, 300);
  const std::optional<StepEnergy> energy = MeasuredEnergy(*b.Build(), TwoSteps());
  ASSERT_TRUE(energy.has_value());
  EXPECT_EQ(energy->source, EnergySource::kPower);
  EXPECT_NEAR(energy->joules, 250, kTolerance);
}

TEST(Energy, ACounterThatStoodStillGivesWayToSamplesOfPower) {
  for (const double end :
       {7000.0, 7020.0}) {  // In joules: constant, or growing for a twentieth of the time.
    StoreBuilder b;
    b.Kernel("k", 7, 0, 2'000'000).Device(1);
    for (int i = 0; i <= 4; ++i) {
      b.Counter("gpu_energy_j", "GPU 1", "J", i * 500'000, i == 0 ? 7000 : end);
      b.Counter("gpu_power_w", "GPU 1", "W", i * 500'000, 200);
      b.Counter("gpu_power_w", "GPU 0", "W", i * 500'000, 90);
    }
    const std::optional<StepEnergy> energy = MeasuredEnergy(*b.Build(), TwoSteps());
    ASSERT_TRUE(energy.has_value());
    EXPECT_EQ(energy->source, EnergySource::kPower) << end;
    EXPECT_NEAR(energy->joules, 200, kTolerance) << end;
  }
}

TEST(Energy, AGpuThatWorksNeverTakesNothing) {
  StoreBuilder b;
  for (const char* name : {"gpu_energy_j", "gpu_power_w"}) {
    b.Counter(name, "GPU 0", "?", 0, 0);
    b.Counter(name, "GPU 0", "?", 2'000'000, 0);
  }
  EXPECT_FALSE(MeasuredEnergy(*b.Build(), TwoSteps()).has_value());
}

TEST(Energy, WhatTheModelIsOffByIsCarriedOverWithinBounds) {
  const DeviceSpec& t4 = *RatesOfGpu("T4").device;  // 70 W.
  const StepEnergy modelled = {
      .joules = 2, .error = 0.5, .phase_joules = {1, 0.5}, .idle_joules = 0.5};
  const double factor = MeasuredOverModel({.joules = 24}, {.joules = 20});
  EXPECT_NEAR(factor, 1.2, kTolerance);
  EXPECT_EQ(MeasuredOverModel({.joules = 90}, {.joules = 20}), 2)
      << "a larger ratio is not a model error";
  EXPECT_EQ(MeasuredOverModel({.joules = 1}, {.joules = 20}), 0.5);
  const StepEnergy there = Carried(modelled, factor, 100, t4);
  EXPECT_NEAR(there.joules, 2.4, kTolerance);
  EXPECT_NEAR(there.phase_joules[0], 1.2, kTolerance);
  EXPECT_EQ(there.carried, factor);
  EXPECT_EQ(there.source, EnergySource::kModel);
  EXPECT_NEAR(Carried(modelled, factor, 30, t4).joules, 2.1, kTolerance) << "the power limit";
}

TEST(Energy, TooFewSamplesOrACounterThatWasResetTellNothing) {
  StoreBuilder none, one, reset;
  one.Counter("gpu_energy_j", "GPU 0", "J", 0, 1000);
  reset.Counter("gpu_energy_j", "GPU 0", "J", 0, 1000)
      .Counter("gpu_energy_j", "GPU 0", "J", 2'000'000, 5);
  for (const StoreBuilder* b : {&none, &one, &reset})
    EXPECT_FALSE(MeasuredEnergy(*b->Build(), TwoSteps()).has_value());
}

}  // namespace energy_test
}  // namespace headroom
