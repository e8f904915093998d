// A table of operators measured on one GPU, and their prediction on another.
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

/// A single operator: its work, and the measured time of its call.
struct MeasuredOperator {
  std::string op;
  KernelWork work;
  double measured_ms = 0;  ///< 0 if not measured.
  bool on_source = true;   ///< True if measured on the GPU that the user named for the table.
  bool in_stream = false;  ///< True if timed within a series, without the host's time per call.
};

/// A prediction with its 80 % interval.
struct PredictedMs {
  double low = 0, mid = 0, high = 0;
};

/// Reads the rows of a table. Fails with kBadInput and names file, line and column.
///
/// The columns are `op`, the dimensions, `latency_ms` (empty if not measured), and optionally:
/// - `dtype`: float32 if missing
/// - `timing`: `call` (if missing) or `stream`
/// - `layout` of products, as in names of BLAS kernels: nn, nt, tn or tt. If missing, nn for bmm
///   and tn for linear.
/// - `device`
/// Other columns are ignored.
///
/// The operators and their dimensions are:
/// - bmm (b, m, k, n), linear (m, k, n), conv (b, cin, cout, ksize, insize, stride, pad)
/// - softmax, ln (rows, cols)
/// - elementwise with two tensors: add, mul, div, pow (rows, cols)
/// - elementwise with one tensor: addu, mulu, divu, powu, relu, gelu, tanh (rows, cols)
///
/// @param is_source  test of a name in column `device`: true for the GPU that the user named for
/// the table
Result<std::vector<MeasuredOperator>> ReadMeasuredOperators(
    const CsvTable& table, const std::function<bool(const std::string&)>& is_source);

/// Returns ignored columns whose names resemble a column that the table lacks, in the format
/// "'layuot' (layout?)".
std::vector<std::string> MisspeltColumns(const CsvTable& table);

/// The kernel's part of an operator's time.
struct TimedKernel {
  double host_ns = 0;  ///< Part of the measured time on the host, in addition to the kernel.
  double times = 1;    ///< Ratio of the rest to the modelled time; at least 0.01.
};

/// Returns the kernel times of a GPU's operators, in order. An element is nullopt if the operator's
/// type has no model, or if the operator was measured on another GPU. An operator without a
/// measurement has the typical host time and the modelled time.
///
/// The host's time comes from the table if it has at least three plausible calls of the operator
/// with a negligible kernel. Otherwise it is typical (`*_call_us` of the constants). It is at most
/// 80 % of the call, or the part of the call beyond the model.
std::vector<std::optional<TimedKernel>> TimedKernels(const std::vector<MeasuredOperator>& operators,
                                                     const DeviceRates& rates,
                                                     const KernelConstants& constants);

/// Returns the prediction of each operator on the target, in order. An element is nullopt if the
/// target has no model for the operator's type, or if the operator was not measured on the source.
///
/// time = host + model(target) * times ^ w. TimedKernels() gives `host` and `times`. The exponent w
/// depends on the class of work, and on whether both GPUs' libraries run the same kernels. Calls
/// hardly longer than their host's time have the error range of another machine's host.
std::vector<std::optional<PredictedMs>> PredictOperators(
    const std::vector<MeasuredOperator>& operators, const DeviceRates& source,
    const DeviceRates& target, const KernelConstants& constants);

/// Returns true for work on tensor cores, whose models were validated on one H200 only.
bool OnTensorCores(const KernelWork& work);

/// Warnings about a table, in addition to its times.
struct TableUncertainty {
  /// Number of rows whose time is impossible on the source, e.g. because of a wrong unit.
  std::size_t implausible = 0;
  std::size_t first = 0;  ///< Index of the first such row; 0 without such a row.
};
TableUncertainty UncertaintyOf(const std::vector<MeasuredOperator>& operators,
                               const DeviceRates& source, const KernelConstants& constants);

}  // namespace headroom
