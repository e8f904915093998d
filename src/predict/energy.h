// Energy of a step: measured if the trace has counters, otherwise modelled.
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

/// Phase of the step that a GPU works for.
enum class GpuPhase : std::uint8_t { kForward, kBackward, kOptimizer, kOther };
inline constexpr std::size_t kGpuPhases = 4;

/// Activity of a GPU in a step, in milliseconds. Each value is at most the previous one.
struct StepActivity {
  struct Part {
    double busy_ms = 0, active_ms = 0;
  };

  double step_ms = 0;
  double busy_ms = 0;  ///< Time with a running kernel or copy.
  /// Time that the GPU's work would take at full power: arithmetic at the rate that the power
  /// allows, then bytes.
  double active_ms = 0;
  std::array<Part, kGpuPhases> phases{};  ///< By GpuPhase; they add up to the members above.
};

enum class EnergySource : std::uint8_t {
  kCounter,  ///< The GPU's energy counter.
  kPower,    ///< Integrated samples of its power.
  kModel,
};

/// Returns "counter", "power" or "model".
std::string_view Name(EnergySource source);

/// Joules per step. Holds the energy of one GPU, or the mean of several measured GPUs, until
/// Times() scales it.
struct StepEnergy {
  double joules = 0;
  double error = 0;  ///< Half-width of the 80 % interval, as a share.
  EnergySource source = EnergySource::kModel;
  /// MeasuredOverModel() of the recorded GPU, by which the model's figure was multiplied; nullopt
  /// for an unscaled or measured figure.
  std::optional<double> carried = {};
  /// Parts of `joules` by the model's shares: the work of each phase, and the power of an idle GPU
  /// over the same time.
  std::array<double, kGpuPhases> phase_joules{};
  double idle_joules = 0;

  /// Scales the energy to this many GPUs with the same work.
  void Times(double gpus);
  /// Divides `joules` into parts with the same shares as those of `other`.
  void PartsLike(const StepEnergy& other);
};

/// Returns the modelled energy; nullopt if the device's power limit is unknown.
///
/// E = P * (idle * step + busy * busy_ms + (1 - idle - busy) * active_ms), at most P * step. P is
/// the power limit of the data sheet. An idle GPU draws the share `idle` of P, and a GPU that runs
/// kernels draws `idle` + `busy`. A GPU that runs kernels as fast as its power allows draws all of
/// P.
///
/// The constants were fitted to one H200: 26 jobs of four models. The mean error with one model
/// left out is 4.6 % (docs/accuracy/energy.md). No measurement on another GPU validates them.
std::optional<StepEnergy> ModelledEnergy(const StepActivity& activity, const DeviceRates& rates,
                                         const KernelConstants& constants);

/// Returns the ratio of measured to modelled energy on the recorded GPU, clamped to [0.5, 2], to
/// apply to other GPUs. A ratio beyond these bounds is not a model error. It indicates other work
/// on the GPU, or counters of another GPU.
double MeasuredOverModel(const StepEnergy& measured, const StepEnergy& modelled);

/// Returns the model's figure times `measured_over_model`, limited to the energy at the power
/// limit.
StepEnergy Carried(const StepEnergy& modelled, double measured_over_model, double step_ms,
                   const DeviceSpec& device);

/// Returns the number of numbered GPUs that run kernels within the steps; at least 1.
std::int64_t WorkingGpus(const TraceStore& store, std::span<const Interval> steps);

/// Returns the energy per step from the samples of `headroom record`, for the GPUs that run kernels
/// in the steps. Returns nullopt if one of these GPUs has fewer than two samples, or its counter
/// was reset. A counter that was constant while the GPU worked is ignored, and power samples
/// replace it.
///
/// @param steps  intervals from the start to the end of each step
std::optional<StepEnergy> MeasuredEnergy(const TraceStore& store, std::span<const Interval> steps);

}  // namespace headroom
