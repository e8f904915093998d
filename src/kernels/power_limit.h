// Response of a GPU to a power limit: the clock falls until the average power fits.
//
// P(f) = idle + dynamic * f * V(f)^2, where the clock f and the voltage V are relative to the full
// clock. V falls linearly with f down to a floor, below which only the clock falls. Of the time of
// a busy GPU, the share kClockShare grows as 1 / f. The constants were fitted to epochs of six jobs
// on V100-PCIe and A40 at 40 to 90 % of their power limit (tools/fit_power_limit). Mean errors with
// one of the GPUs left out, given its power while it waits: 5 to 6 % of the time, 7 to 8 % of the
// energy. The form was chosen with both GPUs in view, so these errors are optimistic.
#pragma once

#include "cost/device_spec.h"

namespace headroom {

/// Share of the time of a saturated job that follows the clock.
inline constexpr double kClockShare = 0.7;

/// Smallest share of a card's power limit that the measurements cover.
inline constexpr double kMinMeasuredLimit = 0.4;

/// Returns f * V(f)^2: the dynamic power at a relative clock, as a share of that at the full clock.
double DynamicPowerShare(double clock);

/// Returns the average power that a GPU holds under a limit. Power fluctuates below the limit, the
/// less the more often the limit acts.
///
/// @param card_watts  power limit of the data sheet
double HeldWatts(double limit_watts, double card_watts);

/// Returns the share of the card's power limit that it draws while it waits: GDDR and its interface
/// need more than HBM.
///
/// @param hbm  the share of a card with HBM
double WaitingPowerShare(const DeviceSpec& device, double hbm);

}  // namespace headroom
