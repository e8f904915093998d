#include "kernels/power_limit.h"

#include <gtest/gtest.h>

namespace headroom {
namespace power_limit_test {

TEST(PowerLimitTest, TheVoltageFallsDownToItsFloor) {
  EXPECT_EQ(DynamicPowerShare(1), 1);
  // 10 % less clock and 10.5 % less voltage.
  EXPECT_NEAR(DynamicPowerShare(0.9), 0.9 * 0.895 * 0.895, 1e-12);
  // Below the floor of 84 %, only the clock falls.
  EXPECT_NEAR(DynamicPowerShare(0.5), 0.5 * 0.84 * 0.84, 1e-12);
  EXPECT_NEAR(DynamicPowerShare(0.25) / DynamicPowerShare(0.5), 0.5, 1e-12);
}

TEST(PowerLimitTest, TheAverageComesNearerToADeeperLimit) {
  EXPECT_NEAR(HeldWatts(300, 300), 265.5, 1e-9);
  EXPECT_NEAR(HeldWatts(150, 300), 150 * (1 - 0.115 / 4), 1e-9);
  EXPECT_GT(HeldWatts(150, 300) / 150, HeldWatts(250, 300) / 250);
}

TEST(PowerLimitTest, GraphicsMemoryDrawsMoreWhileItWaits) {
  DeviceSpec device;
  device.memory_type = "HBM3e";
  EXPECT_EQ(WaitingPowerShare(device, 0.1), 0.1);
  device.memory_type = "GDDR6";
  EXPECT_EQ(WaitingPowerShare(device, 0.1), 0.28);
}

// The average of an epoch of BERT on SQuAD on A40 (300 W), batch 32, at its full limit is 267 W. At
// 150 W it was measured to take 1.74 times as long.
TEST(PowerLimitTest, AMeasuredEpoch) {
  const double idle = 0.28 * 300;
  double clock = 1;
  while (idle + (267 - idle) * DynamicPowerShare(clock) > HeldWatts(150, 300)) clock -= 1e-4;
  EXPECT_NEAR(1 + kClockShare * (1 / clock - 1), 1.74, 0.2);
}

}  // namespace power_limit_test
}  // namespace headroom
