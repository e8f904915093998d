// What `headroom whatif` prints: forecasts as text and as JSON (headroom.whatif/1).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "render/escape.h"
#include "whatif/explanation.h"
#include "whatif/forecast.h"
#include "whatif/self_check.h"
#include "whatif/sweep.h"

namespace headroom {

/// Everything that `headroom whatif` says about one trace.
struct ForecastReport {
  std::string path;
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
std::string RenderForecastText(const ForecastReport& report, bool color, Charset charset);
/// The catalogue as text.
std::string RenderScenarioList(std::span<const Scenario> scenarios, bool color, Charset charset);

}  // namespace headroom
