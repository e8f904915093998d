// What `headroom whatif` prints: forecasts as text and as JSON (headroom.whatif/1).
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

/// Everything that `headroom whatif` says about one trace.
struct ForecastReport {
  std::string path;
  std::vector<std::string> arguments;  ///< Flags of commands that the text shows.
  Baseline baseline;
  std::string calibration;  ///< Where the cost of recording comes from.
  std::string no_answer;    ///< Why nothing can be replayed, and the remedy; then all else is void.
  bool ranked = false;      ///< By what they save; else in the order asked for.
  std::vector<Forecast> forecasts;
  std::vector<Forecast> abstaining;  ///< Of a ranking: what cannot be told of this job, and why.
  std::optional<Explanation> explanation;  ///< Asked for by --explain.
  std::vector<SelfCheck> self_check;       ///< By --self-check; empty: not asked for.
  std::optional<Sweep> sweep;              ///< By --sweep.
};

std::string RenderForecastJson(const ForecastReport& report);
/// One screen: a row for each change that saves 1 % of the step or more. Requires `ranked`.
std::string RenderForecastSummary(const ForecastReport& report, const PageStyle& style);
/// All of it, with the reasons.
std::string RenderForecastText(const ForecastReport& report, const PageStyle& style);
/// The catalogue as text.
std::string RenderScenarioList(std::span<const Scenario> scenarios, const PageStyle& style);

}  // namespace headroom
