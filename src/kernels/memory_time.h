// Times of memory-bound kernels.
#pragma once

#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the nanoseconds to read or write each byte once. Data that fits in the L2 is read from
/// the L2, where the previous kernel left it.
double PointwiseNs(const PointwiseWork& work, const DeviceRates& rates);

/// Returns the nanoseconds for rows that are read, reduced, and read again for the write.
/// - A softmax keeps rows of up to 1024 elements in registers (PyTorch's softmax_warp_forward).
/// - A softmax reads longer rows three times, and a normalization reads rows twice.
/// - Rows in progress that fit in neither the L1 nor the L2 are read from memory again.
/// - A wave of rows takes at least the time that one row waits for its loops.
/// On AMD GPUs the model follows PyTorch 2.4, which reads a long row once if it fits in shared
/// memory. On NVIDIA GPUs it follows PyTorch 2.1.
double RowwiseNs(const RowwiseWork& work, double element_bytes, const DeviceRates& rates,
                 const KernelConstants& constants);

}  // namespace headroom
