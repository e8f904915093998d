#include "kernels/power_limit.h"

#include <algorithm>

namespace headroom {
namespace {

// Results of tools/fit_power_limit.
constexpr double kVoltageSlope = 1.05, kVoltageFloor = 0.84;
constexpr double kFluctuation = 0.115;

/// Epochs of NCF, which hardly use the GPU, draw 80 to 91 W of the 300 W of an A40.
constexpr double kGddrWaitingShare = 0.28;

}  // namespace

double DynamicPowerShare(double clock) {
  const double voltage = std::max(kVoltageFloor, 1 - kVoltageSlope * (1 - clock));
  return clock * voltage * voltage;
}

double HeldWatts(double limit_watts, double card_watts) {
  const double share = limit_watts / card_watts;
  return limit_watts * (1 - kFluctuation * share * share);
}

double WaitingPowerShare(const DeviceSpec& device, double hbm) {
  return device.memory_type.starts_with("GDDR") ? std::max(hbm, kGddrWaitingShare) : hbm;
}

}  // namespace headroom
