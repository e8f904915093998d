// Replays several variants of one plan in a single pass: the same part of the work at several
// speeds. A pass over a graph waits for memory and for its own last result most of the time, so
// eight variants cost little more than one.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/schedule.h"

namespace headroom {

/// A part of a plan: shares (0 to 1) of the durations of tasks and of the lags of edges.
struct PlanPart {
  std::vector<std::pair<TaskIndex, double>> tasks;
  std::vector<std::pair<std::uint32_t, double>> edges;
};

class BatchReplayer {
 public:
  static constexpr std::size_t kLanes = 8;
  using Lanes = std::array<double, kLanes>;

  /// `plan` is copied but for its shape.
  explicit BatchReplayer(const Plan& plan);

  /// Time of a step, in ns, where the part takes `scale` times its time, for each scale. By the
  /// rule of Replayer::Run; times are not rounded to nanoseconds.
  Lanes Run(const PlanPart& part, const Lanes& scales);
  /// Makes the part take `scale` times its time in all later runs.
  void Apply(const PlanPart& part, double scale);

  /// Variants replayed so far.
  std::int64_t replays() const { return replays_; }

 private:
  Lanes RunCycle(std::size_t cycle, const Lanes& change);

  std::shared_ptr<const PlanShape> shape_;
  std::vector<double> duration_, lag_;         ///< ns.
  std::vector<double> task_part_, edge_part_;  ///< Of those, what varies; 0 between runs.
  std::vector<Lanes> moments_;  ///< A ring of cycles: this one, and as many back as edges reach.
  bool any_gpu_ = false;
  std::int64_t replays_ = 0;
};

}  // namespace headroom
