// Replays a plan with one part of its work at several speeds, without copying the plan's shape.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/schedule.h"
#include "sim/step_scale.h"

namespace headroom {

/// A part of a plan: shares (0 to 1) of the durations of tasks and of the lags of edges.
struct PlanPart {
  std::vector<std::pair<TaskIndex, double>> tasks;
  std::vector<std::pair<std::uint32_t, double>> edges;
};

class PartReplayer {
 public:
  /// Copies `plan` except for its shape.
  explicit PartReplayer(const Plan& plan, StepScale scale = {})
      : plan_(plan), base_(plan), scale_(scale) {}

  /// Returns the step time in ns if the part takes `scale` times its planned time.
  double Run(const PlanPart& part, double scale);
  /// As above, for each scale.
  template <std::size_t kCount>
  std::array<double, kCount> Run(const PlanPart& part, const std::array<double, kCount>& scales) {
    std::array<double, kCount> steps{};
    for (std::size_t i = 0; i < kCount; ++i) steps[i] = Run(part, scales[i]);
    return steps;
  }
  /// Makes the part take `scale` times its planned time in all later runs.
  void Apply(const PlanPart& part, double scale);

  /// Returns the number of replays so far.
  std::int64_t replays() const { return replays_; }

 private:
  void Scale(const PlanPart& part, double scale);

  Plan plan_;  ///< The plan to replay.
  Plan base_;  ///< State of `plan_` between runs.
  StepScale scale_;
  Replayer replayer_;
  std::int64_t replays_ = 0;
};

}  // namespace headroom
