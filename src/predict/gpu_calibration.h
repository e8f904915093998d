// Operators that were measured on a GPU, by which predictions for it are corrected.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "predict/csv_table.h"

namespace headroom {

/// The devices that a table's column `device` names, each once, in the order of the file. BadInput
/// where there is no such column, or a row names none.
Result<std::vector<std::string>> DevicesOf(const CsvTable& table);

/// What the rows of one device say beyond the models: of a table as ReadMeasuredOperators() takes
/// it, whose column `timing`, where it is there, is `call` (an operator between two events, with
/// what the host takes for it) or `stream` (one of many in a row, so without). Rows too short for
/// the GPU to decide are left out. BadInput where no row is left, with the reason.
///
/// @param device  as the table names it
/// @param rates   of that GPU, without a correction
Result<std::shared_ptr<const LocalCorrection>> ReadCorrection(const CsvTable& table,
                                                              const std::string& device,
                                                              const DeviceRates& rates,
                                                              const KernelConstants& constants);

}  // namespace headroom
