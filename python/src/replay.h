// What a replay of an edited graph tells.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom::python {

/// A replay's results. Tasks by their numbers in the edit: those of the graph, then inserted ones.
struct ReplayResult {
  double step_ms = 0;
  std::vector<double> step_walls_ms;  ///< By recorded step.
  bool settled = true;
  /// Of the last cycle, in ns from its first moment; kNotThere where a scenario took an inserted
  /// task away again.
  std::vector<std::int64_t> starts, ends;
  static constexpr std::int64_t kNotThere = -1;

  struct Link {
    std::int64_t task;  ///< -1: the launch of an inserted kernel.
    /// Kind of what let it start; "channel": its channel was busy until then; nullptr: the path
    /// begins here.
    const char* edge;
    std::int64_t lag_ns;  ///< Of that edge.
    std::int64_t ran_ns;  ///< Of the task itself.
  };
  std::vector<Link> critical_path;
};

/// Replays until the steps repeat. Touches neither Python nor the job.
///
/// @param tasks  of the graph and inserted
ReplayResult ReplayEdited(const Job& job, const EditedPlan& edited, std::size_t tasks);

}  // namespace headroom::python
