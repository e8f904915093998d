#include "kernels/device_rates.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "kernels/test_devices.h"

namespace headroom {
namespace device_rates_test {

DeviceRates RatesOfDevice(const DeviceSpec& device) {
  return RatesOf(device, ShippedDevices(), ShippedConstants()).value();
}

TEST(DeviceRates, PowerBoundsSmallCardsAndNoFullSizeOne) {
  for (const char* name : {"T4", "P4", "L4"}) {
    const DeviceRates rates = RatesOfGpu(name);
    EXPECT_EQ(rates.smallness, 1) << name;
    EXPECT_LT(rates.clock_share, 0.75) << name;
    EXPECT_GT(rates.clock_share, 0.3) << name;
  }
  // The catalogue lists RTX 5090 under the architecture of B200, but the chips differ.
  for (const char* name : {"V100", "P100", "H200", "RTX-2080Ti", "RTX-5090", "MI300X"}) {
    const DeviceRates rates = RatesOfGpu(name);
    EXPECT_EQ(rates.smallness, 0) << name;
    EXPECT_GT(rates.clock_share, 0.9) << name;
  }
}

// L40 and L40S have less power per peak than RTX 4090. No data shows that they hold their clock.
TEST(DeviceRates, SmallCardsAreHeldAgainstTheFullSizeCardWithTheMostPower) {
  const DeviceCatalog& catalog = ShippedDevices();
  const auto power = [&](std::string_view name) {
    const DeviceSpec& device = *catalog.Find(name);
    return *device.tdp_w / (*device.sm_count * *device.boost_clock_mhz);
  };
  const DeviceRates rates = RatesOfGpu("L4");
  EXPECT_NEAR(rates.clock_share,
              std::pow(power("L4") / power("RTX-4090"), ShippedConstants().low_power), 1e-9);
  EXPECT_LT(rates.sustained_share, rates.clock_share * rates.issue_share)
      << "RTX 4090 draws all of its power at the rate of its best tiles";
}

// Large float32 products of random numbers, as measured: 33 to 36 TFLOP/s on an L40S at 300 W, 21
// to 24 on an RTX A6000, 12 to 16 on an A10, 18 on an A100.
TEST(DeviceRates, TheEnergyOfAnOperationBoundsProducts) {
  const auto teraflops = [](const char* name, double watts) {
    DeviceSpec device = *ShippedDevices().Find(name);
    device.tdp_w = watts;
    const DeviceRates rates = RatesOfDevice(device);
    return rates.sustained_share * rates.flops_per_ns / 1e3;
  };
  EXPECT_NEAR(teraflops("L40S", 300), 33.3, 1);
  EXPECT_NEAR(teraflops("A6000", 300), 23.8, 1);
  EXPECT_NEAR(teraflops("A10", 150), 11.9, 1);
  EXPECT_NEAR(teraflops("A100-80", 400), 18.5, 1) << "64 lanes per multiprocessor: no bound";
}

TEST(DeviceRates, NoWattIsACliffAndMorePowerNeverSlows) {
  DeviceSpec device = *ShippedDevices().Find("L4");
  double before = 0;
  for (double watts = 40; watts < 400; ++watts) {
    device.tdp_w = watts;
    const DeviceRates rates = RatesOfDevice(device);
    EXPECT_GE(rates.sustained_share, before) << watts;
    if (before > 0) {
      EXPECT_LT(rates.sustained_share, 1.06 * before) << watts;
    }
    before = rates.sustained_share;
  }
}

TEST(DeviceRates, AHigherPeakOfTheLanesTakesNothingFromTensorCores) {
  for (const char* name : {"L4", "T4", "A100-80"}) {
    DeviceSpec device = *ShippedDevices().Find(name);
    const DeviceRates before = RatesOfDevice(device);
    device.fp32_tflops = 2 * *device.fp32_tflops;
    EXPECT_EQ(RatesOfDevice(device).clock_share, before.clock_share) << name;
  }
}

TEST(DeviceRates, AChipThatIsSoldWithMoreMemoryCountsOnce) {
  constexpr NamedText kTwin = {.name = "twin.toml", .content = R"(
name = "A100 with yet more memory"
short_name = "TWIN"
vendor = "NVIDIA"
architecture = "Ampere"
compute_capability = "8.0"
memory_type = "HBM2e"
match = []

[figures]
sm_count = { value = 108, unit = "1", source = "as A100-SXM-80" }
fp32_lanes_per_sm = { value = 64, unit = "1", source = "as A100-SXM-80" }
boost_clock_mhz = { value = 1410, unit = "MHz", source = "as A100-SXM-80" }
fp32_tflops = { value = 19.5, unit = "TFLOP/s", source = "as A100-SXM-80" }
tdp_w = { value = 400, unit = "W", source = "as A100-SXM-80" }
)"};
  const DeviceCatalog catalog = DevicesWith(kTwin);
  ASSERT_NE(catalog.Find("TWIN"), nullptr);
  EXPECT_EQ(RatesOf(*catalog.Find("A100-40"), catalog, ShippedConstants()).value().clock_share,
            RatesOfGpu("A100-40").clock_share);
}

TEST(DeviceRates, BandwidthIsThatOfTheKindOfMemoryOrWhatIsStated) {
  const KernelConstants& constants = ShippedConstants();
  EXPECT_NEAR(RatesOfGpu("A100-40").bytes_per_ns, 1555 * constants.hbm, 1e-9);
  EXPECT_NEAR(RatesOfGpu("T4").bytes_per_ns, 320 * constants.gddr_small, 1e-9);
  EXPECT_NEAR(RatesOfGpu("RTX-A6000").bytes_per_ns, 768 * constants.gddr, 1e-9);
  EXPECT_NEAR(RatesOfGpu("P100").bytes_per_ns, 732 * 0.76, 1e-9);
}

TEST(DeviceRates, TheL2IsThatOfTheChipWhateverItsMemory) {
  EXPECT_EQ(RatesOfGpu("A100-40").cached_bytes_per_ns, RatesOfGpu("A100-80").cached_bytes_per_ns);
  EXPECT_GT(RatesOfGpu("L4").cached_bytes_per_ns, 4 * RatesOfGpu("L4").bytes_per_ns);
}

TEST(DeviceRates, AProfileIsCarriedOverWholeToTheSameChip) {
  const KernelConstants& constants = ShippedConstants();
  const DeviceRates h200 = RatesOfGpu("H200"), h100 = RatesOfGpu("H100");
  EXPECT_EQ(ResidualWeight(WorkClass::kProduct, h200, h100, 0, constants), 1);
  EXPECT_LT(ResidualWeight(WorkClass::kProduct, h200, RatesOfGpu("A100-80"), 0, constants), 1);
}

TEST(DeviceRates, IssueSlotsBoundMultiprocessorsOf128Lanes) {
  EXPECT_EQ(RatesOfGpu("V100").issue_share, 1);
  EXPECT_EQ(RatesOfGpu("P4").issue_share, 1) << "Pascal issues two instructions per clock";
  EXPECT_EQ(RatesOfGpu("H200").issue_share, ShippedConstants().issue_share);
}

TEST(DeviceRates, ConvolutionsOfLibrariesThatWereNeverSeenToTryHaveTheirOwnRange) {
  const KernelConstants& constants = ShippedConstants();
  const auto range = [&](const char* gpu, WorkClass work) {
    return RangeOf(work, RatesOfGpu(gpu), 0, constants);
  };
  EXPECT_LE(range("H100", WorkClass::kConvolution).low, constants.untried_convolution.low);
  EXPECT_GE(range("H100", WorkClass::kConvolution).high, constants.untried_convolution.high);
  EXPECT_GE(range("MI300X", WorkClass::kConvolution).high, constants.untried_convolution.high);
  EXPECT_LT(range("A100-80", WorkClass::kConvolution).high, constants.untried_convolution.high);
  EXPECT_LT(range("H100", WorkClass::kProduct).high, constants.untried_convolution.high);
}

TEST(DeviceRates, AreThereForEveryShippedDevice) {
  for (const DeviceSpec& device : ShippedDevices().devices()) {
    const Result<DeviceRates> rates = RatesOf(device, ShippedDevices(), ShippedConstants());
    EXPECT_TRUE(rates.ok()) << rates.status().message();
    EXPECT_TRUE(device.l1_bytes.has_value()) << device.name;
  }
}

TEST(DeviceRates, WhatADeviceFileLacksIsThatOfItsKind) {
  DeviceSpec device = *ShippedDevices().Find("H100");
  device.l2_bytes.reset();
  const DeviceRates rates = RatesOf(device, ShippedDevices(), ShippedConstants()).value();
  EXPECT_EQ(rates.l2_bytes, 50 << 20);
  EXPECT_EQ(rates.guessed, "l2_bytes");
}

// Without a power limit, the model assumes that the card holds its clock. This guess can make the
// card look too fast.
TEST(DeviceRates, AMissingPowerLimitIsTold) {
  DeviceSpec device = *ShippedDevices().Find("T4");
  device.tdp_w.reset();
  const DeviceRates rates = RatesOf(device, ShippedDevices(), ShippedConstants()).value();
  EXPECT_EQ(rates.guessed, "tdp_w");
  EXPECT_EQ(rates.sustained_share, 1);
}

TEST(DeviceRates, PowerBoundsCardsWhoseComputeCapabilityIsNotSaid) {
  DeviceSpec device = *ShippedDevices().Find("L4");
  device.compute_capability.clear();
  EXPECT_EQ(RatesOf(device, ShippedDevices(), ShippedConstants()).value().sustained_share,
            RatesOfGpu("L4").sustained_share);
}

TEST(DeviceRates, NameTheFigureThatIsMissing) {
  DeviceSpec device = *ShippedDevices().Find("T4");
  device.sm_count.reset();
  Result<DeviceRates> rates = RatesOf(device, ShippedDevices(), ShippedConstants());
  ASSERT_FALSE(rates.ok());
  EXPECT_EQ(rates.status().code(), StatusCode::kUsage);
  EXPECT_NE(rates.status().message().find("sm_count"), std::string::npos);

  device = *ShippedDevices().Find("T4");
  device.l2_bytes.reset();
  rates = RatesOf(device, ShippedDevices(), ShippedConstants());
  ASSERT_TRUE(rates.ok());
  EXPECT_EQ(rates.value().guessed, "l2_bytes");

  device.architecture = "Kepler";
  rates = RatesOf(device, ShippedDevices(), ShippedConstants());
  ASSERT_FALSE(rates.ok());
  EXPECT_NE(rates.status().message().find("'Kepler'"), std::string::npos);
}

}  // namespace device_rates_test
}  // namespace headroom
