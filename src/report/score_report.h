// What `headroom whatif --score` prints: a forecast beside what came true.
#pragma once

#include <string>

#include "report/escape.h"
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
std::string RenderScoreText(const ScoreReport& report, bool color, Charset charset);

}  // namespace headroom
