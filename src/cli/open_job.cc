#include "cli/open_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/progress.h"
#include "ingest/open_trace.h"
#include "report/escape.h"

namespace headroom::cli {

Result<OpenedJob> OpenJob(const std::string& trace, const JobOptions& options) {
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
  const Result<ChosenCalibration> chosen = ChooseCalibration(options.calibration, *opened.store);
  if (!chosen.ok()) return chosen.status();
  Result<std::unique_ptr<Job>> job =
      Job::Make(*opened.store, *opened.knowledge, analysis, chosen.value().calibration);
  if (!job.ok()) return job.status();
  opened.job = std::move(job).value();
  opened.calibration = fmt::format("Calibration: {}.", chosen.value().from);
  if (!options.measured_step_ms) return opened;
  const double measured = *options.measured_step_ms;
  const Result<bool> told = opened.job->CalibrateTo(measured);
  if (!told.ok()) return told.status();
  opened.calibration =
      told.value() ? fmt::format("Calibrated to the measured step of {} ms.", measured)
                   : fmt::format(
                         "The measured step of {} ms says nothing of the host, as the GPU paces "
                         "it. {}",
                         measured, opened.calibration);
  return opened;
}

}  // namespace headroom::cli
