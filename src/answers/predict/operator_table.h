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
  std::vector<std::string> remarks;  ///< One sentence each: columns and rows that are in doubt.
};

/// Predicts the rows that were measured on `source`. Fails with kNoAnswer if there are none, and
/// with kBadInput if the table has the columns of a prediction already.
///
/// @param path  of the table, for messages
Result<PredictedTable> PredictOperatorTable(const CsvTable& table, const std::string& path,
                                            const DeviceRates& source, const DeviceRates& target,
                                            const GpuModels& models);

}  // namespace headroom
