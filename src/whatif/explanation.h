// Why a step takes as long as it does: its critical path, summed by what it is, and the slack of
// what is not on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// A part of the critical path, for one step.
struct PathPart {
  std::string name;
  double ms = 0;     ///< Negative where a task starts before what it follows has ended.
  double links = 0;  ///< Tasks or edges on the path; 0: work between calls, not counted.
};

/// How far work of one side could be put off before the step gets longer.
struct SlackSummary {
  double busy_ms = 0;      ///< Time of the side's tasks (host: calls and the work before them).
  double critical_ms = 0;  ///< Of that: of tasks with less than a microsecond of slack.
  double median_ms = 0;    ///< Half of the side's time has less slack than this.
};

/// Of one plan. All times are for one step; the parts' sums add up to `step_ms`.
struct PlanExplanation {
  std::string name;  ///< Of the scenario; empty: the job as it is.
  double step_ms = 0;
  double host_ms = 0;   ///< Host work and calls on the path.
  double gpu_ms = 0;    ///< GPU tasks on the path.
  double waits_ms = 0;  ///< Latencies and gaps on the path: lags of edges that stand for no work.
  std::vector<PathPart> phases;     ///< Host time on the path by phase of the step.
  std::vector<PathPart> operators;  ///< Host work on the path by innermost operator.
  std::vector<PathPart> calls;      ///< API calls on the path by name.
  std::vector<PathPart> kernels;    ///< GPU tasks on the path by name.
  std::vector<PathPart> waits;      ///< By kind of edge.
  SlackSummary host_slack, gpu_slack;
};

/// How many edges of a kind the graph has, by how they are known.
struct EdgeCounts {
  EdgeKind kind = EdgeKind::kHost;
  std::int64_t recorded = 0, resolved = 0, inferred = 0;
};

/// Everything that `--explain` shows.
struct Explanation {
  std::vector<PlanExplanation> plans;  ///< The job as it is first.
  Ledger ledger;                       ///< Over all recorded steps.
  std::vector<EdgeCounts> edges;
};

/// Lists are sorted by time, longest first; equal times by name.
PlanExplanation ExplainPlan(const Job& job, std::string name, const EditedPlan& edited);
/// The job as it is, without its profiler; plans of scenarios are the caller's to add.
Explanation ExplainJob(const Job& job);
/// Kinds without an edge are left out.
std::vector<EdgeCounts> CountEdges(const Graph& graph);

/// "forward", "data wait"...
std::string_view Name(Phase phase);

}  // namespace headroom
