// A table of operators that were measured on one GPU, predicted on another.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/kernel_work.h"
#include "predict/csv_table.h"

namespace headroom {

/// An operator by itself: what it computes, and how long its call took where it was measured.
struct MeasuredOperator {
  std::string op;
  KernelWork work;
  double measured_ms = 0;  ///< 0: it was not.
  bool on_source = true;   ///< Measured on the GPU that the table is said to be of.
  bool in_stream = false;  ///< One of many in a row: without what the host takes for a call.
};

/// A prediction and the range in which four of five true times lie.
struct PredictedMs {
  double low = 0, mid = 0, high = 0;
};

/// The rows of a table by its columns `op`, dimensions and `latency_ms` (empty: not measured);
/// others are not read, but for `dtype` (float32 if it is missing), `timing` (`call` if it is
/// missing, or `stream`), `layout` (of products, as in the names of BLAS kernels: nn, nt, tn or tt;
/// if it is missing, nn of bmm and tn of linear) and `device`. Operators: bmm (b, m, k, n), linear
/// (m, k, n), conv (b, cin, cout, ksize, insize, stride, pad), softmax, ln (rows, cols), and
/// element by element, of two tensors add, mul, div, pow, of one addu, mulu, divu, powu, relu,
/// gelu, tanh (rows, cols). BadInput names file, line and column.
///
/// @param is_source  whether a name in column `device` is the GPU that the table is said to be of
Result<std::vector<MeasuredOperator>> ReadMeasuredOperators(
    const CsvTable& table, const std::function<bool(const std::string&)>& is_source);

/// Columns of a table that are not read though their names are nearly those of some that are and
/// that it lacks, in words: "'layuot' (layout?)".
std::vector<std::string> MisspeltColumns(const CsvTable& table);

/// What the time of an operator says of its kernel.
struct TimedKernel {
  double host_ns = 0;  ///< Of the measured time, what the host takes beside the kernel.
  double times = 1;    ///< How many times as long as by the models the rest is; at least 0.01.
};

/// Of each operator of a GPU, in order; nullopt: no model for its type, or of another. One that was
/// not measured has the usual host and takes as long as by the models.
///
/// The host of a call: where the table holds three or more plausible calls of the operator that are
/// too small for the GPU to matter, what they show; else what is usual (`*_call_us` of the
/// constants). At most four fifths of the call, or what the model leaves of it.
std::vector<std::optional<TimedKernel>> TimedKernels(const std::vector<MeasuredOperator>& operators,
                                                     const DeviceRates& rates,
                                                     const KernelConstants& constants);

/// Each operator on the target, in order; nullopt: no model for its type there, or not measured on
/// the source.
///
/// time = host + model(target) * times ^ w, with `host` and `times` of TimedKernels() and w by
/// class of work and whether both GPUs' library runs the same kernels. Calls hardly longer than
/// their host have the range of another machine's.
std::vector<std::optional<PredictedMs>> PredictOperators(
    const std::vector<MeasuredOperator>& operators, const DeviceRates& source,
    const DeviceRates& target, const KernelConstants& constants);

/// Whether it runs on tensor cores, which were held against one H200 alone.
bool OnTensorCores(const KernelWork& work);

/// What the user of a table should know beside the times.
struct TableUncertainty {
  std::size_t implausible = 0;  ///< Rows whose time the source cannot have taken: another unit?
  std::size_t first = 0;        ///< The first of those; of meaning where there are any.
};
TableUncertainty UncertaintyOf(const std::vector<MeasuredOperator>& operators,
                               const DeviceRates& source, const KernelConstants& constants);

}  // namespace headroom
