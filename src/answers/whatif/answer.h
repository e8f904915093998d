// What is asked about one job's changes, answered as `headroom whatif` does, whoever asks.
#pragma once

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

/// One row a scenario, in this order; without any, the ranking of all that apply. Intervals are
/// those that this machine's scores make of them.
///
/// @param calls      of the scenarios (ParseScenarios())
/// @param is_wanted  once it says no, the answer is void
ForecastReport AnswerForecasts(const Job& job, const ForecastSource& source,
                               std::span<const std::string> scenarios,
                               std::span<const std::vector<ScenarioCall>> calls,
                               const ForecastRecord& record, Forecaster& forecaster,
                               const IsWanted& is_wanted = AlwaysWanted);

/// Where nothing can be replayed: each scenario abstains for this reason, or, where none is named,
/// all of the catalogue do.
ForecastReport AnswerWithout(const std::string& path, const Status& why,
                             std::span<const std::string> scenarios);

}  // namespace headroom
