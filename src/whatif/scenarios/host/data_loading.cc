// data-loading: the loop never waits for its next batch, or waits as long as a simulation of
// `workers` workers predicts. The host's work inside the data loader's ranges shrinks. Launches
// stay unchanged.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "loader/loading_verdict.h"
#include "loader/machine_limits.h"
#include "store/trace_formats.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

/// Returns the share of the loop's waits that remains with `workers` workers. The error names the
/// missing data.
Result<double> WaitLeft(const TraceStore& store, std::int32_t workers) {
  const std::vector<LoaderProfile> loaders = FindLoaders(store);
  if (loaders.empty() || loaders.front().fetches.empty()) {
    return Status::NoAnswer(
        store.metadata.recorded_as() == kPerfettoFormat
            ? "the replayed steps have no data on the loader's workers; headroom data forecasts "
              "workers from the whole recording"
            : "requires data on the loader's workers: record with `headroom record`, because "
              "PyTorch's profiler does not record the workers");
  }
  const LoaderProfile& loader = loaders.front();
  const Result<LoadingModel> model = ModelLoading(loader, CpuQuotaOf(store));
  if (!model.ok()) return model.status();
  const Result<LoadingForecaster> forecaster = LoadingForecaster::Make(model.value());
  if (!forecaster.ok()) return forecaster.status();
  const Result<LoadingOption> recorded =
      TryLoading(model.value(), loader, forecaster.value(), {}, {});
  if (!recorded.ok()) return recorded.status();
  LoadingChange change;
  change.workers = workers;
  const Result<LoadingOption> changed =
      TryLoading(model.value(), loader, forecaster.value(), {}, change);
  if (!changed.ok()) return changed.status();
  const double before = recorded.value().outcome.run.wait_ns;
  return before > 0 ? changed.value().outcome.run.wait_ns / before : 1;
}

}  // namespace

Effect ApplyDataLoading(const Job& job, const Arguments& arguments, Edit& edit) {
  const auto workers = static_cast<std::int32_t>(std::min(arguments.Number("workers"), 4096.0));
  double left = 0;
  if (workers > 0) {
    const Result<double> wait = WaitLeft(job.store(), workers);
    if (!wait.ok()) return Effect::Abstain(wait.status().message());
    left = wait.value();
  }
  const std::vector<bool> waits = SelectLoaders(job);
  const UnmarkedLoading unmarked = job.FindLoading();
  if (ScaleHostWork(job, waits, left, edit) +
          ScaleHostTime(job, unmarked.thread, unmarked.time, left, edit) ==
      0) {
    return Effect::Abstain(
        "no range of a data loader was recorded in the steps (expected enumerate(DataLoader)#... "
        "of torch.utils.data)");
  }
  if (workers == 0)
    return {.why = "at most: if every batch were ready in time", .is_upper_bound = true};
  return {.why = fmt::format("simulated: with {} worker{} the loop waits {:.0f} % as long", workers,
                             workers == 1 ? "" : "s", 100 * left)};
}

}  // namespace headroom
