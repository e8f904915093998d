// The output of `headroom whatif`: forecasts as text and as JSON (headroom.whatif/1).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "render/text_page.h"
#include "whatif/explanation.h"
#include "whatif/forecast.h"
#include "whatif/self_check.h"
#include "whatif/sweep.h"

namespace headroom {

/// The answer of `headroom whatif` about one trace.
struct ForecastReport {
  std::string path;
  std::vector<std::string> arguments;  ///< Flags for the commands that the text suggests.
  Baseline baseline;
  std::string calibration;  ///< Source of the cost of recording.
  std::string no_answer;  ///< Why the trace cannot be replayed, and the remedy; otherwise empty. If
                          ///< set, `baseline` is invalid and all forecasts abstain.
  bool ranked = false;    ///< True: sorted by savings. False: in the order of the command line.
  std::vector<Forecast> forecasts;
  /// Scenarios of a ranking that have no forecast, with the reasons.
  std::vector<Forecast> abstaining;
  std::optional<Explanation> explanation;  ///< Set by --explain.
  std::vector<SelfCheck> self_check;       ///< Results of --self-check; empty without it.
  std::optional<Sweep> sweep;              ///< Set by --sweep.
};

/// Returns true if a real change saves at most what the forecast says: if `at_best` is set, or if
/// no call waits for the GPU any more, although code may need the awaited value.
bool IsUpperBound(const Forecast& forecast);

std::string RenderForecastJson(const ForecastReport& report);
/// Returns one screen: a row for each change that saves at least 1 % of the step. Requires
/// `ranked`.
std::string RenderForecastSummary(const ForecastReport& report, const PageStyle& style);
/// Returns all forecasts with their reasons.
std::string RenderForecastText(const ForecastReport& report, const PageStyle& style);
/// Returns the catalogue as text.
std::string RenderScenarioList(std::span<const Scenario> scenarios, const PageStyle& style);

}  // namespace headroom
