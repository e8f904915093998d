#include "answers/predict/changed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "predict/job_prediction.h"
#include "whatif/forecast.h"

namespace headroom {
namespace {

/// Changes of the number of GPUs or jobs.
constexpr std::array<std::string_view, 5> kOfOtherGpus = {"data-parallel", "network-speed", "p3",
                                                          "dgc", "blueconnect"};
constexpr std::string_view kOfOtherJobs = "horizontal-fusion";

}  // namespace

Result<std::vector<ScenarioCall>> ParsePredictedChange(std::string_view text) {
  Result<std::vector<ScenarioCall>> calls = ParseScenario(text);
  if (!calls.ok()) return calls;
  for (const ScenarioCall& call : calls.value()) {
    const std::string_view name = call.scenario->name;
    if (std::find(kOfOtherGpus.begin(), kOfOtherGpus.end(), name) != kOfOtherGpus.end()) {
      return Status::Usage(fmt::format(
          "--with {}: changes the number of GPUs or their network; use headroom scale", name));
    }
    if (name == kOfOtherJobs) {
      return Status::Usage(
          fmt::format("--with {}: changes the number of jobs; use headroom whatif", name));
    }
  }
  return calls;
}

ChangedStep StepAfter(const std::vector<ScenarioCall>& change, const Job& job,
                      const PredictedMs& unchanged) {
  Forecaster forecaster(job);
  const Forecast forecast =
      forecaster.Run("", [&](Edit& edit) { return ApplyAll(job, change, edit); });
  if (!forecast.applies) return {.applies = false, .why = forecast.why};
  ChangedStep changed{.why = forecast.why,
                      .step = {forecast.step_ms.low, forecast.step_ms.mid, forecast.step_ms.high},
                      .host_ms = forecast.limits.host_ms,
                      .gpu_ms = forecast.limits.gpu_ms,
                      .samples = forecast.samples,
                      .memory_delta_bytes = forecast.memory_delta_bytes};
  PredictedMs& step = changed.step;
  if (step.mid <= 0 || unchanged.mid <= 0) return changed;
  const StepInterval& before = forecaster.baseline().corrected;
  // The forecast has the errors of the recorded job; those of the other GPU's times come on top.
  const auto with = [](double of_forecast, double of_job, double of_unchanged) {
    return std::hypot(of_forecast, ErrorBeyond(of_job, of_unchanged));
  };
  const double less = with(1 - step.low / step.mid, 1 - before.low / before.mid,
                           1 - unchanged.low / unchanged.mid),
               more = with(step.high / step.mid - 1, before.high / before.mid - 1,
                           unchanged.high / unchanged.mid - 1);
  step.low = step.mid * (1 - std::min(1.0, less));
  step.high = step.mid * (1 + more);
  return changed;
}

}  // namespace headroom
