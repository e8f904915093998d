#include "predict/gpu_calibration.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <string_view>

#include "base/units.h"
#include "kernels/kernel_model.h"
#include "predict/kernel_table.h"

namespace headroom {

Result<std::vector<std::string>> DevicesOf(const CsvTable& table) {
  const std::optional<std::size_t> column = table.Column("device");
  if (!column) {
    return Status::BadInput(fmt::format(
        "{}: no column 'device'; add it, with the GPU on which each operator was measured",
        table.name));
  }
  if (table.rows.empty())
    return Status::BadInput(
        fmt::format("{}: has a header but no rows; add measured operators", table.name));
  std::vector<std::string> devices;
  std::set<std::string_view> known;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& device = table.rows[row][*column];
    if (device.empty())
      return Status::BadInput(fmt::format("{}: device is empty; name the GPU", table.Place(row)));
    if (known.insert(device).second) devices.push_back(device);
  }
  return devices;
}

Result<std::shared_ptr<const LocalCorrection>> ReadCorrection(const CsvTable& table,
                                                              const std::string& device,
                                                              const DeviceRates& rates,
                                                              const KernelConstants& constants) {
  const Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table, [&](const std::string& name) { return name == device; });
  if (!operators.ok()) return operators.status();
  // The host or the clock resolution determines shorter times.
  constexpr double kMinCallMs = 0.1, kMinStreamMs = 0.01;
  // Model errors never reach this factor, and larger factors would overflow times.
  constexpr double kMaxTimes = 50;
  const std::vector<std::optional<TimedKernel>> kernels =
      TimedKernels(operators.value(), rates, constants);
  std::vector<LocalCorrection::Sample> samples;
  for (std::size_t i = 0; i < operators.value().size(); ++i) {
    const MeasuredOperator& op = operators.value()[i];
    if (!op.on_source || op.measured_ms < (op.in_stream ? kMinStreamMs : kMinCallMs)) continue;
    if (!kernels[i]) continue;
    const double times = kernels[i]->times;
    if (times > kMaxTimes || times < 1 / kMaxTimes) {
      return Status::BadInput(fmt::format(
          "{}: {} took {:.3g} ms, {:.3g} times the modelled time; check that latency_ms is in "
          "milliseconds, and that device and dtype are those of the measurement",
          table.Place(i), op.op, op.measured_ms, times));
    }
    const bool product = ClassOf(op.work) == WorkClass::kProduct;
    constexpr double kFasterThanPeak = 0.5;  // Allows for a full overlap of arithmetic and bytes.
    if (product && op.measured_ms * kNsPerMs < kFasterThanPeak * FullRateNs(op.work, rates)) {
      return Status::BadInput(
          fmt::format("{}: {} took {:.3g} ms, faster than the data sheet's peak for its "
                      "type; correct dtype, device or latency_ms",
                      table.Place(i), op.op, op.measured_ms));
    }
    samples.push_back({.work = op.work, .log_error = std::log(times)});
  }
  if (samples.empty()) {
    return Status::BadInput(
        fmt::format("{}: no row for {} is usable: latency_ms must be at least {}, or {} if timing "
                    "is stream, and the data sheet must have a peak for the dtype; check that "
                    "latency_ms is in milliseconds",
                    table.name, device, kMinCallMs, kMinStreamMs));
  }
  return std::shared_ptr<const LocalCorrection>(
      std::make_shared<LocalCorrection>(samples, constants));
}

}  // namespace headroom
