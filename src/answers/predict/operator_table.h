// Predicts a table of operators from one GPU for another.
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
  std::vector<std::string> remarks;  ///< Sentences on doubtful columns and rows.
};

/// Predicts the rows that were measured on `source`. Fails with kNoAnswer if no row can be
/// predicted. Fails with kBadInput if the table already has a prediction column.
///
/// @param path  file of the table, for messages
Result<PredictedTable> PredictOperatorTable(const CsvTable& table, const std::string& path,
                                            const DeviceRates& source, const DeviceRates& target,
                                            const GpuModels& models);

}  // namespace headroom
