// The energy of a step: measured where the trace holds counters, else by a model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/interval_set.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "store/trace_store.h"

namespace headroom {

/// What a GPU works for.
enum class GpuPhase : std::uint8_t { kForward, kBackward, kOptimizer, kOther };
inline constexpr std::size_t kGpuPhases = 4;

/// What a GPU does in a step, in milliseconds; each at most the one before.
struct StepActivity {
  struct Part {
    double busy_ms = 0, active_ms = 0;
  };

  double step_ms = 0;
  double busy_ms = 0;  ///< With a kernel or copy at work.
  /// What its work would take at full power: arithmetic at the rate that this allows, then bytes.
  double active_ms = 0;
  std::array<Part, kGpuPhases> phases{};  ///< By GpuPhase; their sums are those above.
};

enum class EnergySource : std::uint8_t {
  kCounter,  ///< The GPU's energy counter.
  kPower,    ///< Samples of its power, integrated.
  kModel,
};

/// "counter", "power", "model".
std::string_view Name(EnergySource source);

/// Joules of one step: of one GPU, and of several that were measured their mean, until Times().
struct StepEnergy {
  double joules = 0;
  double error = 0;  ///< Half-width, as a share: four of five lie within.
  EnergySource source = EnergySource::kModel;
  /// MeasuredOverModel() of the recorded GPU, by which the model's figure was multiplied; nullopt:
  /// it was not.
  std::optional<double> carried = {};
  /// Parts of it, by the model's shares: what the phases' work takes, and what the GPU would draw
  /// in the same time if it waited.
  std::array<double, kGpuPhases> phase_joules{};
  double idle_joules = 0;

  /// Of so many GPUs that do the same.
  void Times(double gpus);
  /// The same parts of another total.
  void PartsLike(const StepEnergy& other);
};

/// E = P * (idle * step + busy * busy_ms + (1 - idle - busy) * active_ms), at most P * step, with P
/// the power limit of the data sheet: a GPU that waits takes `idle` of it, one that runs kernels
/// `idle` + `busy`, one that runs them as fast as its power allows all. nullopt: its power is not
/// known. Fitted to one H200 (26 jobs of four models, with one model left out: mean error 4.6 %,
/// docs/accuracy.md); on another GPU never held against a measurement.
std::optional<StepEnergy> ModelledEnergy(const StepActivity& activity, const DeviceRates& rates,
                                         const KernelConstants& constants);

/// What the model is off by on the recorded GPU, to be carried over to others: half to twice.
/// Beyond that it is no error of the model, but other work on the GPU, or counters of another one.
double MeasuredOverModel(const StepEnergy& measured, const StepEnergy& modelled);

/// The model's figure times that, but no more than the power limit allows in the step.
StepEnergy Carried(const StepEnergy& modelled, double measured_over_model, double step_ms,
                   const DeviceSpec& device);

/// How many GPUs the trace has with kernels within its steps, by their numbers; at least 1.
std::int64_t WorkingGpus(const TraceStore& store, std::span<const Interval> steps);

/// From the samples of `headroom record` over the recorded steps, of the GPUs that run kernels in
/// them; nullopt: of one of these fewer than two samples, or a counter that was reset. A counter
/// that stood still while the GPU worked counts as not sampled: power samples take its place.
///
/// @param steps  from the begin to the end of each
std::optional<StepEnergy> MeasuredEnergy(const TraceStore& store, std::span<const Interval> steps);

}  // namespace headroom
