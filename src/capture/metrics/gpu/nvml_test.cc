// Tests NVML and ROCm SMI through their real path, dlopen(), with the libraries of fake_nvml.c and
// fake_rocm_smi.c.
#include "capture/metrics/gpu/nvml.h"

#include <gtest/gtest.h>

#include <array>

#include "capture/metrics/board/test_root.h"
#include "capture/metrics/gpu/gpu_reader.h"
#include "capture/metrics/gpu/rocm_smi.h"
#include "capture/metrics/system_sampler.h"

namespace headroom {
namespace nvml_test {

struct Gpus : TestBoard {
  explicit Gpus(const std::optional<std::string>& visible = std::nullopt)
      : reader(
            [=] {
              return OpenNvml({"libno-such.so.1", FakeLibrary(kFakeNvml)}, visible);
            },
            board) {}
  void Sample() { TestBoard::Sample(reader, /*edge=*/true); }

  GpuReader reader;
};

TEST(Nvml, ReadsAGpu) {
  Gpus gpus;
  ASSERT_EQ(gpus.reader.gpus().size(), 4u);
  EXPECT_EQ(gpus.reader.gpus()[0].name, "Fake \"0\"");
  EXPECT_EQ(gpus.reader.gpus()[3].uuid, "GPU-0003-1111-2222");
  gpus.Sample();
  const char* gpu = "GPU 0";
  EXPECT_EQ(gpus.Value("gpu_util", gpu), 40);
  EXPECT_EQ(gpus.Value("gpu_memory_util_pct", gpu), 20);
  EXPECT_EQ(gpus.Value("gpu_free_memory", gpu), 600);
  EXPECT_EQ(gpus.Value("gpu_memory_used_bytes", gpu), 400);
  EXPECT_EQ(gpus.Value("gpu_sm_clock_mhz", gpu), 1980);
  EXPECT_EQ(gpus.Value("gpu_memory_clock_mhz", gpu), 2619);
  EXPECT_EQ(gpus.Value("gpu_power_w", gpu), 350.5);
  EXPECT_GT(gpus.Value("gpu_energy_j", gpu), 1000);
  EXPECT_TRUE(gpus.Missing("gpu_mean_power_w", gpu)) << "the first value of a rate is missing";
  EXPECT_EQ(gpus.Value("gpu_throttle_reasons", gpu), 0x44);
  EXPECT_EQ(gpus.Value("gpu_throttle_power_cap_pct", gpu), 100);
  EXPECT_EQ(gpus.Value("gpu_throttle_sw_thermal_pct", gpu), 0);
  EXPECT_FALSE(gpus.Has("gpu_temperature_c", gpu)) << "this library has no such function";
  EXPECT_EQ(gpus.Total("gpu_nvlink_sent_bytes_per_s", gpu), 1024.0 * (1 << 20)) << "KiB";
  EXPECT_FALSE(gpus.Has("gpu_nvlink_sent_bytes_per_s", "GPU 1")) << "no NVLink";
  gpus.Sample();
  EXPECT_GT(gpus.Value("gpu_mean_power_w", gpu), 0);
}

TEST(Nvml, TakesMeansOfHoppersCountersBetweenSamplesFarEnoughApart) {
  Gpus gpus;
  gpus.Sample();
  EXPECT_TRUE(gpus.Missing("gpu_sm_util_pct", "GPU 0"));
  EXPECT_FALSE(gpus.Has("gpu_sm_util_pct", "GPU 1"));
  gpus.Sample();
  EXPECT_TRUE(gpus.Missing("gpu_sm_util_pct", "GPU 0")) << "only 2 ms have passed";
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  gpus.Sample();
  EXPECT_EQ(gpus.Value("gpu_sm_util_pct", "GPU 0"), 2);
  EXPECT_EQ(gpus.Value("gpu_pcie_recv_bytes_per_s", "GPU 0"), 21.0 * (1 << 20)) << "MiB";
  EXPECT_TRUE(gpus.Missing("gpu_tensor_util_pct", "GPU 0")) << "this GPU lacks the counter";
}

// Determined's sampler stops reading every GPU after one failed call on one of them.
TEST(Nvml, OneFailingMetricOrGpuHarmsNoOther) {
  Gpus gpus;
  for (int sample = 0; sample < 3; ++sample) {
    gpus.Sample();
    EXPECT_EQ(gpus.Value("gpu_util", "GPU 0"), 40);
    EXPECT_TRUE(gpus.Missing("gpu_util", "GPU 1")) << "not supported: missing, never 0";
    EXPECT_EQ(gpus.Value("gpu_free_memory", "GPU 1"), 601);
    EXPECT_EQ(gpus.Value("gpu_util", "GPU 3"), 43);
    if (sample == 0) {
      EXPECT_EQ(gpus.Value("gpu_util", "GPU 2"), 42);
    } else {
      EXPECT_TRUE(gpus.Missing("gpu_util", "GPU 2")) << "lost";
      EXPECT_TRUE(gpus.Missing("gpu_free_memory", "GPU 2")) << "lost with all its metrics";
    }
  }
}

TEST(Nvml, WhatFailsForAMomentIsTriedAgain) {
  Gpus gpus;
  gpus.Sample();
  EXPECT_TRUE(gpus.Missing("gpu_power_w", "GPU 3"));
  gpus.Sample();
  EXPECT_EQ(gpus.Value("gpu_power_w", "GPU 3"), 350.5);
}

TEST(Nvml, NumbersGpusAsTheProgramDoes) {
  Gpus gpus("GPU-0003,1");
  ASSERT_EQ(gpus.reader.gpus().size(), 2u);
  gpus.Sample();
  EXPECT_EQ(gpus.Value("gpu_util", "GPU 0"), 43);
  EXPECT_EQ(gpus.Value("gpu_free_memory", "GPU 1"), 601);
  EXPECT_FALSE(gpus.Has("gpu_util", "GPU 2"));
  Gpus none("");
  EXPECT_TRUE(none.reader.gpus().empty());
  EXPECT_TRUE(none.board.metrics().empty());
}

TEST(Nvml, APartOfAGpuHasItsOwnMemory) {
  Gpus gpus("MIG-aaaa");
  ASSERT_EQ(gpus.reader.gpus().size(), 1u);
  EXPECT_EQ(gpus.reader.gpus()[0].uuid, "MIG-aaaa");
  gpus.Sample();
  EXPECT_EQ(gpus.Value("gpu_free_memory", "GPU 0"), 77);
  EXPECT_EQ(gpus.Value("gpu_util", "GPU 0"), 43) << "the value of its whole GPU";
}

TEST(Nvml, IsNotThereWithoutALibrary) {
  EXPECT_FALSE(OpenNvml({"libno-such.so.1"}, std::nullopt));
  EXPECT_FALSE(OpenNvml({FakeLibrary(kFakeRocmSmi)}, std::nullopt))
      << "the library lacks the functions";
}

void ExpectUsersOfAGpu(const std::string& nvml, const std::string& rocm_smi) {
  const TestRoot root("processes");
  SamplerOptions options;
  options.root = root.path();
  options.process = 10;
  options.nvml_libraries = {nvml};
  options.rocm_libraries = {rocm_smi};
  SystemSampler sampler(options);
  const Reading& reading = sampler.Sample();
  ASSERT_EQ(reading.users.size(), 2u);
  EXPECT_EQ(reading.users[0].name, "python (train) x");
  EXPECT_EQ(reading.users[0].value, 300);
  EXPECT_TRUE(reading.users[0].in_tree);
  EXPECT_EQ(reading.users[1].name, "miner )");
  EXPECT_TRUE(std::isnan(reading.users[1].value));
  EXPECT_FALSE(reading.users[1].in_tree);
  EXPECT_EQ(reading.users[1].resource, "GPU 0");
}

TEST(SystemSampler, NamesForeignUsersOfAGpu) {
  ExpectUsersOfAGpu(FakeLibrary(kFakeNvml), "libno-such.so.1");
}
TEST(SystemSampler, NamesForeignUsersOfAnAmdGpu) {
  ExpectUsersOfAGpu("libno-such.so.1", FakeLibrary(kFakeRocmSmi));
}

TEST(RocmSmi, ReadsAGpu) {
  TestBoard board;
  GpuReader reader([] { return OpenRocmSmi({FakeLibrary(kFakeRocmSmi)}, std::nullopt); },
                   board.board);
  ASSERT_EQ(reader.gpus().size(), 1u);
  EXPECT_EQ(reader.gpus()[0].uuid, "GPU-00000000abcd0000");
  board.Sample(reader, /*edge=*/true);
  EXPECT_EQ(board.Value("gpu_util", "GPU 0"), 55);
  EXPECT_EQ(board.Value("gpu_free_memory", "GPU 0"), 700);
  EXPECT_EQ(board.Value("gpu_power_w", "GPU 0"), 250);
  EXPECT_EQ(board.Value("gpu_sm_clock_mhz", "GPU 0"), 2100);
  EXPECT_EQ(board.Value("gpu_memory_clock_mhz", "GPU 0"), 900);
  EXPECT_EQ(board.Value("gpu_temperature_c", "GPU 0"), 61.5) << "the junction sensor";
  EXPECT_FALSE(board.Has("gpu_energy_j", "GPU 0"));
}

TEST(CurrentFrequency, ReadsBothLayouts) {
  std::array<std::uint32_t, 80> old{};
  old[0] = 3;  // Number of frequencies.
  old[1] = 2;  // Index of the current one.
  old[2] = 500'000'000;
  old[4] = 1'000'000'000;
  old[6] = 1'700'000'000;
  EXPECT_EQ(CurrentFrequency(old), 1'700'000'000u);
  std::array<std::uint32_t, 80> now{};
  now[0] = 1;  // Deep sleep.
  now[1] = 2;
  now[2] = 1;
  now[4] = 500'000'000;
  now[6] = 2'400'000'000;
  EXPECT_EQ(CurrentFrequency(now), 2'400'000'000u);
  now[2] = UINT32_MAX;  // Unknown.
  EXPECT_EQ(CurrentFrequency(now), std::nullopt);
  EXPECT_EQ(CurrentFrequency(std::array<std::uint32_t, 80>{}), std::nullopt);
}

}  // namespace nvml_test
}  // namespace headroom
