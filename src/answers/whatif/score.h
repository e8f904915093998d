// What `headroom whatif --score` and `--scores` print: forecasts beside what came true.
#pragma once

#include <span>
#include <string>

#include "render/text_page.h"
#include "whatif/forecast_ledger.h"

namespace headroom {

struct ScoreReport {
  std::string before, after;  ///< Paths as the user gave them.
  LedgerRecord record;        ///< Scored.
  bool measured = false;      ///< The true step was given; else it is the corrected one of `after`.
  IntervalRule rule;          ///< Of later forecasts of this kind on this machine.
  std::string ledger;         ///< Path of the file.
};

/// Format headroom.whatif-score/1.
std::string RenderScoreJson(const ScoreReport& report);
std::string RenderScoreText(const ScoreReport& report, const PageStyle& style);

/// The ledger of forecasts, in order of the file. Format headroom.whatif-scores/1.
///
/// @param ledger  path of the file, which may not be there yet
std::string RenderScoresJson(std::span<const LedgerRecord> records, const std::string& ledger);
std::string RenderScoresText(std::span<const LedgerRecord> records, const std::string& ledger,
                             const PageStyle& style);

}  // namespace headroom
