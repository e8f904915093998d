#include "answers/whatif/answer.h"

#include <utility>

#include "whatif/explanation.h"
#include "whatif/self_check.h"

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

Result<ForecastReport> AnswerForecasts(const Job& job, const ForecastSource& source,
                                       const ForecastQuestion& question, Forecaster& forecaster) {
  ForecastReport report;
  report.path = source.path;
  report.calibration = source.calibration;
  report.baseline = forecaster.baseline();
  report.baseline.AlsoNote(source.note);
  report.ranked = question.scenarios.empty();
  if (question.explain) report.explanation = ExplainJob(job);
  if (question.self_check) report.self_check = CheckSelf(job, report.baseline.replay_error_pct);
  for (std::size_t i = 0; i < question.calls.size() && question.is_wanted(); ++i) {
    const Forecast& forecast =
        report.forecasts.emplace_back(forecaster.Run(question.scenarios[i], question.calls[i]));
    const EditedPlan& plan = forecaster.last_plan();
    if (question.explain && forecast.applies)
      report.explanation->plans.push_back(ExplainPlan(job, forecast.name, plan));
    if (!question.after_each) continue;
    if (Status status = question.after_each(forecast, plan); !status.ok()) return status;
  }
  if (report.ranked) {
    Ranking ranking = forecaster.Rank(question.is_wanted);
    report.forecasts = std::move(ranking.applying);
    report.abstaining = std::move(ranking.abstaining);
  }
  return report;
}

void AdjustIntervals(const Job& job, const ForecastRecord& record, ForecastReport& report) {
  for (Forecast& forecast : report.forecasts) record.Adjust(MachineOf(job.store()), forecast);
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
