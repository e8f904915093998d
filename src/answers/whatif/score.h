// The output of `headroom whatif --score` and `--scores`: forecasts next to measured outcomes.
#pragma once

#include <span>
#include <string>

#include "render/text_page.h"
#include "whatif/forecast_ledger.h"

namespace headroom {

struct ScoreReport {
  std::string before, after;  ///< Paths as the user gave them.
  LedgerRecord record;        ///< The scored record.
  bool measured = false;      ///< True if the step was measured. Otherwise it is the corrected step
                              ///< of `after`.
  IntervalRule rule;   ///< Rule for the intervals of later forecasts of this kind on this machine.
  std::string ledger;  ///< Path of the ledger.
};

/// Returns headroom.whatif-score/1.
std::string RenderScoreJson(const ScoreReport& report);
std::string RenderScoreText(const ScoreReport& report, const PageStyle& style);

/// Returns the ledger of forecasts, in order of the file. Format headroom.whatif-scores/1.
///
/// @param ledger  path of the file, which may not exist yet
std::string RenderScoresJson(std::span<const LedgerRecord> records, const std::string& ledger);
std::string RenderScoresText(std::span<const LedgerRecord> records, const std::string& ledger,
                             const PageStyle& style);

}  // namespace headroom
