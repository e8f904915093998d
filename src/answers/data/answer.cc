#include "answers/data/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "loader/input_probe.h"
#include "loader/loader_profile.h"
#include "loader/machine_limits.h"
#include "render/number_format.h"

namespace headroom {
namespace {

double Share(DurationNs part, DurationNs whole) {
  return static_cast<double>(part.ns()) / static_cast<double>(whole.ns());
}

Status NoBatch(const LoaderProfile& loader) {
  if (loader.probed) {
    return Status::NoAnswer(
        "the run ended during its probe (--probe-input): record a longer run; 300 steps are "
        "enough");
  }
  std::string why = "the loader gave the loop no batch";
  if (loader.settings.dataset_size == 0) why += ": its dataset is empty";
  for (const std::string& failure : loader.failures) why += fmt::format("; {}", failure);
  return Status::NoAnswer(why);
}

}  // namespace

Result<std::vector<NamedLoadingChange>> ParseLoadingChanges(const std::vector<std::string>& texts) {
  std::vector<NamedLoadingChange> changes;
  for (const std::string& text : texts) {
    if (text.empty())
      return Status::Usage("empty change: give a key and a value, such as workers=4");
    Result<LoadingChange> change = ParseLoadingChange(text);
    if (!change.ok()) return change.status();
    changes.push_back({.name = text, .change = std::move(change).value()});
  }
  return changes;
}

LoopView LoopViewOf(const TraceReport& report, const TraceStore& store) {
  LoopView view;
  view.throttled_cores = ThrottledCoresOf(store);
  if (!report.breakdown) return view;
  view.step = report.breakdown->wall;
  if (report.loop) view.wait = report.loop->data_wait;
  if (!report.gpu_time.empty()) {
    view.transfer = report.breakdown->step.host_to_device;
    if (view.wait && view.wait->ns() > 0)
      view.exposed_share = Share(report.breakdown->step.data_wait, *view.wait);
  }
  if (report.input_wait && report.input_wait->host.ns() > 0)
    view.exposed_share = Share(report.input_wait->exposed, report.input_wait->host);
  return view;
}

struct DataAnswer::Kept {
  std::int64_t loader = 1;
  /// Report without requested changes. The requested loader is `loaders.front()`.
  DataReport report;
  /// nullopt if no simulation is possible; `report.no_forecast` gives the reason.
  std::optional<LoadingModel> model = {};
  std::optional<LoadingForecaster> forecaster = {};

  void Forecast(const TraceStore& store);
};

DataAnswer::DataAnswer(const TraceStore& store, std::string path, const LoopView& view)
    : store_(&store), path_(std::move(path)), view_(view) {}
DataAnswer::~DataAnswer() = default;
DataAnswer::DataAnswer(DataAnswer&&) noexcept = default;

/// Fills in the figures that need a simulation.
void DataAnswer::Kept::Forecast(const TraceStore& store) {
  const LoaderProfile& profile = report.loaders.front();
  Result<LoadingModel> modelled = ModelLoading(profile, CpuQuotaOf(store));
  if (!modelled.ok()) {
    report.no_forecast = modelled.status().message();
    return;
  }
  modelled.value().transfer = report.split.transfer;
  LimitMemory(profile, FreeMemoryOf(store), modelled.value());
  Result<LoadingForecaster> made = LoadingForecaster::Make(modelled.value());
  if (!made.ok()) {
    report.no_forecast = made.status().message();
    return;
  }
  model = std::move(modelled).value();
  forecaster.emplace(std::move(made).value());
  Result<LoadingSearch> search = SearchLoading(*model, profile, *forecaster);
  if (!search.ok()) {
    report.no_forecast = search.status().message();
    return;
  }
  report.search = std::move(search).value();
  report.correction = forecaster->correction();
  report.model = *model;
}

Result<DataReport> DataAnswer::OfLoop(bool wants_forecast) const {
  DataReport report{.path = path_, .loaders = {}, .split = SplitLoop(view_)};
  const bool tells = report.split.wait.ns() > 0 || report.split.bound == LoadingBound::kTransfer;
  if (wants_forecast || !tells) {
    return Status::NoAnswer(
        fmt::format("{}: no data loader was recorded{}: `headroom record -- python train.py` times "
                    "PyTorch's DataLoader and its workers",
                    path_, wants_forecast ? ", which a forecast requires" : ""));
  }
  report.no_forecast = "the loader itself was not recorded";
  return report;
}

Result<std::unique_ptr<DataAnswer::Kept>> DataAnswer::Prepare(std::int64_t loader) const {
  auto kept = std::make_unique<Kept>(
      Kept{.loader = loader, .report = {.path = path_, .loaders = FindLoaders(*store_)}});
  std::vector<LoaderProfile>& loaders = kept->report.loaders;
  if (loaders.empty()) return kept;
  const auto found = static_cast<std::int64_t>(loaders.size());
  if (loader > found) {
    return Status::Usage(
        fmt::format("--loader {}: the recording has {}", loader, Plural(found, "loader")));
  }
  std::rotate(loaders.begin(), loaders.begin() + (loader - 1), loaders.begin() + loader);
  if (loaders.front().fetches.empty()) return NoBatch(loaders.front());
  kept->report.split = SplitLoading(loaders.front(), view_);
  // A probe that measured no loader is reported for every loader.
  if (loaders.front().probed || ProbeSpans(*store_).empty())
    kept->report.probe = FindInputProbe(*store_);
  kept->Forecast(*store_);
  return kept;
}

Result<DataReport> DataAnswer::Ask(std::int64_t loader,
                                   const std::vector<NamedLoadingChange>& changes) {
  if (!kept_ || kept_->loader != loader) {
    Result<std::unique_ptr<Kept>> kept = Prepare(loader);
    if (!kept.ok()) return kept.status();
    kept_ = std::move(kept).value();
  }
  if (kept_->report.loaders.empty()) return OfLoop(!changes.empty());
  DataReport report = kept_->report;
  if (!kept_->forecaster) return report;
  for (const auto& [name, change] : changes) {
    Result<LoadingOption> option =
        TryLoading(*kept_->model, report.loaders.front(), *kept_->forecaster, name, change);
    if (!option.ok()) return option.status();
    report.asked.push_back(std::move(option).value());
  }
  return report;
}

}  // namespace headroom
