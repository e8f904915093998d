#include "predict/device_rates.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>

#include "predict/test_devices.h"

namespace headroom {
namespace device_rates_test {

TEST(DeviceRates, PowerBoundsSmallCardsAndNoFullSizeOne) {
  for (const char* name : {"T4", "P4", "L4"}) {
    const DeviceRates rates = RatesOfGpu(name);
    EXPECT_TRUE(rates.low_power) << name;
    EXPECT_LT(rates.sustained_share, 0.75) << name;
    EXPECT_GT(rates.sustained_share, 0.3) << name;
  }
  // RTX 5090 is of the architecture of B200, and another chip.
  for (const char* name : {"V100", "P100", "H200", "RTX-2080Ti", "RTX-5090", "MI300X"}) {
    const DeviceRates rates = RatesOfGpu(name);
    EXPECT_FALSE(rates.low_power) << name;
    EXPECT_GT(rates.sustained_share, 0.9) << name;
  }
}

// L40 and L40S have less power a peak than RTX 4090, and nothing says that they hold their clock.
TEST(DeviceRates, SmallCardsAreHeldAgainstTheFullSizeCardWithTheMostPower) {
  const DeviceCatalog& catalog = TestKnowledge().devices();
  const auto power = [&](std::string_view name) {
    const DeviceSpec& device = *catalog.Find(name);
    return *device.tdp_w / *device.fp32_tflops;
  };
  EXPECT_NEAR(RatesOfGpu("L4").sustained_share,
              std::pow(power("L4") / power("RTX-4090"), ShippedConstants().low_power), 1e-9);
}

TEST(DeviceRates, BandwidthIsThatOfTheKindOfMemoryOrTheVendorsWord) {
  const KernelConstants& constants = ShippedConstants();
  EXPECT_NEAR(RatesOfGpu("A100-40").bytes_per_ns, 1555 * constants.hbm, 1e-9);
  EXPECT_NEAR(RatesOfGpu("T4").bytes_per_ns, 320 * constants.gddr, 1e-9);
  EXPECT_NEAR(RatesOfGpu("P100").bytes_per_ns, 732 * 0.76, 1e-9);
}

TEST(DeviceRates, IssueSlotsBoundMultiprocessorsOf128Lanes) {
  EXPECT_EQ(RatesOfGpu("V100").issue_share, 1);
  EXPECT_EQ(RatesOfGpu("P4").issue_share, 1) << "Pascal issues two instructions a clock";
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
  for (const DeviceSpec& device : TestKnowledge().devices().devices()) {
    const Result<DeviceRates> rates =
        RatesOf(device, TestKnowledge().devices(), ShippedConstants());
    EXPECT_TRUE(rates.ok()) << rates.status().message();
    EXPECT_TRUE(device.l1_bytes.has_value()) << device.name;
  }
}

TEST(DeviceRates, WhatADeviceFileLacksIsThatOfItsKind) {
  DeviceSpec device = *TestKnowledge().devices().Find("H100");
  device.l2_bytes.reset();
  const DeviceRates rates = RatesOf(device, TestKnowledge().devices(), ShippedConstants()).value();
  EXPECT_EQ(rates.l2_bytes, 50 << 20);
  EXPECT_EQ(rates.guessed, "l2_bytes");
}

TEST(DeviceRates, PowerBoundsCardsWhoseComputeCapabilityIsNotSaid) {
  DeviceSpec device = *TestKnowledge().devices().Find("L4");
  device.compute_capability.clear();
  EXPECT_EQ(RatesOf(device, TestKnowledge().devices(), ShippedConstants()).value().sustained_share,
            RatesOfGpu("L4").sustained_share);
}

TEST(DeviceRates, NameTheFigureThatIsMissing) {
  DeviceSpec device = *TestKnowledge().devices().Find("T4");
  device.sm_count.reset();
  Result<DeviceRates> rates = RatesOf(device, TestKnowledge().devices(), ShippedConstants());
  ASSERT_FALSE(rates.ok());
  EXPECT_EQ(rates.status().code(), StatusCode::kUsage);
  EXPECT_NE(rates.status().message().find("sm_count"), std::string::npos);

  device = *TestKnowledge().devices().Find("T4");
  device.l2_bytes.reset();
  rates = RatesOf(device, TestKnowledge().devices(), ShippedConstants());
  ASSERT_TRUE(rates.ok());
  EXPECT_EQ(rates.value().guessed, "l2_bytes");

  device.architecture = "Kepler";
  rates = RatesOf(device, TestKnowledge().devices(), ShippedConstants());
  ASSERT_FALSE(rates.ok());
  EXPECT_NE(rates.status().message().find("'Kepler'"), std::string::npos);
}

}  // namespace device_rates_test
}  // namespace headroom
