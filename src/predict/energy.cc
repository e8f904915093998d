#include "predict/energy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace headroom {
namespace {

constexpr double kMsPerS = 1e3;

/// Samples of one GPU: time in ns and value, in order of time.
using Samples = std::vector<std::pair<std::int64_t, double>>;

/// Returns a counter's samples by GPU, in order of time.
std::map<std::string_view, Samples> SamplesOf(const TraceStore& store, std::string_view name) {
  std::map<std::string_view, Samples> samples;
  const auto& counters = store.counters;
  for (std::size_t row = 0; row < counters.rows(); ++row) {
    if (store.Text(counters.name[row]) == name)
      samples[store.Text(counters.series[row])].emplace_back(counters.time[row].ns(),
                                                             counters.value[row]);
  }
  for (auto& [gpu, list] : samples) std::sort(list.begin(), list.end());
  return samples;
}

struct Moments {
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
};

/// Returns the time from the earliest start of a step to the latest end.
Moments SpanOf(std::span<const Interval> steps) {
  Moments span;
  for (const Interval& step : steps) {
    span.begin = std::min(span.begin, step.start.ns());
    span.end = std::max(span.end, step.end.ns());
  }
  return span;
}

/// Returns the names, as in counters, of the GPUs that run kernels within a span. The recorder
/// samples all visible GPUs, including those that the job does not use.
std::set<std::string, std::less<>> NamesOfWorkingGpus(const TraceStore& store,
                                                      const Moments& span) {
  std::set<std::string, std::less<>> working;
  const auto& tasks = store.gpu_tasks;
  for (std::uint32_t row = 0; row < tasks.rows(); ++row) {
    if (tasks.kind[row] != GpuTaskKind::kKernel) continue;
    const GpuTaskId task(row);
    if (tasks.start[row].ns() > span.end || store.TaskEnd(task).ns() < span.begin) continue;
    const std::int64_t ordinal = store.devices.ordinal[store.DeviceOf(task).index()];
    if (ordinal >= 0) working.insert(fmt::format("GPU {}", ordinal));
  }
  return working;
}

/// Returns the samples within a span.
Samples Within(const Samples& samples, const Moments& span) {
  Samples within;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(within), [&](const auto& sample) {
    return sample.first >= span.begin && sample.first <= span.end;
  });
  return within;
}

/// Returns the mean power in watts from an energy counter in joules; nullopt if the counter was
/// reset.
std::optional<double> PowerOfCounter(const Samples& samples) {
  const auto falls = [](const auto& a, const auto& b) { return b.second < a.second; };
  if (std::adjacent_find(samples.begin(), samples.end(), falls) != samples.end())
    return std::nullopt;
  return (samples.back().second - samples.front().second) /
         (static_cast<double>(samples.back().first - samples.front().first) / kNsPerS);
}

/// Returns the time-weighted mean of power samples, by the trapezoidal rule.
std::optional<double> MeanPower(const Samples& samples) {
  double area = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    area += (samples[i].second + samples[i - 1].second) / 2 *
            static_cast<double>(samples[i].first - samples[i - 1].first);
  }
  return area / static_cast<double>(samples.back().first - samples.front().first);
}

bool Spans(const Samples& samples) {
  return samples.size() >= 2 && samples.back().first > samples.front().first;
}

/// Returns true if a counter cannot be right for a GPU that runs kernels: its mean power is 0, or
/// below half of the lowest power sample. Drivers without an energy counter report a constant.
///
/// @param watts          mean power according to the counter
/// @param power_samples  samples of the same GPU over the same time; may be empty
bool StoodStill(double watts, const Samples& power_samples) {
  constexpr double kMinOfLowestSample = 0.5;
  if (watts <= 0) return true;
  if (!Spans(power_samples)) return false;
  const auto lowest =
      std::min_element(power_samples.begin(), power_samples.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return watts < kMinOfLowestSample * lowest->second;
}

}  // namespace

std::string_view Name(EnergySource source) {
  switch (source) {
    case EnergySource::kCounter:
      return "counter";
    case EnergySource::kPower:
      return "power";
    case EnergySource::kModel:
      return "model";
  }
  assert(false && "every source has a name");
  return "";
}

std::optional<StepEnergy> ModelledEnergy(const StepActivity& activity, const DeviceRates& rates,
                                         const KernelConstants& constants) {
  if (!rates.device->tdp_w) return std::nullopt;
  const double busy = std::min(activity.busy_ms, activity.step_ms);
  const double active = std::min(activity.active_ms, busy);
  const double full = constants.energy_idle * activity.step_ms + constants.energy_busy * busy +
                      (1 - constants.energy_idle - constants.energy_busy) * active;
  StepEnergy energy{.joules = *rates.device->tdp_w * std::min(full, activity.step_ms) / kMsPerS,
                    .error = rates.device->name == constants.energy_gpu
                                 ? constants.energy_error
                                 : constants.energy_error_elsewhere};
  if (full <= 0) return energy;
  const double joules_a_ms = energy.joules / full;
  energy.idle_joules = joules_a_ms * constants.energy_idle * activity.step_ms;
  for (std::size_t i = 0; i < kGpuPhases; ++i) {
    const StepActivity::Part& part = activity.phases[i];
    energy.phase_joules[i] =
        joules_a_ms * (constants.energy_busy * part.busy_ms +
                       (1 - constants.energy_idle - constants.energy_busy) * part.active_ms);
  }
  return energy;
}

void StepEnergy::Times(double gpus) {
  const StepEnergy of_one = *this;
  joules *= gpus;
  PartsLike(of_one);
}

void StepEnergy::PartsLike(const StepEnergy& other) {
  const double ratio = other.joules > 0 ? joules / other.joules : 0;
  idle_joules = ratio * other.idle_joules;
  std::transform(other.phase_joules.begin(), other.phase_joules.end(), phase_joules.begin(),
                 [&](double part) { return ratio * part; });
}

std::int64_t WorkingGpus(const TraceStore& store, std::span<const Interval> steps) {
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(NamesOfWorkingGpus(store, SpanOf(steps)).size()));
}

double MeasuredOverModel(const StepEnergy& measured, const StepEnergy& modelled) {
  constexpr double kMax = 2;
  if (modelled.joules <= 0) return 1;
  return std::clamp(measured.joules / modelled.joules, 1 / kMax, kMax);
}

StepEnergy Carried(const StepEnergy& modelled, double measured_over_model, double step_ms,
                   const DeviceSpec& device) {
  StepEnergy carried = modelled;
  carried.joules *= measured_over_model;
  if (device.tdp_w) carried.joules = std::min(carried.joules, *device.tdp_w * step_ms / kMsPerS);
  carried.PartsLike(modelled);
  carried.carried = measured_over_model;
  return carried;
}

std::optional<StepEnergy> MeasuredEnergy(const TraceStore& store, std::span<const Interval> steps) {
  if (steps.empty()) return std::nullopt;
  const Moments span = SpanOf(steps);
  const double step_s =
      static_cast<double>(span.end - span.begin) / kNsPerS / static_cast<double>(steps.size());
  constexpr double kCounterError = 0.03, kPowerError = 0.1;
  using PowerOf = std::optional<double> (*)(const Samples&);
  struct Way {
    std::string_view counter;
    EnergySource source;
    PowerOf power;
    double error;
  };
  const std::set<std::string, std::less<>> working = NamesOfWorkingGpus(store, span);
  const std::map<std::string_view, Samples> power_samples = SamplesOf(store, "gpu_power_w");
  const auto power_of = [&](std::string_view gpu) {
    const auto found = power_samples.find(gpu);
    return found == power_samples.end() ? Samples() : Within(found->second, span);
  };
  for (const Way& way : {Way{"gpu_energy_j", EnergySource::kCounter, PowerOfCounter, kCounterError},
                         Way{"gpu_power_w", EnergySource::kPower, MeanPower, kPowerError}}) {
    std::map<std::string_view, Samples> samples = SamplesOf(store, way.counter);
    // If a trace samples several GPUs but does not number them, it is unknown which of them the job
    // used.
    if (!working.empty()) {
      std::erase_if(samples, [&](const auto& gpu) { return !working.contains(gpu.first); });
    }
    if (samples.size() != std::max<std::size_t>(1, working.size())) continue;
    std::optional<double> power = 0;
    for (const auto& [gpu, all] : samples) {
      const Samples within = Within(all, span);
      std::optional<double> of_gpu = Spans(within) ? way.power(within) : std::nullopt;
      if (of_gpu && StoodStill(*of_gpu, power_of(gpu))) of_gpu.reset();
      power = power && of_gpu ? std::optional(*power + *of_gpu) : std::nullopt;
    }
    if (power) {
      return StepEnergy{.joules = *power / static_cast<double>(samples.size()) * step_s,
                        .error = way.error,
                        .source = way.source};
    }
  }
  return std::nullopt;
}

}  // namespace headroom
