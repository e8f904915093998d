#include "cli/inputs/open_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/flags/value_checks.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/inputs/step_range.h"
#include "cli/inputs/trace_files.h"
#include "ingest/open_trace.h"
#include "serve/join_capture_files.h"
#include "whatif/calibrated_job.h"

namespace headroom::cli {

void AddJobFlags(Command command, JobOptions& options) {
  command
      .AddOption("--step-marker", options.step_marker,
                 "Range that begins each step, if the trace has no ProfilerStep")
      .TypeName("NAME");
  command
      .AddOption("--steps", options.steps,
                 "Only steps A to B, by number, both included, as if no others were recorded")
      .TypeName("A:B");
  command
      .AddOption("--measured-step-ms", options.measured_step_ms,
                 "True step time without a profiler, for host-bound jobs")
      .TypeName("X")
      .Check(AboveZero());
  command
      .AddOption("--calibration", options.calibration.path,
                 "Calibration of the traced machine (headroom calibrate --host)")
      .TypeName("FILE");
  command.AddFlag("--no-local-state", options.calibration.no_local_state,
                  "Ignore what Headroom learned on this machine");
  options.open.threads = DefaultThreads();
  AddMaxExpansionFlag(command, options.open.expansion);
}

std::vector<std::string> ArgumentsOf(const JobOptions& options) {
  std::vector<std::string> arguments;
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.emplace_back(flag);
    arguments.push_back(value);
  };
  if (!options.step_marker.empty()) add("--step-marker", options.step_marker);
  if (!options.steps.empty()) add("--steps", options.steps);
  if (!options.capture.empty()) add("--capture", options.capture);
  if (options.measured_step_ms)
    add("--measured-step-ms", fmt::format("{}", *options.measured_step_ms));
  if (!options.calibration.path.empty()) add("--calibration", options.calibration.path);
  if (options.calibration.no_local_state) arguments.emplace_back("--no-local-state");
  return arguments;
}

void AddCaptureFlag(Command command, JobOptions& options) {
  command.AddOption("--capture", options.capture, kCaptureHelp).TypeName("FILE").Check(NotEmpty());
}

Result<std::vector<std::string>> CaptureFiles(const std::string& capture) {
  if (capture.empty()) return std::vector<std::string>();
  Result<TraceFiles> files = FindTraceFiles({capture});
  if (!files.ok()) return files.status();
  return std::move(files.value().paths);
}

Result<std::vector<std::string>> WithCaptures(std::vector<std::string> inputs,
                                              const std::string& capture) {
  const Result<std::vector<std::string>> captures = CaptureFiles(capture);
  if (!captures.ok()) return captures.status();
  inputs.insert(inputs.end(), captures.value().begin(), captures.value().end());
  return inputs;
}

Result<AnalysisOptions> AnalysisOf(const JobOptions& options) {
  AnalysisOptions analysis;
  analysis.step_marker = options.step_marker;
  if (options.steps.empty()) return analysis;
  const Result<StepRange> steps = ParseStepRange(options.steps);
  if (!steps.ok()) return steps.status();
  analysis.first_step = steps.value().first;
  analysis.last_step = steps.value().last;
  return analysis;
}

Result<OpenedTrace> ReadTrace(const std::string& trace, const JobOptions& options) {
  Result<AnalysisOptions> analysis = AnalysisOf(options);
  if (!analysis.ok()) return analysis.status();
  const Result<std::vector<std::string>> captures = CaptureFiles(options.capture);
  if (!captures.ok()) return captures.status();
  OpenedTrace opened;
  Result<std::unique_ptr<ReferenceData>> reference =
      ReferenceData::LoadBuiltIn(options.device_files);
  if (!reference.ok()) return reference.status();
  opened.reference = std::move(reference).value();
  const OpenOptions& open = options.open;
  Result<std::unique_ptr<TraceStore>> store = OpenWithProgress(trace, open, options.quiet);
  if (!store.ok()) return store.status();
  opened.store = std::move(store).value();
  if (Status joined = JoinCaptureFiles(*opened.store, *opened.reference, captures.value(), open);
      !joined.ok())
    return joined;
  opened.analysis = std::move(analysis).value();
  opened.analysis.path = trace;
  return opened;
}

Result<OpenedJob> MakeJob(OpenedTrace trace, const JobOptions& options) {
  OpenedJob opened;
  opened.reference = std::move(trace.reference);
  opened.store = std::move(trace.store);
  Result<CalibratedJob> made = MakeCalibratedJob(*opened.store, *opened.reference, trace.analysis,
                                                 options.calibration, options.measured_step_ms);
  if (!made.ok()) return made.status();
  if (!options.cpu_jobs) {
    if (Status status = made.value().job->RequireGpuWork(); !status.ok()) return status;
  }
  opened.job = std::move(made.value().job);
  if (made.value().slice) opened.store = std::move(made.value().slice);
  opened.calibration = std::move(made.value().calibration);
  opened.note = std::move(made.value().note);
  opened.forecasts = made.value().forecasts;
  return opened;
}

Result<OpenedJob> OpenJob(const std::string& trace, const JobOptions& options) {
  Result<OpenedTrace> read = ReadTrace(trace, options);
  if (!read.ok()) return read.status();
  return MakeJob(std::move(read).value(), options);
}

}  // namespace headroom::cli
