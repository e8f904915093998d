#include "answers/whatif/answer.h"

#include <utility>

namespace headroom {

Result<std::vector<std::vector<ScenarioCall>>> ParseScenarios(
    std::span<const std::string> scenarios) {
  std::vector<std::vector<ScenarioCall>> calls;
  calls.reserve(scenarios.size());
  for (const std::string& text : scenarios) {
    Result<std::vector<ScenarioCall>> parsed = ParseScenario(text);
    if (!parsed.ok()) return parsed.status();
    calls.push_back(std::move(parsed).value());
  }
  return calls;
}

ForecastReport AnswerForecasts(const Job& job, const ForecastSource& source,
                               std::span<const std::string> scenarios,
                               std::span<const std::vector<ScenarioCall>> calls,
                               const ForecastRecord& record, Forecaster& forecaster,
                               const IsWanted& is_wanted) {
  ForecastReport report;
  report.path = source.path;
  report.calibration = source.calibration;
  report.baseline = forecaster.baseline();
  report.baseline.AlsoNote(source.note);
  report.ranked = scenarios.empty();
  for (std::size_t i = 0; i < calls.size() && is_wanted(); ++i)
    report.forecasts.push_back(forecaster.Run(scenarios[i], calls[i]));
  if (report.ranked) {
    Ranking ranking = forecaster.Rank(is_wanted);
    report.forecasts = std::move(ranking.applying);
    report.abstaining = std::move(ranking.abstaining);
  }
  for (Forecast& forecast : report.forecasts) record.Adjust(MachineOf(job.store()), forecast);
  return report;
}

ForecastReport AnswerWithout(const std::string& path, const Status& why,
                             std::span<const std::string> scenarios) {
  ForecastReport report;
  report.path = path;
  report.no_answer = why.message();
  report.ranked = scenarios.empty();
  const auto abstain = [&](std::string name) {
    Forecast forecast;
    forecast.name = std::move(name);
    forecast.applies = false;
    forecast.why = why.message();
    return forecast;
  };
  for (const std::string& scenario : scenarios) report.forecasts.push_back(abstain(scenario));
  if (report.ranked) {
    for (const Scenario& scenario : Catalogue())
      report.abstaining.push_back(abstain(std::string(scenario.name)));
  }
  return report;
}

}  // namespace headroom
