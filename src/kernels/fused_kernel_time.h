// Times of kernels that fuse several operators: attention over a cache of keys, and row by row
// normalizations, embeddings and activations of language models.
#pragma once

#include <optional>

#include "cost/dtype.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_work.h"

namespace headroom {

/// Returns the nanoseconds of a kernel bound by its bytes or by its instructions:
/// t = start + (B^p + I^p)^(1/p). B is the time of its bytes (PointwiseNs()). I is elements times
/// the clocks that a multiprocessor takes per element, of one kind of kernel on all GPUs.
///
/// Source: kernels of vLLM and PyTorch timed on A100, A40, A800 and H800 (docs/predict.md).
double InstructionNs(const InstructionWork& work, DType dtype, const DeviceRates& rates);

/// Returns the nanoseconds of fused attention over a cache; nullopt if the device's peak for
/// `dtype` is unknown.
///
/// With one query per sequence, the time is that of reading the cache. With more, blocks of 128
/// queries of the heads that share a key each process the keys that causality leaves:
/// t = start + max(all products / rate of the device, longest block / rate of a multiprocessor).
/// Before Hopper, several blocks share the keys of one tile of queries.
std::optional<double> AttentionNs(const AttentionWork& work, DType dtype, const DeviceRates& rates);

/// Returns the FLOPs of the attention: two products of queries by keys by the head's size, without
/// those that causality excludes.
double AttentionFlops(const AttentionWork& work);

/// Returns the bytes that the attention reads and writes at least.
double AttentionBytes(const AttentionWork& work, DType dtype);

}  // namespace headroom
