// Results of replaying an edited graph.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom::python {

/// Results of a replay. Task numbers are those of the edit: tasks of the graph, then inserted ones.
struct ReplayResult {
  double step_ms = 0;
  std::vector<double> step_walls_ms;  ///< By recorded step.
  bool settled = true;
  /// Times of the last cycle, in ns from its start; kNotThere for an inserted task that a scenario
  /// removed again.
  std::vector<std::int64_t> starts, ends;
  static constexpr std::int64_t kNotThere = -1;

  struct Link {
    std::int64_t task;  ///< -1: the launch of an inserted kernel.
    /// Kind of the edge that allowed the start; "channel": its channel was busy until then;
    /// nullptr: the path begins here.
    const char* edge;
    std::int64_t lag_ns;  ///< Lag of that edge in ns.
    std::int64_t ran_ns;  ///< Duration of the task in ns.
  };
  std::vector<Link> critical_path;
};

/// Replays until the steps are periodic. Uses neither Python nor state of the job that needs its
/// lock.
///
/// @param tasks  number of tasks: those of the graph and the inserted ones
ReplayResult ReplayEdited(const Job& job, const EditedPlan& edited, std::size_t tasks);

}  // namespace headroom::python
