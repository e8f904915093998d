#include "cli/commands/whatif_command.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <utility>

#include "answers/whatif/answer.h"
#include "answers/whatif/render.h"
#include "answers/whatif/score.h"
#include "base/local_state.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/join_processes.h"
#include "cli/inputs/open_job.h"
#include "cli/inputs/trace_files.h"
#include "cli/terminal/output.h"
#include "distributed/communicator.h"
#include "whatif/forecast.h"
#include "whatif/forecast_record.h"
#include "whatif/job/same_job.h"

namespace headroom::cli {
namespace {

constexpr const char* kWhatifExamples = R"(Examples:
  headroom whatif trace.json.gz                          all changes, largest saving first
  headroom whatif trace.json.gz gpu-speed:factor=2       a GPU that is twice as fast
  headroom whatif trace.json.gz remove-syncs+host-speed:factor=1.5
  headroom whatif trace.json.gz "scale:match=.*softmax.*,factor=0.5"
  headroom whatif --list                                 all scenarios and their keys

Exit codes: 0 fine, also if a scenario gains nothing or its effect is unknown; 1 --self-check failed;
2 usage; 3 the file is unreadable or not a trace, or has nothing to replay for --self-check,
--dump-graph or --write-trace; 4 cannot write, or internal error.
)";

}  // namespace

WhatifCommand::WhatifCommand(Command parent) {
  command_ = parent.AddCommand("whatif", "Forecast what a change would save", kWhatifExamples);
  command_
      .AddOption("TRACE", trace_, "A trace with GPU work (docs/formats.md), or a folder with one")
      .TypeName("");
  command_.AddOption("SCENARIO", scenarios_, "NAME[:key=value,...]; A+B applies both")
      .TypeName("")
      .Check(Known(ScenarioNames()));
  command_.AddFlag("--list", list_, "List the scenarios and their keys");
  views_.AddFlags(command_);
  command_.AddFlag("--full", full_, "Reasons for all forecasts, through a pager on a terminal");
  command_.AddFlag("--json", json_, "One JSON object, format headroom.whatif/1");
  command_
      .AddOption("-o,--output", output_path_, "Write to FILE, whole or not at all, not to stdout")
      .TypeName("FILE")
      .Check(NotEmpty());
  AddJobFlags(command_, options_);
  AddCaptureFlag(command_, options_);
  command_.AddFlag("--save", save_, "Save the forecasts, to score them after the change");
  command_
      .AddOption("--score", score_,
                 "Compare the forecast saved for BEFORE with AFTER, a trace of the changed job")
      .TypeName("BEFORE AFTER");
  command_.AddFlag("--scores", scores_, "List the saved forecasts and their outcomes");
  command_.AddFlag("-q,--quiet", options_.quiet, "No remarks and no progress on stderr");
}

Status WhatifCommand::Run() {
  // In these modes, the first argument is not a trace.
  if (!list_ && !scores_ && score_.first.empty()) {
    Result<std::string> file = FindOneTraceFile(trace_);
    if (!file.ok()) return file.status();
    trace_ = std::move(file).value();
  }
  // Only the sweep shares work between processes.
  if (!views_.sweeps() && IsFollower()) return Status::Ok();
  OneProcess alone;
  if (!views_.sweeps()) {
    SweepSharing sharing(alone);
    return Lead(sharing);
  }
  const Result<std::unique_ptr<Communicator>> communicator = JoinOthers();
  if (!communicator.ok()) return communicator.status();
  SweepSharing sharing(*communicator.value());
  if (communicator.value()->leads()) return Lead(sharing);
  options_.quiet = true;
  std::optional<Result<OpenedJob>> opened;
  sharing.Follow([&]() -> const Job* {
    // Ignores errors: the leader has the same error and reports it, or needs no help.
    try {
      opened = OpenJob(trace_, options_);
    } catch (const std::exception&) {
      return nullptr;
    }
    const bool fine = opened->ok() && opened->value().forecasts.ok();
    return fine ? opened->value().job.get() : nullptr;
  });
  return Status::Ok();
}

Status WhatifCommand::Lead(SweepSharing& sharing) {
  const PageStyle style = StyleOfPage(output_path_);
  if (list_) return WriteResult(RenderScenarioList(Catalogue(), style), output_path_);
  if (save_ && (scenarios_.empty() || options_.calibration.no_local_state ||
                !LocalStatePath("").has_value())) {
    return Status::Usage(
        scenarios_.empty()
            ? "--save requires named scenarios"
            : "--save requires local state: set HOME or XDG_STATE_HOME, and leave out "
              "--no-local-state");
  }
  if (scores_) return ListScores();
  if (!score_.first.empty()) return Score();
  if (trace_.empty()) return Status::Usage("TRACE is missing: headroom whatif TRACE [SCENARIO...]");
  const Result<std::vector<std::string>> inputs = WithCaptures({trace_}, options_.capture);
  if (!inputs.ok()) return inputs.status();
  if (Status status = CheckOutput(inputs.value()); !status.ok()) return status;
  if (Status status = views_.Check(inputs.value(), scenarios_); !status.ok()) return status;
  // Checks the scenario names before reading a large trace.
  const Result<std::vector<std::vector<ScenarioCall>>> calls = ParseScenarios(scenarios_);
  if (!calls.ok()) return calls.status();
  sharing.Begin();
  options_.cpu_jobs = !views_.Asked();
  Result<OpenedJob> opened = OpenJob(trace_, options_);
  const Status why_none = opened.ok() ? opened.value().forecasts : opened.status();
  if (why_none.code() == StatusCode::kNoAnswer) {
    if (views_.Asked()) return views_.RefuseWithoutGraph(trace_, why_none);
    if (save_ && !options_.quiet) Remark("saved nothing: there is no forecast\n");
    return WriteResult(RenderNoAnswer(why_none, style), output_path_);
  }
  if (!opened.ok()) return opened.status();
  const Job& job = *opened.value().job;
  Result<ForecastRecord> record = ForecastRecord::Open(options_.calibration.no_local_state);
  if (!record.ok()) return record.status();
  if (Status status = views_.WriteJob(job, trace_, scenarios_); !status.ok()) return status;
  std::optional<Sweep> sweep;
  if (views_.sweeps()) sweep = sharing.Lead(job);
  Forecaster forecaster(job);
  Result<ForecastReport> answer = AnswerForecasts(
      job, {.path = trace_, .calibration = opened.value().calibration, .note = opened.value().note},
      {.scenarios = scenarios_,
       .calls = calls.value(),
       .explain = views_.explains(),
       .self_check = views_.checks(),
       .after_each =
           [&](const Forecast& forecast, const EditedPlan& plan) {
             return views_.WriteScenario(job, forecast, plan);
           }},
      forecaster);
  if (!answer.ok()) return answer.status();
  ForecastReport& report = answer.value();
  report.sweep = std::move(sweep);
  report.arguments = ArgumentsOf(options_);
  if (save_) {
    if (Status status = Save(job, report, record.value()); !status.ok()) return status;
  }
  AdjustIntervals(job, record.value(), report);
  if (Status status = json_ ? WriteResult(RenderForecastJson(report), output_path_)
                            : WritePaged(ShowsAll() ? RenderForecastText(report, style)
                                                    : RenderForecastSummary(report, style),
                                         output_path_);
      !status.ok())
    return status;
  return WhatifViews::Gate(report);
}

bool WhatifCommand::ShowsAll() const {
  return full_ || !scenarios_.empty() || views_.explains() || views_.checks() || views_.sweeps();
}

Status WhatifCommand::CheckOutput(const std::vector<std::string>& inputs) const {
  if (output_path_.empty() || output_path_ == "-") return Status::Ok();
  return RefuseToOverwrite("-o", output_path_, inputs);
}

std::string WhatifCommand::RenderNoAnswer(const Status& status, const PageStyle& style) const {
  const ForecastReport report = AnswerWithout(trace_, status, scenarios_);
  return json_ ? RenderForecastJson(report) : RenderForecastText(report, style);
}

Status WhatifCommand::Save(const Job& job, const ForecastReport& report,
                           ForecastRecord& record) const {
  const Result<std::string> fingerprint = FingerprintOf(trace_);
  if (!fingerprint.ok()) return fingerprint.status();
  std::vector<LedgerRecord> records;
  for (const Forecast& forecast : report.forecasts) {
    if (!forecast.applies) continue;
    records.push_back({.machine = MachineOf(job.store()),
                       .trace = fingerprint.value(),
                       .path = trace_,
                       .scenario = forecast.name,
                       .baseline_ms = report.baseline.corrected.mid,
                       .step_ms = forecast.step_ms});
  }
  if (Status status = record.Append(records); !status.ok()) return status;
  if (!options_.quiet)
    Remark(fmt::format("saved {} forecast{} in {}\n", records.size(),
                       records.size() == 1 ? "" : "s", Printable(record.path(), Charset::kAscii)));
  return Status::Ok();
}

Status WhatifCommand::Score() {
  std::optional<std::string> scenario;
  if (!trace_.empty()) scenario = trace_;
  if (!scenarios_.empty()) return Status::Usage("--score BEFORE AFTER takes at most one scenario");
  if (Status status = CheckOutput({score_.first, score_.second}); !status.ok()) return status;
  Result<ForecastRecord> record = ForecastRecord::Open(options_.calibration.no_local_state);
  if (!record.ok()) return record.status();
  Result<LedgerRecord> found = FindForecast(record.value(), score_.first, scenario);
  if (!found.ok()) return found.status();
  Result<std::string> fingerprint = FingerprintOf(score_.second);
  if (!fingerprint.ok()) return fingerprint.status();
  if (fingerprint.value() == found.value().trace) {
    return Status::Usage(
        fmt::format("{} is the same trace as {}; give the one recorded after the change",
                    score_.second, score_.first));
  }
  const Result<OpenedJob> after = OpenJob(score_.second, options_);
  if (!after.ok()) return after.status();
  // A measured step is valid even if its trace lacks data.
  if (!after.value().forecasts.ok() && !options_.measured_step_ms) return after.value().forecasts;
  const std::string machine = MachineOf(*after.value().store);
  if (machine != found.value().machine) {
    return Status::Usage(
        fmt::format("{} was recorded on {}, but {} on {}; record both on one machine",
                    score_.second, machine, score_.first, found.value().machine));
  }
  if (Status status = RefuseOtherJob(*after.value().job); !status.ok()) return status;
  ScoreReport report{.before = score_.first,
                     .after = score_.second,
                     .record = std::move(found).value(),
                     .measured = options_.measured_step_ms.has_value(),
                     .rule = {},
                     .ledger = record.value().path()};
  report.record.actual_ms = report.measured
                                ? *options_.measured_step_ms
                                : Forecaster(*after.value().job).baseline().corrected.mid;
  report.record.after = std::move(fingerprint).value();
  if (Status status = record.value().Append({report.record}); !status.ok()) return status;
  report.rule = RuleFor(record.value().records(), machine, report.record.scenario);
  return WriteResult(
      json_ ? RenderScoreJson(report) : RenderScoreText(report, StyleOfPage(output_path_)),
      output_path_);
}

Status WhatifCommand::RefuseOtherJob(const Job& after) const {
  const std::optional<std::int64_t> gradients_after = GradientsAStep(after);
  if (!gradients_after) return Status::Ok();
  JobOptions options = options_;
  options.measured_step_ms.reset();  // The measured step time belongs to the changed job.
  const Result<OpenedJob> before = OpenJob(score_.first, options);
  // This check is optional: the score does not depend on it.
  if (!before.ok()) return Status::Ok();
  const std::optional<std::int64_t> gradients_before = GradientsAStep(*before.value().job);
  if (CanBeOneJob(gradients_before, gradients_after)) return Status::Ok();
  return Status::Usage(
      fmt::format("{} looks like a different job from {}: each step accumulates {} gradients, not "
                  "{}; the score "
                  "was not saved; choose a trace of the same job",
                  score_.second, score_.first, *gradients_after, *gradients_before));
}

Status WhatifCommand::ListScores() const {
  if (!trace_.empty() || !score_.first.empty() || save_)
    return Status::Usage("--scores lists the ledger: leave out TRACE, --score and --save");
  const Result<ForecastRecord> record = ForecastRecord::Open(options_.calibration.no_local_state);
  if (!record.ok()) return record.status();
  const std::string& ledger = record.value().path();
  if (ledger.empty()) {
    return Status::Usage(
        "--scores requires local state: set HOME or XDG_STATE_HOME, and leave out "
        "--no-local-state");
  }
  if (!CheckOutput({ledger}).ok()) {
    return Status::Usage(
        fmt::format("-o {}: that is the ledger itself; name another file", output_path_));
  }
  const std::vector<LedgerRecord>& records = record.value().records();
  return json_ ? WriteResult(RenderScoresJson(records, ledger), output_path_)
               : WritePaged(RenderScoresText(records, ledger, StyleOfPage(output_path_)),
                            output_path_);
}

}  // namespace headroom::cli
