// Step time, throughput and efficiency over the number of GPUs, and the limit at each point.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wanted.h"
#include "network/topology.h"
#include "scale/model_parallel.h"
#include "whatif/forecast.h"

namespace headroom {

/// Cause that limits the step, or that keeps N GPUs from N times the throughput.
enum class ScalingLimit : std::uint8_t {
  kGpu,
  kHost,
  kLoader,
  kBandwidth,  ///< Bytes over the slowest link.
  kLatency,    ///< Number of messages, regardless of their size.
  kStraggler,  ///< Waiting for the slowest rank, because ranks vary from step to step.
  kPipeline,   ///< Idle pipeline stages at the first and the last batches.
  kOverlap,    ///< Computation that is slower while it shares the GPU with collectives.
  kBuckets,    ///< Copies of gradients into buckets and back, and the host's calls for them.
};

std::string_view Name(ScalingLimit limit);

/// A step of a job on some GPUs, without stragglers.
struct ScaledStep {
  /// Reason why there is no forecast; the other members are then invalid. Empty if there is a
  /// forecast.
  std::string no_answer = {};
  StepInterval step_ms;
  StepLimits limits;
  double without_latency_ms = 0;  ///< Step time if network messages had zero latency.
  double without_bytes_ms = 0;    ///< Step time if the network had unlimited bandwidth.
  double bubble_ms = 0;           ///< Time in which pipeline stages wait for each other.
  double waits_ms = 0;            ///< Recorded waits for late ranks within the step.
  std::string why = {};
};

/// A job that can be forecast on other GPUs, independent of how it was recorded.
class ScalableJob {
 public:
  virtual ~ScalableJob() = default;

  /// Returns the step on one GPU, with requested changes.
  virtual ScaledStep OnOneGpu() = 0;
  /// @param samples  samples per batch of a replica; nullopt: as recorded
  virtual ScaledStep On(const Topology& topology, const Placement& placement,
                        std::optional<std::int64_t> samples) = 0;
  /// Returns the samples per step and GPU; nullopt: unknown.
  virtual std::optional<std::int64_t> samples() const = 0;
  /// Returns the standard deviation of the recorded step times, as a share of their median;
  /// nullopt: too few steps.
  virtual std::optional<double> deviation() const = 0;
  /// Returns the number of GPUs among which the recorded steps already waited for the slowest.
  virtual std::int64_t recorded_gpus() const { return 1; }
  /// Returns the number of steps in which ranks do not wait for each other.
  virtual std::int64_t steps_alone() const { return 1; }
  /// Returns true if collectives and computation share the device.
  virtual bool overlaps_on_device() const { return true; }
  /// Returns the share of the step spent waiting for the loader.
  virtual double loader_share() const = 0;
  /// Returns how GPUs share a replica of the model. On() requires complete replicas.
  virtual ModelParallel split() const { return {}; }
  /// Returns the part of one GPU's step, in ms, that occurs once for all batches of a step.
  virtual double update_ms() const { return 0; }
};

/// Costs of several GPUs that a recording of one GPU does not show. The defaults are those of
/// published training runs (docs/scale.md).
struct ScalingCosts {
  /// Computation takes this much longer while a collective runs on the same GPU.
  double overlap_slowdown = 1.08;
  /// Standard deviation of step times as a share, if too few steps were recorded.
  double deviation = 0.02;
  /// Samples per second that the CPU cores of a machine load for all its GPUs; nullopt: more than
  /// the GPUs need.
  std::optional<double> loader_samples_per_s = {};
};

struct ScalingPoint {
  Placement placement;
  std::string no_answer = {};                ///< As ScaledStep::no_answer.
  StepInterval step_ms;                      ///< Includes waits for stragglers.
  std::optional<double> samples_per_s = {};  ///< Throughput of all GPUs.
  double efficiency = 1;  ///< Throughput of N GPUs, divided by N times that of one GPU.
  /// Efficiency at the ends of `step_ms`.
  double least_efficiency = 1, most_efficiency = 1;
  double exposed_ms = 0, transfers_ms = 0, straggler_ms = 0, bubble_ms = 0;
  double overlap_ms = 0;  ///< Slowdown of computation by collectives that run at the same time.
  double loader_ms = 0;   ///< Wait for a loader whose cores the GPUs of a machine share.
  ScalingLimit limit = ScalingLimit::kGpu;
  std::string why = {};
};

/// Smallest share of the step at which lost time counts as the limit: less rounds to an efficiency
/// of 100 %. Below it, the limit of one GPU applies.
inline constexpr double kLimitShare = 0.005;

/// Returns the limit of a step without communication: the loader if the step waits for data for at
/// least a twentieth, else the host or the GPU.
ScalingLimit OwnLimit(const ScaledStep& step, double loader_share);

/// @param strong  true: keeps the total samples per step as recorded; false: each batch of each
/// replica has the recorded samples
///
/// Stragglers: if steps of one rank have a deviation s, the slowest of N takes longer by s times
/// the expected maximum of N normal values. The interval covers half to twice that wait.
/// The slowdown by overlap covers a third to 5 / 3 of `overlap_slowdown`: 1.03 to 1.13 by default.
///
/// With the recorded batch per GPU, no step is shorter than one GPU's: a schedule that shares the
/// update saves at most its own costs.
///
/// @param is_wanted  callback before each point; once it returns false, returns the points so far
std::vector<ScalingPoint> ScalingCurve(ScalableJob& job, const Topology& topology,
                                       const std::vector<Placement>& placements, bool strong,
                                       const ScalingCosts& costs = {},
                                       const IsWanted& is_wanted = AlwaysWanted);

}  // namespace headroom
