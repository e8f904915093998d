#include "loader/loading_forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "base/units.h"
#include "loader/core_sharing.h"

namespace headroom {
namespace {

constexpr double kMsPerNs = 1e-6;
constexpr std::size_t kMin = 16;

/// Costs to pass a batch between processes, for recordings without workers. A worker collates into
/// fresh shared memory, page by page. It passes a descriptor per tensor over a socket whose two
/// sides authenticate each other. The figures are rough, so kGuessedHandover widens the interval.
constexpr double kSharedBytesPerS = 7e8;
constexpr double kPassNsPerObject = 4e5;
/// Bandwidth of a collation within the process's own memory: one copy.
constexpr double kCopyBytesPerS = 6e9;

/// Error of simulations of whole loaders, in addition to sampling noise
/// (docs/accuracy/input-pipelines.md).
constexpr double kModelError = 0.07;
constexpr double kGuessedHandover = 0.5;  ///< Relative error of the hand-over's cost.

constexpr int kReplications = 16;
constexpr int kFewReplications = 1;  ///< For forecasts without an interval.
constexpr std::uint64_t kSeed = 1;

DurationNs Scaled(DurationNs time, double factor) {
  return DurationNs(std::llround(static_cast<double>(time.ns()) * factor));
}

template <typename Rows, typename Get>
DurationNs MeanOf(const Rows& rows, Get get) {
  std::int64_t count = 0;
  DurationNs sum;
  for (const auto& row : rows) {
    if (const std::optional<DurationNs> value = get(row)) {
      sum += *value;
      ++count;
    }
  }
  return count == 0 ? DurationNs() : DurationNs(sum.ns() / count);
}

template <typename Rows>
std::span<const typename Rows::value_type> Warm(const Rows& rows) {
  // This many rows represent the distribution; each further row costs simulation time.
  constexpr std::size_t kMax = 1000;
  const auto warm = std::span(rows).subspan(WarmUpOf(rows.size()));
  return warm.first(std::min(kMax, warm.size()));
}

BatchDemand DemandOf(const LoaderBatch& batch) {
  // Reading and computing alternate within a batch. The number of turns has little effect.
  constexpr std::int64_t kMaxChunks = 8;
  const auto chunks =
      static_cast<std::int32_t>(std::clamp(batch.sample_count, std::int64_t{1}, kMaxChunks));
  // If no CPU time was recorded, the whole batch counts as CPU time.
  const DurationNs cpu =
      batch.cpu ? std::min(*batch.cpu, batch.span.length()) : batch.span.length();
  return {.cpu = cpu, .blocked = batch.Blocked().value_or(DurationNs()), .chunks = chunks};
}

/// Shares of a batch's CPU time and blocked time within a stage.
struct StageShare {
  double cpu = 0, blocked = 0;
};

Result<StageShare> ShareOf(const LoaderProfile& profile, const std::string& name) {
  const auto stage = std::ranges::find_if(
      profile.stages, [&](const LoaderStage& s) { return s.is_stage && s.name == name; });
  if (stage == profile.stages.end()) {
    std::string known;
    for (const LoaderStage& s : profile.stages) {
      if (s.is_stage) known += fmt::format("{}{}", known.empty() ? "" : ", ", s.name);
    }
    return Status::Usage(
        fmt::format("stage {} was not recorded{}", name,
                    known.empty() ? "" : fmt::format("; recorded stages: {}", known)));
  }
  DurationNs cpu, blocked, wall;
  for (const LoaderBatch& batch : profile.batches) {
    const BatchDemand demand = DemandOf(batch);
    cpu += demand.cpu;
    blocked += demand.blocked;
    wall += batch.span.length();
  }
  const auto share = [](DurationNs part, DurationNs whole) {
    if (whole.ns() <= 0) return 0.0;
    return std::clamp(static_cast<double>(part.ns()) / static_cast<double>(whole.ns()), 0.0, 1.0);
  };
  if (!stage->cpu) return StageShare{share(stage->own, wall), share(stage->own, wall)};
  // The remaining time of a stage is waiting, either for a core or blocked. Divides it in the same
  // proportion as in the batches.
  const DurationNs waits = wall - cpu;
  const double blocks = share(blocked, waits);
  const DurationNs stage_waits = std::max(stage->own - *stage->cpu, DurationNs());
  return StageShare{share(*stage->cpu, cpu), share(Scaled(stage_waits, blocks), blocked)};
}

std::optional<double> ReadNumber(std::string_view text, bool percent) {
  double scale = 1;
  if (percent && text.ends_with('%')) {
    text.remove_suffix(1);
    scale = 0.01;
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value * scale;
}

}  // namespace

std::string_view LoadingChangeKeys() {
  return "workers=N, prefetch=N, pin=0|1, batch=N, cached=SHARE, cached-files=SHARE, "
         "stage=NAME:FACTOR, "
         "cores=N, storage=N, storage-speed=FACTOR, step=FACTOR";
}

Result<LoadingChange> ParseLoadingChange(std::string_view text) {
  LoadingChange change;
  std::vector<std::string_view> said;
  const auto refuse = [&](std::string_view part, std::string_view why) {
    return Status::Usage(fmt::format("{}: {}; the keys are {}", part, why, LoadingChangeKeys()));
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) return refuse(part, "KEY=VALUE is required");
    const std::string_view key = part.substr(0, equals);
    constexpr std::array<std::string_view, 11> kKeys = {
        "pin",   "workers", "prefetch", "batch",         "cached", "cached-files",
        "stage", "cores",   "storage",  "storage-speed", "step"};
    if (std::ranges::find(kKeys, key) == kKeys.end()) return refuse(part, "unknown key");
    if (std::ranges::find(said, key) != said.end())
      return refuse(part,
                    "the key occurs twice in one change; write the other value as a second change");
    said.push_back(key);
    std::string_view value = part.substr(equals + 1);
    if (key == "stage") {
      const std::size_t colon = value.rfind(':');
      change.stage = std::string(value.substr(0, colon));
      if (colon == std::string_view::npos || change.stage.empty())
        return refuse(part, "add the speedup of the stage, as in stage=Decode:2");
      value.remove_prefix(colon + 1);
    }
    const bool is_share = key == "cached" || key == "cached-files";
    const std::optional<double> number = ReadNumber(value, is_share);
    if (!number) return refuse(part, "the value is not a number");
    const auto whole = [&](double least, double most) -> std::optional<std::int64_t> {
      if (*number != std::floor(*number) || *number < least || *number > most) return std::nullopt;
      return static_cast<std::int64_t>(*number);
    };
    constexpr double kMaxWorkers = 4096, kMaxBatch = 1e9;
    constexpr double kMinFactor = 1e-3, kMaxFactor = 1e6;
    if (key == "workers" || key == "prefetch" || key == "batch") {
      const std::optional<std::int64_t> n =
          whole(key == "workers" ? 0 : 1, key == "batch" ? kMaxBatch : kMaxWorkers);
      if (!n) {
        return refuse(part, fmt::format("the value must be a whole number from {} to {}",
                                        key == "workers" ? 0 : 1,
                                        key == "batch" ? "1,000,000,000" : "4,096"));
      }
      if (key == "workers") change.workers = static_cast<std::int32_t>(*n);
      if (key == "prefetch") change.prefetch = static_cast<std::int32_t>(*n);
      if (key == "batch") change.batch_size = *n;
    } else if (key == "pin") {
      if (*number != 0 && *number != 1) return refuse(part, "pin must be 0 or 1");
      change.pin = *number == 1;
    } else if (is_share) {
      if (*number < 0 || *number > 1) return refuse(part, "a share must be 0 to 1, or 0% to 100%");
      (key == "cached" ? change.cached : change.cached_files) = *number;
    } else if (*number < kMinFactor || *number > kMaxFactor) {
      return refuse(part, "the value must be from 0.001 to 1,000,000");
    } else if (key == "stage") {
      change.stage_factor = *number;
    } else if (key == "cores") {
      change.cores = *number;
    } else if (key == "storage-speed") {
      change.storage_speed = *number;
    } else if (key == "storage") {
      change.storage_parallelism = *number;
    } else {
      change.step_factor = *number;
    }
  }
  return change;
}

Result<LoadingModel> ModelLoading(const LoaderProfile& profile, std::optional<double> quota_cores) {
  LoadingModel model;
  Machine& machine = model.machine;
  machine.cores = static_cast<double>(profile.settings.cpus.value_or(0));
  model.machine_guessed = machine.cores <= 0;
  if (model.machine_guessed) machine.cores = static_cast<double>(profile.workers.size() + 1);
  if (quota_cores && *quota_cores > 0) machine.cores = std::min(machine.cores, *quota_cores);
  const BusyThreads busy(profile);
  const CoreSharing sharing = MeasureCoreSharing(profile, busy, machine.cores);
  machine.smt_gain = sharing.smt_gain;
  model.sharing_guessed = !sharing.measured;
  // Demands are times on an unshared core, but the measured times include the effect of other
  // threads.
  const auto speed = [&](Interval span) {
    return busy.SpeedIn(span, machine.cores, machine.smt_gain);
  };

  for (const LoaderBatch& batch : Warm(profile.batches)) {
    BatchDemand demand = DemandOf(batch);
    demand.cpu = Scaled(demand.cpu, speed(batch.span));
    model.batches.push_back(demand);
  }
  DurationNs period, wait;
  for (const LoaderFetch& fetch : Warm(profile.fetches)) {
    if (!fetch.step) continue;
    const DurationNs queued = std::min(fetch.step_queued.value_or(DurationNs()), *fetch.step);
    // The thread does not wait while it computes. CPU time includes other threads, so it can exceed
    // the step.
    const DurationNs cpu = fetch.step_cpu.value_or(*fetch.step);
    const DurationNs wall = std::max(*fetch.step - queued, std::min(cpu, *fetch.step));
    const double slowed = speed({fetch.span.start - *fetch.step, fetch.span.start});
    const DurationNs waits = std::max(wall - cpu, DurationNs());
    model.steps.push_back({.wall = waits + Scaled(wall - waits, slowed),
                           .cpu = wall.ns() > 0 ? Scaled(cpu, slowed) : DurationNs()});
    period += *fetch.step + fetch.span.length();
    wait += fetch.span.length();
  }
  if (model.batches.size() < kMin || model.steps.size() < kMin) {
    return Status::NoAnswer(
        fmt::format("{} batches and {} steps were recorded after warm-up; a forecast requires "
                    "at least {} of each; record more steps",
                    model.batches.size(), model.steps.size(), kMin));
  }
  const auto steps = static_cast<std::int64_t>(model.steps.size());
  model.period = DurationNs(period.ns() / steps);
  model.wait = DurationNs(wait.ns() / steps);
  model.batch_size = profile.settings.batch_size.value_or(0);

  LoaderSetting& setting = model.setting;
  setting.workers = static_cast<std::int32_t>(profile.settings.workers);
  constexpr std::int64_t kDefaultPrefetch = 2;
  setting.prefetch = static_cast<std::int32_t>(
      profile.settings.prefetch > 0 ? profile.settings.prefetch : kDefaultPrefetch);
  setting.pin = profile.settings.pin;
  if (setting.pin && !profile.batches.empty()) {
    setting.pin_time =
        DurationNs(profile.pinning.ns() / static_cast<std::int64_t>(profile.batches.size()));
  }
  if (setting.workers > 0) {
    setting.receive = MeanOf(Warm(profile.fetches), [](const LoaderFetch& f) { return f.cpu; });
    const DurationNs process =
        MeanOf(Warm(profile.batches), [](const LoaderBatch& b) { return b.process_cpu; });
    const DurationNs thread =
        MeanOf(Warm(profile.batches), [](const LoaderBatch& b) { return b.cpu; });
    // A worker's libraries can start threads that compute at the same time. Their CPU time is
    // excluded: packing a batch uses at most as much CPU time as wall time.
    const auto batches =
        static_cast<std::int64_t>(std::max<std::size_t>(profile.batches.size(), 1));
    model.pickling_cpu =
        std::clamp(process - thread, DurationNs(),
                   std::max(DurationNs(profile.sending.ns() / batches), DurationNs()));
  } else {
    double bytes = 0, objects = 0;
    for (const LoaderBatch& batch : profile.batches) {
      bytes += batch.bytes.value_or(0);
      objects += batch.objects.value_or(1);
    }
    const auto count = static_cast<double>(profile.batches.size());
    const double pass = kPassNsPerObject * objects / count;
    setting.receive = DurationNs(std::llround(pass));
    model.pickling_cpu =
        DurationNs(std::llround(pass + bytes / count / kSharedBytesPerS * kNsPerS));
    model.pickling_guessed = true;
  }

  DurationNs blocked, all;
  for (const BatchDemand& batch : model.batches) {
    blocked += batch.blocked;
    all += batch.blocked + batch.cpu;
  }
  constexpr double kNoticeable = 0.1;
  model.storage_guessed =
      static_cast<double>(blocked.ns()) > kNoticeable * static_cast<double>(all.ns());
  return model;
}

namespace {

void AddToSteps(LoadingModel& model, DurationNs more) {
  for (StepDemand& step : model.steps) {
    step.wall = std::max(step.wall + more, DurationNs());
    step.cpu = std::min(step.cpu, step.wall);
  }
}

/// With pinning, the pinning thread unpickles, and the loop no longer does. The effect on a
/// transfer depends on the program. Synchronous copies become about twice as fast; asynchronous
/// copies overlap with the kernels.
void ChangePinning(const LoaderProfile& profile, bool pin, LoadingModel& changed) {
  if (pin == changed.setting.pin) return;
  LoaderSetting& setting = changed.setting;
  const double bytes_a_batch =
      static_cast<double>(MeanOf(profile.batches, [](const LoaderBatch& batch) {
                            return std::optional(DurationNs(std::llround(batch.bytes.value_or(0))));
                          }).ns());
  const DurationNs copy(std::llround(bytes_a_batch / kCopyBytesPerS * kNsPerS));
  setting.pin = pin;
  if (pin) {
    setting.pin_time = setting.receive + copy;
    setting.receive = DurationNs();
    if (changed.transfer) {
      changed.step_doubt = Scaled(*changed.transfer, 0.5);
      AddToSteps(changed, Scaled(*changed.transfer, -0.5));
    }
  } else {
    // The pinning thread's recorded time excludes unpickling.
    const DurationNs objects = MeanOf(profile.batches, [](const LoaderBatch& batch) {
      return std::optional(DurationNs(std::llround(batch.objects.value_or(1) * kPassNsPerObject)));
    });
    setting.receive = setting.receive + objects;
    setting.pin_time = DurationNs();
    changed.pickling_guessed = true;
    if (changed.transfer) {
      changed.step_doubt = copy;
      AddToSteps(changed, copy);
    }
  }
}

}  // namespace

Result<LoadingModel> WithChange(const LoadingModel& model, const LoaderProfile& profile,
                                const LoadingChange& change) {
  LoadingModel changed = model;
  if (change.workers) changed.setting.workers = *change.workers;
  if (model.setting.workers > 0 && changed.setting.workers == 0) {
    // Without workers, nothing is collated into shared memory.
    const std::span<const LoaderBatch> recorded = Warm(profile.batches);
    for (std::size_t i = 0; i < changed.batches.size() && i < recorded.size(); ++i) {
      if (!recorded[i].bytes) continue;
      // For a custom collate function, only the cost of sharing is known.
      const double shared = *recorded[i].bytes * (1 / kSharedBytesPerS - 1 / kCopyBytesPerS);
      const DurationNs copy(std::llround(*recorded[i].bytes / kCopyBytesPerS * kNsPerS));
      BatchDemand& batch = changed.batches[i];
      batch.cpu -= std::clamp(
          std::min(recorded[i].collate - copy, DurationNs(std::llround(shared * kNsPerS))),
          DurationNs(), batch.cpu);
    }
  }
  if (change.prefetch) changed.setting.prefetch = *change.prefetch;
  if (change.pin) ChangePinning(profile, *change.pin, changed);
  if (change.cores) changed.machine.cores = *change.cores;
  if (change.storage_parallelism) {
    changed.machine.storage_parallelism = *change.storage_parallelism;
    changed.storage_guessed = false;
  }
  if (!change.stage.empty()) {
    const Result<StageShare> share = ShareOf(profile, change.stage);
    if (!share.ok()) return share.status();
    const double saved = 1 - 1 / change.stage_factor;
    for (BatchDemand& batch : changed.batches) {
      batch.cpu = Scaled(batch.cpu, 1 - share.value().cpu * saved);
      batch.blocked = Scaled(batch.blocked, 1 - share.value().blocked * saved);
    }
  }
  if (change.storage_speed) {
    for (BatchDemand& batch : changed.batches)
      batch.blocked = Scaled(batch.blocked, 1 / *change.storage_speed);
  }
  if (change.cached_files) {
    for (BatchDemand& batch : changed.batches)
      batch.blocked = Scaled(batch.blocked, 1 - *change.cached_files);
  }
  if (change.cached) {
    // A cached sample still takes its part of the collation time.
    const std::span<const LoaderBatch> recorded = Warm(profile.batches);
    for (std::size_t i = 0; i < changed.batches.size() && i < recorded.size(); ++i) {
      const double length =
          static_cast<double>(std::max(recorded[i].span.length().ns(), std::int64_t{1}));
      const double rest =
          std::clamp(static_cast<double>(recorded[i].collate.ns()) / length, 0.0, 1.0);
      BatchDemand& batch = changed.batches[i];
      batch.cpu = Scaled(batch.cpu, rest + (1 - rest) * (1 - *change.cached));
      batch.blocked = Scaled(batch.blocked, 1 - *change.cached);
    }
  }
  if (change.step_factor != 1) {
    for (StepDemand& step : changed.steps)
      step = {Scaled(step.wall, change.step_factor), Scaled(step.cpu, change.step_factor)};
    changed.step_doubt = Scaled(changed.step_doubt, change.step_factor);
  }
  if (change.batch_size) {
    if (model.batch_size <= 0) {
      return Status::Usage(
          "batch: the recorded batch size is unknown, because the program's sampler makes the "
          "batches; remove batch");
    }
    const double factor =
        static_cast<double>(*change.batch_size) / static_cast<double>(model.batch_size);
    for (BatchDemand& batch : changed.batches) {
      batch.cpu = Scaled(batch.cpu, factor);
      batch.blocked = Scaled(batch.blocked, factor);
    }
    // Assumes that steps grow in proportion to the batch, which is an upper bound. `whatif` has a
    // better model.
    for (StepDemand& step : changed.steps)
      step = {Scaled(step.wall, factor), Scaled(step.cpu, factor)};
    changed.pickling_cpu = Scaled(changed.pickling_cpu, factor);
    changed.step_doubt = Scaled(changed.step_doubt, factor);
    changed.batch_size = *change.batch_size;
  }
  return changed;
}

namespace {

/// Returns the batches, each with a worker's additional work to hand it over.
std::vector<BatchDemand> WithHandover(const LoadingModel& model, double factor) {
  std::vector<BatchDemand> batches = model.batches;
  if (model.setting.workers > 0) {
    for (BatchDemand& batch : batches) batch.cpu += Scaled(model.pickling_cpu, factor);
  }
  return batches;
}

Result<LoadingForecast> Simulate(const LoadingModel& model, double handover, int replications) {
  LoaderSetting setting = model.setting;
  setting.receive = Scaled(setting.receive, handover);
  const std::vector<BatchDemand> batches = WithHandover(model, handover);
  return PredictLoading(batches, model.steps, setting, model.machine, kSeed, replications);
}

}  // namespace

Result<LoadingForecaster> LoadingForecaster::Make(const LoadingModel& recorded) {
  LoadingForecaster forecaster(recorded);
  const Result<LoadingForecast> same = Simulate(recorded, 1, kFewReplications);
  if (!same.ok()) return same.status();
  if (recorded.period.ns() > 0 && same.value().run.period_ns > 0)
    forecaster.correction_ = static_cast<double>(recorded.period.ns()) / same.value().run.period_ns;
  return forecaster;
}

Result<double> LoadingForecaster::MidMs(const LoadingModel& changed) const {
  const Result<LoadingForecast> forecast = Simulate(changed, 1, kFewReplications);
  if (!forecast.ok()) return forecast.status();
  return forecast.value().run.period_ns * correction_ * kMsPerNs;
}

Result<LoadingOutcome> LoadingForecaster::Run(const LoadingModel& changed) const {
  const Result<LoadingForecast> forecast = Simulate(changed, 1, kReplications);
  if (!forecast.ok()) return forecast.status();
  LoadingOutcome outcome{.run = forecast.value().run};
  double low = forecast.value().low_ns, high = forecast.value().high_ns;
  const auto hold = [&](double period) {
    low = std::min(low, period);
    high = std::max(high, period);
  };
  if (changed.pickling_guessed && changed.setting.workers > 0) {
    for (const double factor : {1 - kGuessedHandover, 1 + kGuessedHandover}) {
      const Result<LoadingForecast> other = Simulate(changed, factor, kFewReplications);
      if (!other.ok()) return other.status();
      hold(other.value().run.period_ns);
    }
  }
  if (changed.step_doubt.ns() > 0) {
    for (const double sign : {-1.0, 1.0}) {
      LoadingModel other = changed;
      AddToSteps(other, Scaled(changed.step_doubt, sign));
      const Result<LoadingForecast> forecast_of_other = Simulate(other, 1, kFewReplications);
      if (!forecast_of_other.ok()) return forecast_of_other.status();
      hold(forecast_of_other.value().run.period_ns);
    }
  }
  if (changed.storage_guessed && changed.setting.workers > recorded_.setting.workers) {
    // The blocked time can be that of a disk or server at its bandwidth limit.
    LoadingModel narrow = changed;
    narrow.machine.storage_parallelism = std::max(1, recorded_.setting.workers);
    const Result<LoadingForecast> other = Simulate(narrow, 1, kFewReplications);
    if (!other.ok()) return other.status();
    hold(other.value().run.period_ns);
  }
  if (changed.sharing_guessed) {
    constexpr double kMinGain = 1.2, kMaxGain = 2;
    for (const double gain : {kMinGain, kMaxGain}) {
      LoadingModel other = changed;
      other.machine.smt_gain = gain;
      const Result<LoadingForecast> forecast_of_other = Simulate(other, 1, kFewReplications);
      if (!forecast_of_other.ok()) return forecast_of_other.status();
      hold(forecast_of_other.value().run.period_ns);
    }
  }
  // The error of the recorded setting's simulation also affects other settings if the same resource
  // limits them. It therefore widens the interval.
  const double doubt = std::exp(kModelError + std::abs(std::log(correction_)) / 2);
  const double ms = correction_ * kMsPerNs;
  outcome.wait_ms = outcome.run.wait_ns * ms;
  outcome.mid_ms = outcome.run.period_ns * ms;
  outcome.low_ms = std::min(low, outcome.run.period_ns) * ms / doubt;
  outcome.high_ms = std::max(high, outcome.run.period_ns) * ms * doubt;
  if (changed.batch_size > 0)
    outcome.samples_per_s = static_cast<double>(changed.batch_size) / outcome.mid_ms * 1e3;
  return outcome;
}

}  // namespace headroom
