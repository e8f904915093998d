#include "cli/whatif_command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <thread>

#include "analysis/knowledge.h"
#include "cli/help.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "ingest/open_trace.h"
#include "report/forecast_report.h"
#include "whatif/forecast.h"

namespace headroom::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  headroom whatif trace.json.gz gpu-speed:factor=2       were the GPU twice as fast
  headroom whatif trace.json.gz remove-syncs+host-speed:factor=1.5
  headroom whatif trace.json.gz "scale:match=.*softmax.*,factor=0.5"
  headroom whatif --list                                 all scenarios and their keys

Exit codes: 0 fine, also where a scenario gains nothing or cannot be told; 1 --self-check failed;
2 usage; 3 the file is unreadable or no trace; 4 cannot write, or internal error.
)";

}  // namespace

WhatifCommand::WhatifCommand(CLI::App& parent) {
  app_ = parent.add_subcommand("whatif", "What a change to the job would buy, before it is made");
  app_->footer(kExamples);
  app_->add_option("TRACE", trace_, "A PyTorch-profiler trace: .json, .json.gz or .json.zst")
      ->type_name("");
  app_->add_option("SCENARIO", scenarios_, "NAME[:key=value,...]; A+B applies both")->type_name("");
  app_->add_flag("--list", list_, "List the scenarios and their keys");
  views_.AddFlags(*app_);
  app_->add_flag("--json", json_, "One JSON object, format headroom.whatif/1");
  app_->add_option("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      ->type_name("FILE");
  app_->add_option("--step-marker", step_marker_,
                   "Range that begins each step, where the trace has no ProfilerStep")
      ->type_name("NAME");
  app_->add_option("--measured-step-ms", measured_step_ms_,
                   "True time of a step without a profiler, for jobs that the host paces")
      ->type_name("X")
      ->check(AboveZero, "");
  app_->add_option("--calibration", calibration_.path,
                   "Calibration of the machine that made the trace (headroom calibrate --host)")
      ->type_name("FILE");
  app_->add_flag("--no-local-state", calibration_.no_local_state,
                 "Use nothing that was learned on this machine");
  app_->add_flag("-q,--quiet", quiet_, "No remarks and no progress on stderr");
}

Status WhatifCommand::Run() {
  const Charset charset = CharsetOfEnvironment();
  const bool color = UseColor(ColorMode::kAuto, output_path_);
  if (list_) return WriteResult(RenderScenarioList(Catalogue(), color, charset), output_path_);
  if (trace_.empty()) return Status::Usage("TRACE is missing: headroom whatif TRACE [SCENARIO...]");
  if (!output_path_.empty() && output_path_ != "-") {
    if (Status status = RefuseToOverwrite("-o", output_path_, {trace_}); !status.ok())
      return status;
  }
  if (Status status = views_.Check(trace_, scenarios_); !status.ok()) return status;
  // Wrong names are told before a large trace is read.
  std::vector<std::vector<ScenarioCall>> calls;
  for (const std::string& text : scenarios_) {
    Result<std::vector<ScenarioCall>> parsed = ParseScenario(text);
    if (!parsed.ok()) return parsed.status();
    calls.push_back(std::move(parsed).value());
  }
  Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn();
  if (!knowledge.ok()) return knowledge.status();
  OpenOptions open;
  open.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Progress progress(!quiet_, "reading " + Printable(trace_, Charset::kAscii));
  open.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  Result<std::unique_ptr<TraceStore>> store = OpenTrace(trace_, open);
  if (!store.ok()) return store.status();

  AnalysisOptions options;
  options.path = trace_;
  options.step_marker = step_marker_;
  const Result<ChosenCalibration> chosen = ChooseCalibration(calibration_, *store.value());
  if (!chosen.ok()) return chosen.status();
  Result<std::unique_ptr<Job>> job =
      Job::Make(*store.value(), *knowledge.value(), options, chosen.value().calibration);
  if (!job.ok()) return job.status();
  ForecastReport report;
  report.calibration = fmt::format("Calibration: {}.", chosen.value().from);
  if (measured_step_ms_) {
    const Result<bool> told = job.value()->CalibrateTo(*measured_step_ms_);
    if (!told.ok()) return told.status();
    report.calibration =
        told.value() ? fmt::format("Calibrated to the measured step of {} ms.", *measured_step_ms_)
                     : fmt::format(
                           "The measured step of {} ms says nothing of the host, as the GPU "
                           "paces it. {}",
                           *measured_step_ms_, report.calibration);
  }
  Forecaster forecaster(*job.value());
  report.path = trace_;
  report.baseline = forecaster.baseline();
  report.ranked = scenarios_.empty();
  if (Status status = views_.Begin(*job.value(), report); !status.ok()) return status;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    report.forecasts.push_back(forecaster.Run(scenarios_[i], calls[i]));
    if (Status status = views_.AddScenario(*job.value(), forecaster.last_plan(), report);
        !status.ok())
      return status;
  }
  if (report.ranked) {
    // What needs a value of the user's is asked for by name only.
    for (const Scenario& scenario : Catalogue()) {
      const bool askable =
          std::all_of(scenario.keys.begin(), scenario.keys.end(),
                      [](const ScenarioKey& key) { return !key.otherwise.empty(); });
      if (!askable) continue;
      Result<std::vector<ScenarioCall>> call = ParseScenario(scenario.name);
      if (!call.ok()) return call.status();
      Forecast forecast = forecaster.Run(std::string(scenario.name), call.value());
      if (forecast.applies) report.forecasts.push_back(std::move(forecast));
    }
    std::stable_sort(report.forecasts.begin(), report.forecasts.end(),
                     [](const Forecast& a, const Forecast& b) { return a.saves_ms > b.saves_ms; });
  }
  if (Status status = WriteResult(
          json_ ? RenderForecastJson(report) : RenderForecastText(report, color, charset),
          output_path_);
      !status.ok())
    return status;
  return WhatifViews::Gate(report);
}

}  // namespace headroom::cli
