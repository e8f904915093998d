#include "kernels/wave_scaling.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

/// Returns the number of blocks that run at once.
double WaveSize(const LaunchShape& launch, const DeviceRates& rates) {
  double a_processor = std::floor(rates.threads / launch.threads);
  if (launch.registers > 0) {
    a_processor =
        std::min(a_processor, std::floor(rates.registers / (launch.registers * launch.threads)));
  }
  if (launch.shared_bytes > 0 && rates.device->shared_memory_per_sm_bytes) {
    a_processor = std::min(
        a_processor, std::floor(*rates.device->shared_memory_per_sm_bytes / launch.shared_bytes));
  }
  return rates.processors * std::max(1.0, a_processor);
}

}  // namespace

double WaveScaling(const LaunchShape& launch, const DeviceRates& source,
                   const DeviceRates& target) {
  if (launch.blocks < WaveSize(launch, source) && launch.blocks < WaveSize(launch, target)) {
    const std::optional<double>& from = source.device->boost_clock_mhz;
    const std::optional<double>& to = target.device->boost_clock_mhz;
    return from && to ? *from / *to : 1;
  }
  return source.bytes_per_ns / target.bytes_per_ns;
}

}  // namespace headroom
