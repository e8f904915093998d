// Explains the step time: the critical path, summed by category, and the slack of the other work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// A part of the critical path, per step.
struct PathPart {
  std::string name;
  double ms = 0;  ///< Negative if a task starts before its predecessor ends.
  /// Number of tasks or edges on the path; 0 for work between calls, which is not counted.
  double links = 0;
};

/// Slack of the host or the GPU: how far its work could be delayed before the step gets longer.
struct SlackSummary {
  /// Time of its tasks per step; on the host, calls and the work before them.
  double busy_ms = 0;
  double critical_ms = 0;  ///< Part of `busy_ms` in tasks with less than a microsecond of slack.
  double median_ms = 0;    ///< Half of `busy_ms` has at most this slack.
};

/// Explanation of one plan. All times are for one step; the parts' sums add up to `step_ms`.
struct PlanExplanation {
  std::string name;  ///< The scenario; empty for the unchanged job.
  double step_ms = 0;
  double host_ms = 0;               ///< Host work and calls on the path.
  double gpu_ms = 0;                ///< GPU tasks on the path.
  double waits_ms = 0;              ///< Latencies and gaps on the path: lags of edges without work.
  std::vector<PathPart> phases;     ///< Host time on the path by phase of the step.
  std::vector<PathPart> operators;  ///< Host work on the path by innermost operator.
  std::vector<PathPart> calls;      ///< API calls on the path by name.
  std::vector<PathPart> kernels;    ///< GPU tasks on the path by name.
  std::vector<PathPart> waits;      ///< Waits on the path by kind of edge.
  SlackSummary host_slack, gpu_slack;
};

/// Number of edges of a kind, by provenance.
struct EdgeCounts {
  EdgeKind kind = EdgeKind::kHost;
  std::int64_t recorded = 0, resolved = 0, inferred = 0;
};

/// Everything that `--explain` shows.
struct Explanation {
  std::vector<PlanExplanation> plans;  ///< Begins with the unchanged job.
  Ledger ledger;                       ///< Over all recorded steps.
  std::vector<EdgeCounts> edges;
};

/// Sorts lists by time, longest first; equal times by name.
PlanExplanation ExplainPlan(const Job& job, std::string name, const EditedPlan& edited);
/// Explains the unchanged job without its profiler. Callers add the plans of scenarios.
Explanation ExplainJob(const Job& job);
/// Omits kinds without an edge.
std::vector<EdgeCounts> CountEdges(const Graph& graph);

/// Returns "forward", "data wait", ...
std::string_view Name(Phase phase);

}  // namespace headroom
