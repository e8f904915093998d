// Forecasts that came true or not: what was foretold, what was measured after the change, and what
// that says of later intervals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/forecast.h"

namespace headroom {

/// A forecast that was saved, and what came of it. Times in milliseconds.
struct LedgerRecord {
  std::string machine;   ///< As MachineOf() tells.
  std::string trace;     ///< Fingerprint of the trace that the forecast is of.
  std::string path;      ///< Of that trace, for people.
  std::string scenario;  ///< As the user wrote it.
  double baseline_ms = 0;
  StepInterval step_ms;                  ///< As the engine gave it, before any score changed it.
  std::optional<double> actual_ms = {};  ///< Of the changed job; none: not measured.
  std::string after = {};                ///< Fingerprint of that job's trace.
  std::int64_t line = 0;                 ///< Of the file that it was read from, from 1; else 0.

  bool scored() const { return actual_ms.has_value(); }
  /// Of the forecast, in per cent of what came true. REQUIRES: scored().
  double error_pct() const { return 100 * (step_ms.mid / *actual_ms - 1); }
  /// REQUIRES: scored().
  bool held() const { return *actual_ms >= step_ms.low && *actual_ms <= step_ms.high; }
};

/// One line of JSON, with its end.
std::string LedgerLine(const LedgerRecord& record);
/// Records of a file of such lines, in order. Lines that are none are left out.
std::vector<LedgerRecord> ReadLedger(std::string_view text);

/// The scenario without its values: "amp+batch-size".
std::string ScenarioKind(std::string_view scenario);

/// What the scores of a machine say of a scenario's intervals.
struct IntervalRule {
  std::size_t scores = 0;
  double factor = 1;  ///< What the half-widths are multiplied with.
};

/// Scores below which intervals stay as they are.
inline constexpr std::size_t kMinScores = 3;
inline constexpr double kMinFactor = 0.5, kMaxFactor = 3;

/// The least factor with which 9 in 10 of the scores of that kind and machine would have held (all,
/// where there are fewer than ten), between kMinFactor and kMaxFactor; 1 below kMinScores. Of
/// scores of the same two traces only the last counts.
IntervalRule RuleFor(std::span<const LedgerRecord> records, std::string_view machine,
                     std::string_view scenario);

/// The interval with both half-widths multiplied.
StepInterval Apply(const IntervalRule& rule, const StepInterval& interval);

}  // namespace headroom
