// What `headroom whatif` prints: forecasts as text and as JSON (headroom.whatif/1).
#pragma once

#include <span>
#include <string>

#include "report/escape.h"
#include "whatif/forecast.h"

namespace headroom {

/// Everything that `headroom whatif` says about one trace.
struct ForecastReport {
  std::string path;
  Baseline baseline;
  std::string calibration;  ///< Where the cost of recording comes from.
  bool ranked = false;      ///< By what they save; else in the order asked for.
  std::vector<Forecast> forecasts;
};

std::string RenderForecastJson(const ForecastReport& report);
std::string RenderForecastText(const ForecastReport& report, bool color, Charset charset);
/// The catalogue as text.
std::string RenderScenarioList(std::span<const Scenario> scenarios, bool color, Charset charset);

}  // namespace headroom
