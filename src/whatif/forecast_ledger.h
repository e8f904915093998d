// Saved forecasts and their scores: the forecast, the time measured after the change, and the
// effect on later intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/forecast.h"

namespace headroom {

/// A saved forecast and its outcome. Times are in milliseconds.
struct LedgerRecord {
  std::string machine;     ///< Result of MachineOf().
  std::string trace;       ///< Fingerprint of the forecast's trace.
  std::string path;        ///< Path of that trace, for display.
  std::string scenario;    ///< Scenario as the user wrote it.
  double baseline_ms = 0;  ///< Step time of the unchanged job, without the profiler.
  StepInterval step_ms;    ///< Forecast step time, before scores adjust its interval.
  /// Measured step of the changed job; nullopt if not measured.
  std::optional<double> actual_ms = {};
  std::string after = {};  ///< Fingerprint of the changed job's trace.
  std::int64_t line = 0;   ///< Line number in its file, from 1; 0 if it was not read from a file.

  bool scored() const { return actual_ms.has_value(); }
  /// Error of the forecast, in percent of the measured time. REQUIRES: scored().
  double error_pct() const { return 100 * (step_ms.mid / *actual_ms - 1); }
  /// Returns true if the measured time is in the interval. REQUIRES: scored().
  bool held() const { return *actual_ms >= step_ms.low && *actual_ms <= step_ms.high; }
};

/// Returns one line of JSON with a newline.
std::string LedgerLine(const LedgerRecord& record);
/// Returns the records of a file of such lines, in order. Skips invalid lines.
std::vector<LedgerRecord> ReadLedger(std::string_view text);

/// Returns the scenario without its values: "amp+batch-size".
std::string ScenarioKind(std::string_view scenario);

/// Adjustment of a scenario's intervals from a machine's scores.
struct IntervalRule {
  std::size_t scores = 0;  ///< Number of scores that the rule uses.
  double factor = 1;       ///< Factor on the half-widths.
};

/// Minimum number of scores. With fewer, intervals stay unchanged.
inline constexpr std::size_t kMinScores = 3;
inline constexpr double kMinFactor = 0.5, kMaxFactor = 3;

/// Returns the smallest factor with which 90 % of the scores of that kind and machine would have
/// been inside their intervals. With fewer than ten scores, all must be. The factor is between
/// kMinFactor and kMaxFactor, and 1 with fewer than kMinScores. Only the last of several scores of
/// the same two traces counts.
IntervalRule RuleFor(std::span<const LedgerRecord> records, std::string_view machine,
                     std::string_view scenario);

/// Returns the interval with both half-widths multiplied by the rule's factor.
StepInterval Apply(const IntervalRule& rule, const StepInterval& interval);

}  // namespace headroom
