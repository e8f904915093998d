// Answers `headroom whatif`, for the command line, the page and Python.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "answers/whatif/render.h"
#include "base/status.h"
#include "base/wanted.h"
#include "whatif/forecast.h"
#include "whatif/forecast_record.h"
#include "whatif/job/job.h"

namespace headroom {

/// Parses each scenario. Fails with kUsage as ParseScenario() does.
Result<std::vector<std::vector<ScenarioCall>>> ParseScenarios(
    std::span<const std::string> scenarios);

/// Facts about a job that the report of its forecasts shows.
struct ForecastSource {
  std::string path;
  std::string calibration;  ///< CalibratedJob::calibration.
  std::string note;         ///< CalibratedJob::note.
};

struct ForecastQuestion {
  std::span<const std::string> scenarios = {};            ///< Empty ranks all scenarios that apply.
  std::span<const std::vector<ScenarioCall>> calls = {};  ///< Result of ParseScenarios() for
                                                          ///< `scenarios`.
  bool explain = false;
  bool self_check = false;
  /// Called after each scenario, with its plan if it applies. A failure ends the answer.
  std::function<Status(const Forecast&, const EditedPlan&)> after_each = {};
  IsWanted is_wanted = AlwaysWanted;  ///< Called during the work. After it returns false, the work
                                      ///< stops and the answer is invalid.
};

/// Returns a forecast for each scenario, in the order of `question`. Fails only if `after_each`
/// fails.
Result<ForecastReport> AnswerForecasts(const Job& job, const ForecastSource& source,
                                       const ForecastQuestion& question, Forecaster& forecaster);

/// Adjusts the intervals to the scored forecasts of the job's machine.
void AdjustIntervals(const Job& job, const ForecastRecord& record, ForecastReport& report);

/// Returns the report of a job that cannot be replayed. Every scenario abstains for the reason
/// `why`: the named ones, or the whole catalogue if none is named.
ForecastReport AnswerWithout(const std::string& path, const Status& why,
                             std::span<const std::string> scenarios);

}  // namespace headroom
