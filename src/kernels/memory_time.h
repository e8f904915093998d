// Times of kernels that are bound by memory.
#pragma once

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Nanoseconds for bytes that are read or written once each. What fits the L2 was left there by
/// the kernel before and comes from there.
double PointwiseNs(const PointwiseWork& work, const DeviceRates& rates);

/// Nanoseconds for rows that are read, reduced, and read again to be written. Rows of up to 1024
/// elements of a softmax stay in registers (PyTorch's softmax_warp_forward); longer ones are read
/// three times, rows of a normalization twice, and what the rows at work leave neither in the L1
/// nor in the L2 comes from memory again. A wave of rows takes no less than what one row waits for
/// its loops. On AMD's GPUs as PyTorch 2.4 does it, which reads a long row once where it can keep
/// it in shared memory, on NVIDIA's as 2.1 does.
double RowwiseNs(const RowwiseWork& work, double element_bytes, const DeviceRates& rates,
                 const KernelConstants& constants);

}  // namespace headroom
