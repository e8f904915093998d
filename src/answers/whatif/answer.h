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

/// Of each text; fails (kUsage) as ParseScenario() does.
Result<std::vector<std::vector<ScenarioCall>>> ParseScenarios(
    std::span<const std::string> scenarios);

/// What the user is told of a job beside its forecasts.
struct ForecastSource {
  std::string path;
  std::string calibration;  ///< CalibratedJob::calibration.
  std::string note;         ///< CalibratedJob::note.
};

struct ForecastQuestion {
  std::span<const std::string> scenarios = {};            ///< None: the ranking of all that apply.
  std::span<const std::vector<ScenarioCall>> calls = {};  ///< ParseScenarios() of them.
  bool explain = false;
  bool self_check = false;
  /// Called after each scenario, with its plan where it applies. A failure ends the answer.
  std::function<Status(const Forecast&, const EditedPlan&)> after_each = {};
  IsWanted is_wanted = AlwaysWanted;  ///< Once it says no, the answer is void.
};

/// Returns a row for each scenario, in this order. Fails only as `after_each` does.
Result<ForecastReport> AnswerForecasts(const Job& job, const ForecastSource& source,
                                       const ForecastQuestion& question, Forecaster& forecaster);

/// Sets the intervals by the scores of this machine.
void AdjustIntervals(const Job& job, const ForecastRecord& record, ForecastReport& report);

/// Where nothing can be replayed: each scenario abstains for this reason, or, where none is named,
/// all of the catalogue do.
ForecastReport AnswerWithout(const std::string& path, const Status& why,
                             std::span<const std::string> scenarios);

}  // namespace headroom
