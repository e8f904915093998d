// The ledger of forecasts in this machine's local state: saved, scored, and used for intervals.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "whatif/forecast_ledger.h"

namespace headroom {

/// Reads and writes the ledger. Without local state it is empty and stays so.
class ForecastRecord {
 public:
  /// Fails where there is a ledger that cannot be read.
  static Result<ForecastRecord> Open(bool no_local_state);

  /// Empty: there is no place for one.
  const std::string& path() const { return path_; }
  const std::vector<LedgerRecord>& records() const { return records_; }

  /// Adds records, whole or not at all, and beside those that others add meanwhile. REQUIRES:
  /// path() is not empty.
  Status Append(const std::vector<LedgerRecord>& records);

  /// Sets the forecast's interval by the scores of this machine; says so in the forecast.
  void Adjust(std::string_view machine, Forecast& forecast) const;

 private:
  std::string path_;
  std::vector<LedgerRecord> records_;
};

/// What tells a trace from any other, whatever its name: its size and a hash of its bytes.
Result<std::string> FingerprintOf(const std::string& trace);

/// The forecast to score: the latest of that trace, and of the scenario if one is named. Fails
/// (kUsage) where there is none, or several scenarios and no name.
Result<LedgerRecord> FindForecast(const ForecastRecord& record, const std::string& trace,
                                  const std::optional<std::string>& scenario);

}  // namespace headroom
