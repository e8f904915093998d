#include "cli/open_job.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "cli/calibrated_job.h"
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
  Result<CalibratedJob> made = MakeCalibratedJob(*opened.store, *opened.knowledge, analysis,
                                                 options.calibration, options.measured_step_ms);
  if (!made.ok()) return made.status();
  opened.job = std::move(made.value().job);
  opened.calibration = std::move(made.value().calibration);
  return opened;
}

}  // namespace headroom::cli
