// Operators measured on a GPU, which correct predictions for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "predict/csv_table.h"

namespace headroom {

/// Returns the devices that a table's column `device` names, each once, in the order of the file.
/// Fails with kBadInput if the column is missing, or empty in a row.
Result<std::vector<std::string>> DevicesOf(const CsvTable& table);

/// Returns the correction of the models from the rows of one device. Fails with kBadInput and the
/// reason if no row is usable.
///
/// The table has the format of ReadMeasuredOperators(). Its optional column `timing` is `call` for
/// an operator timed between two events, including the host's time. `stream` is for one of many
/// consecutive operators, without the host's time. Rows too short to depend on the GPU are ignored.
///
/// @param device  name of the device in the table
/// @param rates   rates of that GPU, without a correction
Result<std::shared_ptr<const LocalCorrection>> ReadCorrection(const CsvTable& table,
                                                              const std::string& device,
                                                              const DeviceRates& rates,
                                                              const KernelConstants& constants);

}  // namespace headroom
