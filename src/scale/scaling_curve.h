// Step, throughput and efficiency over the number of GPUs, and what limits each point.
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

/// What keeps a step from being shorter, or N GPUs from doing N times the work.
enum class ScalingLimit : std::uint8_t {
  kGpu,
  kHost,
  kLoader,
  kBandwidth,  ///< Bytes over the slowest link.
  kLatency,    ///< Messages, whatever their size.
  kStraggler,  ///< Waiting for the slowest of all ranks, which vary from step to step.
  kPipeline,   ///< Stages without work while the first and the last batches pass the others.
};

std::string_view Name(ScalingLimit limit);

/// A step of a job on some GPUs, without stragglers.
struct ScaledStep {
  std::string no_answer = {};  ///< Why there is none; all else is void then.
  StepInterval step_ms;
  StepLimits limits;
  double without_latency_ms = 0;  ///< Step were messages of the network in no time.
  double without_bytes_ms = 0;    ///< Step were its bytes.
  double bubble_ms = 0;           ///< By which stages of a pipeline wait for each other.
  double waits_ms = 0;  ///< Of the step, what the recording shows of waiting for late ranks.
  std::string why = {};
};

/// A job that can be asked what it takes on other GPUs, whatever recorded it.
class ScalableJob {
 public:
  virtual ~ScalableJob() = default;

  /// On one GPU, as it is or was asked to be changed.
  virtual ScaledStep OnOneGpu() = 0;
  /// @param samples  of a replica's batch; nullopt: as recorded
  virtual ScaledStep On(const Topology& topology, const Placement& placement,
                        std::optional<std::int64_t> samples) = 0;
  /// A step, on each GPU; nullopt: not told.
  virtual std::optional<std::int64_t> samples() const = 0;
  /// Of the recorded steps, as shares of their median; few of them tell nothing.
  virtual std::optional<double> deviation() const = 0;
  /// GPUs whose slowest the recorded steps waited for already.
  virtual std::int64_t recorded_gpus() const { return 1; }
  /// Share of the step that waits for its loader.
  virtual double loader_share() const = 0;
  /// How GPUs share a replica of the model. On() is asked for whole replicas.
  virtual ModelParallel split() const { return {}; }
  /// Of a step of one GPU, what several batches of a step take once; ms.
  virtual double update_ms() const { return 0; }
};

struct ScalingPoint {
  Placement placement;
  std::string no_answer = {};                ///< As ScaledStep::no_answer.
  StepInterval step_ms;                      ///< With what waiting for stragglers takes.
  std::optional<double> samples_per_s = {};  ///< Of all GPUs.
  double efficiency = 1;                     ///< Of the GPUs: work a second in N times that of one.
  double exposed_ms = 0, transfers_ms = 0, straggler_ms = 0, bubble_ms = 0;
  ScalingLimit limit = ScalingLimit::kGpu;
  std::string why = {};
};

/// What is lost to the network or stragglers is a limit from this share of the step on; below it,
/// what limits one GPU does.
inline constexpr double kLimitShare = 0.05;

/// @param strong  the samples of a step of all GPUs are those recorded, else those of each batch of
///                each replica
///
/// Stragglers: where steps of one rank vary by a deviation s, the slowest of N takes s times the
/// expected maximum of N normal values longer; half of that or twice as much is in the interval.
///
/// @param is_wanted  asked before each point; once it says no, the points so far are all
std::vector<ScalingPoint> ScalingCurve(ScalableJob& job, const Topology& topology,
                                       const std::vector<Placement>& placements, bool strong,
                                       const IsWanted& is_wanted = AlwaysWanted);

}  // namespace headroom
