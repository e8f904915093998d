#include "predict/energy.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>
#include <vector>

#include "base/units.h"

namespace headroom {
namespace {

constexpr double kMsPerS = 1e3;

/// Samples of one GPU, by time.
using Samples = std::vector<std::pair<std::int64_t, double>>;

/// A counter's samples by GPU; those of one GPU are in the order of the recording.
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

/// Those from one moment to another.
Samples Within(const Samples& samples, std::int64_t begin, std::int64_t end) {
  Samples within;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(within),
               [&](const auto& sample) { return sample.first >= begin && sample.first <= end; });
  return within;
}

/// Mean power of a counter of joules.
double PowerOfCounter(const Samples& samples) {
  return (samples.back().second - samples.front().second) /
         (static_cast<double>(samples.back().first - samples.front().first) / kNsPerS);
}

/// Mean of samples of power, each stretch with the mean of its ends.
double MeanPower(const Samples& samples) {
  double area = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    area += (samples[i].second + samples[i - 1].second) / 2 *
            static_cast<double>(samples[i].first - samples[i - 1].first);
  }
  return area / static_cast<double>(samples.back().first - samples.front().first);
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

void StepEnergy::PartsLike(const StepEnergy& other) {
  const double ratio = other.joules > 0 ? joules / other.joules : 0;
  idle_joules = ratio * other.idle_joules;
  std::transform(other.phase_joules.begin(), other.phase_joules.end(), phase_joules.begin(),
                 [&](double part) { return ratio * part; });
}

std::optional<StepEnergy> MeasuredEnergy(const TraceStore& store, std::span<const Interval> steps) {
  if (steps.empty()) return std::nullopt;
  std::int64_t begin = INT64_MAX, end = INT64_MIN;
  for (const Interval& step : steps) {
    begin = std::min(begin, step.start.ns());
    end = std::max(end, step.end.ns());
  }
  const double step_s =
      static_cast<double>(end - begin) / kNsPerS / static_cast<double>(steps.size());
  constexpr double kCounterError = 0.03, kPowerError = 0.1;
  struct Way {
    std::string_view counter;
    EnergySource source;
    double (*power)(const Samples&);
    double error;
  };
  for (const Way& way : {Way{"gpu_energy_j", EnergySource::kCounter, PowerOfCounter, kCounterError},
                         Way{"gpu_power_w", EnergySource::kPower, MeanPower, kPowerError}}) {
    double power = 0;
    bool found = false;
    for (const auto& [gpu, samples] : SamplesOf(store, way.counter)) {
      const Samples within = Within(samples, begin, end);
      if (within.size() < 2 || within.back().first == within.front().first) continue;
      power += way.power(within);
      found = true;
    }
    // A counter that was reset tells nothing.
    if (found && power >= 0)
      return StepEnergy{.joules = power * step_s, .error = way.error, .source = way.source};
  }
  return std::nullopt;
}

}  // namespace headroom
