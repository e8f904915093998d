// For tests: forecasts of a small training job whose times can be computed by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "analysis/test_trace.h"
#include "whatif/forecast.h"

namespace headroom {

/// The job of a trace. Recording costs nothing, and added host work is instantaneous.
class TestForecasts {
 public:
  explicit TestForecasts(const StoreBuilder& builder) : store_(builder.Build()) {
    Result<std::unique_ptr<Job>> job = Job::Make(*store_, TestReferenceData(), {}, Calibration());
    EXPECT_TRUE(job.ok()) << job.status().message();
    if (!job.ok()) return;
    job_ = std::move(job).value();
    forecaster_ = std::make_unique<Forecaster>(*job_);
  }

  const Job& job() const { return *job_; }
  double StepUs() const { return forecaster_->baseline().corrected.mid * 1e3; }
  /// REQUIRES: a valid scenario.
  Forecast Ask(const std::string& scenario) {
    Result<std::vector<ScenarioCall>> calls = ParseScenario(scenario);
    EXPECT_TRUE(calls.ok()) << calls.status().message();
    return forecaster_->Run(scenario, calls.value());
  }
  /// Returns the step time of a forecast, in us. REQUIRES: the forecast applies.
  double StepUs(const std::string& scenario) {
    const Forecast forecast = Ask(scenario);
    EXPECT_TRUE(forecast.applies) << scenario << ": " << forecast.why;
    return forecast.step_ms.mid * 1e3;
  }
  /// Returns the reason why a forecast abstains. REQUIRES: it abstains.
  std::string WhyNot(const std::string& scenario) {
    const Forecast forecast = Ask(scenario);
    EXPECT_FALSE(forecast.applies) << scenario;
    return forecast.why;
  }

 private:
  std::unique_ptr<TraceStore> store_;
  std::unique_ptr<Job> job_;
  std::unique_ptr<Forecaster> forecaster_;
};

}  // namespace headroom
