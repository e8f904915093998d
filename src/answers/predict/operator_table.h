// A table of operators measured on one GPU, with what they take on another.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "predict/csv_table.h"
#include "predict/gpu_models.h"

namespace headroom {

struct PredictedTable {
  std::string csv;  ///< The rows, with predicted_ms, predicted_low_ms and predicted_high_ms.
  std::vector<std::string> remarks;  ///< What was not read or is in doubt, a sentence each.
};

/// Predicts the rows that were measured on `source`. Fails with kNoAnswer where there is none, and
/// with kBadInput where the table has such columns already.
///
/// @param path  of the table, for messages
Result<PredictedTable> PredictOperatorTable(const CsvTable& table, const std::string& path,
                                            const DeviceRates& source, const DeviceRates& target,
                                            const GpuModels& models);

}  // namespace headroom
