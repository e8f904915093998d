// Replaces unfused attention by fused kernels, whose rates are those of a device.
#pragma once

#include "cost/device_spec.h"
#include "sim/edit.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

/// @param device  the job's GPU, with the shares of its peak that fused kernels reach
Effect FuseAttention(const Job& job, const DeviceSpec& device, Edit& edit);

}  // namespace headroom
