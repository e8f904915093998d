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
        "{}: no column 'device', which says on which GPU its operators were measured", table.name));
  }
  if (table.rows.empty())
    return Status::BadInput(fmt::format("{}: has a header and no rows", table.name));
  std::vector<std::string> devices;
  std::set<std::string_view> known;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string& device = table.rows[row][*column];
    if (device.empty())
      return Status::BadInput(fmt::format("{}: its device is missing", table.Place(row)));
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
  // Shorter ones are the host's, or the clock's.
  constexpr double kMinCallMs = 0.1, kMinStreamMs = 0.01;
  // No model is so wrong, and beyond it times have no room.
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
          "{}: {} took {:.3g} ms, {:.3g} times what the model says; latency_ms is in milliseconds, "
          "and device and dtype must be those that it was measured with",
          table.Place(i), op.op, op.measured_ms, times));
    }
    const bool product = ClassOf(op.work) == WorkClass::kProduct;
    constexpr double kFasterThanPeak = 0.5;  // Of arithmetic and bytes, one hides.
    if (product && op.measured_ms * kNsPerMs < kFasterThanPeak * FullRateNs(op.work, rates)) {
      return Status::BadInput(
          fmt::format("{}: {} took {:.3g} ms, which is faster than the data sheet's peak for its "
                      "type; correct its dtype, device or latency_ms",
                      table.Place(i), op.op, op.measured_ms));
    }
    samples.push_back({.work = op.work, .log_error = std::log(times)});
  }
  if (samples.empty()) {
    return Status::BadInput(fmt::format(
        "{}: no row of {} can be used: calls must take {} ms or more, one of many in a row {} ms, "
        "and its data sheet must give a peak for their type (is latency_ms in milliseconds?)",
        table.name, device, kMinCallMs, kMinStreamMs));
  }
  return std::shared_ptr<const LocalCorrection>(
      std::make_shared<LocalCorrection>(samples, constants));
}

}  // namespace headroom
