#include "cli/open_job.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/calibrated_job.h"
#include "cli/progress.h"
#include "cli/step_range.h"
#include "ingest/open_trace.h"
#include "report/escape.h"
#include "whatif/step_window.h"

namespace headroom::cli {
namespace {

Result<WindowJob> MakeJobOfSteps(const OpenedJob& opened, AnalysisOptions options,
                                 const StepRange& steps, const Calibration& calibration) {
  options.first_step = steps.first;
  options.last_step = steps.last;
  NameFacts names(*opened.store, *opened.knowledge);
  const Result<StepAnalysis> found = AnalyzeSteps(*opened.store, names, options);
  if (!found.ok()) return found.status();
  const Steps& chosen = found.value().steps;
  return MakeWindowJob(*opened.store, *opened.knowledge, chosen,
                       {.first = 0, .last = chosen.list.size() - 1}, calibration);
}

}  // namespace

Result<OpenedJob> OpenJob(const std::string& trace, const JobOptions& options) {
  std::optional<StepRange> steps;
  if (!options.steps.empty()) {
    const Result<StepRange> range = ParseStepRange(options.steps);
    if (!range.ok()) return range.status();
    steps = range.value();
  }
  OpenedJob opened;
  Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn();
  if (!knowledge.ok()) return knowledge.status();
  opened.knowledge = std::move(knowledge).value();
  OpenOptions open;
  open.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  Progress progress(!options.quiet, "reading " + Printable(trace, Charset::kAscii));
  open.progress = [&](std::int64_t done, std::int64_t all) { progress.Update(done, all); };
  Result<std::unique_ptr<TraceStore>> store = OpenTrace(trace, open);
  if (!store.ok()) return store.status();
  opened.store = std::move(store).value();

  AnalysisOptions analysis;
  analysis.path = trace;
  analysis.step_marker = options.step_marker;
  if (!steps) {
    Result<CalibratedJob> made = MakeCalibratedJob(*opened.store, *opened.knowledge, analysis,
                                                   options.calibration, options.measured_step_ms);
    if (!made.ok()) return made.status();
    opened.job = std::move(made.value().job);
    opened.calibration = std::move(made.value().calibration);
    return opened;
  }
  const Result<ChosenCalibration> chosen = ChooseCalibration(options.calibration, *opened.store);
  if (!chosen.ok()) return chosen.status();
  Result<WindowJob> made = MakeJobOfSteps(opened, analysis, *steps, chosen.value().calibration);
  if (!made.ok()) return made.status();
  opened.job = std::move(made.value().job);
  opened.store = std::move(made.value().slice);
  Result<std::string> calibration =
      FinishCalibration(*opened.job, chosen.value(), options.measured_step_ms);
  if (!calibration.ok()) return calibration.status();
  opened.calibration = std::move(calibration).value();
  return opened;
}

}  // namespace headroom::cli
