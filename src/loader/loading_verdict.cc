#include "loader/loading_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

namespace headroom {
namespace {

/// XProf's threshold between "not input bound" and "moderately".
constexpr double kNoticeable = 0.05;

DurationNs Mean(DurationNs sum, std::size_t count) {
  return count == 0 ? DurationNs() : DurationNs(sum.ns() / static_cast<std::int64_t>(count));
}

double Ratio(DurationNs part, DurationNs whole) {
  return whole.ns() <= 0 ? 0 : static_cast<double>(part.ns()) / static_cast<double>(whole.ns());
}

/// Returns true if the quota can explain the time that all workers spend without a core.
bool IsThrottled(const LoadingSplit& split, std::size_t workers) {
  if (!split.throttled_cores || !split.queued || split.batch.ns() <= 0) return false;
  const double queued = Ratio(*split.queued, split.batch) * static_cast<double>(workers);
  return *split.throttled_cores > queued / 2;
}

LoadingBound BoundOf(const LoadingSplit& split, std::size_t workers) {
  if (split.period.ns() <= 0) return LoadingBound::kUnknown;  // No complete step was recorded.
  // A wait has no cost unless the GPU idles.
  const DurationNs felt = split.exposed_wait.value_or(split.wait);
  const DurationNs transfer = split.transfer.value_or(DurationNs());
  const bool waits = Ratio(felt, split.period) >= kNoticeable;
  if (Ratio(transfer, split.period) >= kNoticeable && transfer > felt)
    return LoadingBound::kTransfer;
  if (!waits) return LoadingBound::kNone;
  if (split.handover + split.handover > split.wait) return LoadingBound::kHandover;
  if (!split.cpu || !split.blocked || !split.queued) return LoadingBound::kUnknown;
  const DurationNs most = std::max({*split.cpu, *split.blocked, *split.queued});
  if (most == *split.cpu) return LoadingBound::kPreparation;
  if (most == *split.blocked) return LoadingBound::kFetch;
  return IsThrottled(split, workers) ? LoadingBound::kThrottled : LoadingBound::kCores;
}

void AddView(const LoopView& view, LoadingSplit& split) {
  split.throttled_cores = view.throttled_cores;
  split.transfer = view.transfer;
  if (!view.exposed_share) return;
  const double share = std::clamp(*view.exposed_share, 0.0, 1.0);
  split.exposed_wait = DurationNs(std::llround(share * static_cast<double>(split.wait.ns())));
}

/// Returns the share of a batch's preparation in which its worker wants a core.
double ComputingShare(const LoadingModel& model) {
  DurationNs cpu, all;
  for (const BatchDemand& batch : model.batches) {
    cpu += batch.cpu;
    all += batch.cpu + batch.blocked;
  }
  return all.ns() > 0 ? Ratio(cpu, all) : 1;
}

/// Returns the number of cores that a step of the loop keeps busy.
double LoopThreads(const LoadingModel& model) {
  double threads = 0;
  for (const StepDemand& step : model.steps) threads += Ratio(step.cpu, step.wall);
  return threads / static_cast<double>(std::max<std::size_t>(model.steps.size(), 1));
}

/// Returns the maximum bytes of the batches under way; 0 if unknown.
double BytesUnderWay(const LoadingModel& recorded, const LoadingModel& changed,
                     const LoaderProfile& profile) {
  if (profile.batches.empty()) return 0;
  double bytes = 0;
  for (const LoaderBatch& batch : profile.batches) bytes += batch.bytes.value_or(0);
  const double growth = recorded.batch_size > 0 ? static_cast<double>(changed.batch_size) /
                                                      static_cast<double>(recorded.batch_size)
                                                : 1;
  return bytes / static_cast<double>(profile.batches.size()) * growth *
         std::max(1, changed.setting.workers * changed.setting.prefetch);
}

/// Returns false without workers: only one batch then exists, and the program holds it in any case.
bool ExceedsMemory(const LoadingModel& model, double bytes) {
  return model.setting.workers > 0 && model.memory_bytes && bytes > *model.memory_bytes;
}

}  // namespace

std::string_view NameOf(LoadingBound bound) {
  constexpr std::array<std::string_view, 8> kNames = {
      "none", "fetch", "preparation", "cores", "throttled", "transfer", "handover", "unknown"};
  return kNames[static_cast<std::size_t>(bound)];
}

LoadingSplit SplitLoop(const LoopView& view) {
  LoadingSplit split;
  split.period = view.step;
  split.wait = view.wait.value_or(DurationNs());
  split.wait_share = Ratio(split.wait, split.period);
  AddView(view, split);
  split.bound = BoundOf(split, 0);
  return split;
}

LoadingSplit SplitLoading(const LoaderProfile& profile, const LoopView& view) {
  LoadingSplit split;
  DurationNs period, wait, handover, first;
  double ready = 0;
  std::size_t steps = 0, asked = 0, firsts = 0;
  const bool workers = profile.settings.workers > 0;
  const std::size_t fetches_left_out = WarmUpOf(profile.fetches.size());
  for (std::size_t i = 0; i < profile.fetches.size(); ++i) {
    const LoaderFetch& fetch = profile.fetches[i];
    if (fetch.first) {
      first += fetch.span.length();
      ++firsts;
      continue;
    }
    if (i < fetches_left_out || !fetch.step) continue;
    period += *fetch.step + fetch.span.length();
    wait += fetch.span.length();
    ++steps;
    if (workers && fetch.cpu) {
      handover += std::min(*fetch.cpu + fetch.queued.value_or(DurationNs()), fetch.span.length());
    }
    if (!fetch.ready) continue;
    ready += static_cast<double>(*fetch.ready);
    ++asked;
  }
  split.period = Mean(period, steps);
  split.wait = Mean(wait, steps);
  split.wait_share = Ratio(split.wait, split.period);
  split.handover = Mean(handover, steps);
  if (asked > 0) split.ready = ready / static_cast<double>(asked);
  split.epoch_start =
      std::max(Mean(first, firsts) + Mean(profile.starting, firsts) - split.wait, DurationNs());

  DurationNs batch, cpu, blocked, queued;
  double read = 0, called = 0;
  std::size_t batches = 0, known = 0, with_io = 0;
  for (std::size_t i = WarmUpOf(profile.batches.size()); i < profile.batches.size(); ++i) {
    const LoaderBatch& row = profile.batches[i];
    batch += row.span.length();
    ++batches;
    if (row.read_bytes && row.called_bytes) {
      read += *row.read_bytes;
      called += *row.called_bytes;
      ++with_io;
    }
    if (!row.cpu || !row.queued) continue;
    ++known;
    cpu += std::min(*row.cpu, row.span.length());
    blocked += *row.Blocked();
    queued += std::min(*row.queued, row.span.length());
  }
  split.batch = Mean(batch, batches);
  if (known > 0) {
    split.cpu = Mean(cpu, known);
    split.blocked = Mean(blocked, known);
    split.queued = Mean(queued, known);
  }
  if (with_io > 0) {
    split.read_bytes = read / static_cast<double>(with_io);
    split.called_bytes = called / static_cast<double>(with_io);
  }
  DurationNs busy, recorded;
  for (const LoaderWorker& worker : profile.workers) {
    busy += worker.busy;
    recorded += worker.recorded;
  }
  split.workers_busy = std::min(1.0, Ratio(busy, recorded));
  AddView(view, split);
  split.bound = BoundOf(split, profile.workers.size());
  return split;
}

void LimitMemory(const LoaderProfile& profile, std::optional<double> free_bytes,
                 LoadingModel& recorded) {
  // Free memory was measured while the recorded batches were under way.
  std::optional<double> limit = free_bytes;
  if (limit) *limit += BytesUnderWay(recorded, recorded, profile);
  // The free shared memory was measured before any batch.
  if (const std::optional<double> shared = profile.settings.shared_memory)
    limit = std::min(limit.value_or(*shared), *shared);
  recorded.memory_bytes = limit;
}

Result<LoadingOption> TryLoading(const LoadingModel& model, const LoaderProfile& profile,
                                 const LoadingForecaster& forecaster, std::string name,
                                 const LoadingChange& change) {
  const Result<LoadingModel> changed = WithChange(model, profile, change);
  if (!changed.ok()) return changed.status();
  const Result<LoadingOutcome> outcome = forecaster.Run(changed.value());
  if (!outcome.ok()) return outcome.status();
  LoadingOption option{.name = std::move(name), .change = change, .outcome = outcome.value()};
  const LoaderSetting& setting = changed.value().setting;
  option.memory_bytes = BytesUnderWay(model, changed.value(), profile);
  option.exceeds_memory =
      setting.workers > 0 && model.memory_bytes && option.memory_bytes > *model.memory_bytes;
  option.oversubscribed =
      setting.workers * ComputingShare(changed.value()) + LoopThreads(changed.value()) >
      changed.value().machine.cores + 0.5;
  return option;
}

Result<LoadingSearch> SearchLoading(const LoadingModel& model, const LoaderProfile& profile,
                                    const LoadingForecaster& forecaster) {
  LoadingSearch search;
  LoadingModel ideal = model;
  for (BatchDemand& batch : ideal.batches) batch.cpu = batch.blocked = DurationNs();
  ideal.setting = {.workers = 1, .prefetch = 2};
  ideal.pickling_cpu = DurationNs();
  ideal.pickling_guessed = ideal.storage_guessed = false;
  const Result<LoadingOutcome> outcome = forecaster.Run(ideal);
  if (!outcome.ok()) return outcome.status();
  search.ideal = outcome.value();

  // Waiting workers leave their cores to others, so the search tries proportionally more workers.
  constexpr double kMinShare = 1e-3, kMax = 64;
  const double wanted = 2 * model.machine.cores / std::max(ComputingShare(model), kMinShare);
  const int most =
      std::clamp(static_cast<int>(std::lround(std::min(wanted, kMax))),
                 std::max(4, model.setting.workers), std::max(64, model.setting.workers));
  std::set<int> workers = {0, model.setting.workers};
  for (int k = 1; k <= most; k += k < 8 ? 1 : k < 16 ? 2 : 8) workers.insert(k);
  std::set<int> depths = {2, 4, 8};
  if (model.setting.workers > 0) depths.insert(model.setting.prefetch);
  struct Tried {
    LoadingChange change;
    double mid_ms;
  };
  std::vector<Tried> tried;  // Sorted by workers, then by batches under way.
  for (const int k : workers) {
    for (const int prefetch : depths) {
      LoadingChange change;
      change.workers = k;
      if (k > 0) change.prefetch = prefetch;
      const Result<LoadingModel> changed = WithChange(model, profile, change);
      if (!changed.ok()) return changed.status();
      const bool recorded =
          k == model.setting.workers && (k == 0 || prefetch == model.setting.prefetch);
      const double bytes = BytesUnderWay(model, changed.value(), profile);
      if (!recorded && ExceedsMemory(changed.value(), bytes)) continue;
      const Result<double> mid = forecaster.MidMs(changed.value());
      if (!mid.ok()) return mid.status();
      tried.push_back({change, mid.value()});
      if (k == 0) break;
    }
  }
  const auto best = std::ranges::min_element(tried, {}, &Tried::mid_ms);
  constexpr double kNear = 1.02;
  const auto cheapest =
      std::ranges::find_if(tried, [&](const Tried& t) { return t.mid_ms <= kNear * best->mid_ms; });
  // Intervals are slow to compute, so only notable settings get one.
  for (auto at = tried.begin(); at != tried.end(); ++at) {
    const LoadingChange& change = at->change;
    const bool recorded = change.workers == model.setting.workers &&
                          (change.workers == 0 || change.prefetch == model.setting.prefetch);
    constexpr int kDefaultPrefetch = 2, kFewWorkers = 4;
    const bool plain =
        !change.prefetch || (change.prefetch == kDefaultPrefetch && *change.workers <= kFewWorkers);
    if (at != best && at != cheapest && !recorded && !plain) continue;
    Result<LoadingOption> option = TryLoading(
        model, profile, forecaster,
        change.prefetch ? fmt::format("workers={},prefetch={}", *change.workers, *change.prefetch)
                        : std::string("workers=0"),
        change);
    if (!option.ok()) return option.status();
    if (at == best) search.best = search.options.size();
    if (at == cheapest) search.cheapest = search.options.size();
    search.options.push_back(std::move(option).value());
  }
  return search;
}

}  // namespace headroom
