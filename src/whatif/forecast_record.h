// The ledger of forecasts in this machine's local state. Forecasts are saved and scored, and scores
// adjust intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "whatif/forecast_ledger.h"

namespace headroom {

/// Reads and writes the ledger. Without local state, the ledger is always empty.
class ForecastRecord {
 public:
  /// Fails if the ledger exists but cannot be read.
  static Result<ForecastRecord> Open(bool no_local_state);

  /// Path of the ledger; empty without local state.
  const std::string& path() const { return path_; }
  const std::vector<LedgerRecord>& records() const { return records_; }

  /// Appends all records or none. Other processes may append at the same time. REQUIRES: path() is
  /// not empty.
  Status Append(const std::vector<LedgerRecord>& records);

  /// Adjusts the forecast's interval by the scores of this machine, and records the rule in the
  /// forecast.
  void Adjust(std::string_view machine, Forecast& forecast) const;

 private:
  std::string path_;
  std::vector<LedgerRecord> records_;
};

/// Returns an identifier of the trace's contents, independent of its name: its size and a hash of
/// its bytes.
Result<std::string> FingerprintOf(const std::string& trace);

/// Returns the forecast to score: the latest of that trace, and of the scenario if one is named.
/// Fails with kUsage if no such forecast is saved, or if several scenarios are saved and none is
/// named.
Result<LedgerRecord> FindForecast(const ForecastRecord& record, const std::string& trace,
                                  const std::optional<std::string>& scenario);

}  // namespace headroom
