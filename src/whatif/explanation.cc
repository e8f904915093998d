#include "whatif/explanation.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "sim/critical_path.h"
#include "sim/slack.h"

namespace headroom {
namespace {

/// Less slack than this counts as none.
constexpr std::int64_t kCriticalNs = 1'000;

constexpr std::string_view kNoEvent = "(no recorded event)";
constexpr std::string_view kLoop = "(training loop)";
constexpr std::string_view kBeforeFirstCall = "(before the first call)";
/// Stands for the preceding task on a channel.
constexpr std::string_view kChannel = "channel";
constexpr std::string_view kInsertedCall = "(inserted launch)";
constexpr std::string_view kInsertedKernel = "(inserted kernel)";

/// Sums by name, in nanoseconds.
class Sums {
 public:
  void Add(std::string_view name, double ns, double links = 0) {
    auto& [sum, count] = sums_[name];
    sum += ns;
    count += links;
  }
  std::vector<PathPart> For(std::int32_t steps) const {
    std::vector<PathPart> parts;
    for (const auto& [name, sum] : sums_)
      parts.push_back({std::string(name), sum.first / steps / 1e6, sum.second / steps});
    std::stable_sort(parts.begin(), parts.end(),
                     [](const PathPart& a, const PathPart& b) { return a.ms > b.ms; });
    return parts;
  }
  double Total() const {
    return std::accumulate(sums_.begin(), sums_.end(), 0.0,
                           [](double sum, const auto& part) { return sum + part.second.first; });
  }

 private:
  std::map<std::string_view, std::pair<double, double>> sums_;
};

class Explainer {
 public:
  Explainer(const Job& job, const EditedPlan& edited) : job_(job), edited_(edited) {
    const auto& steps = job.store().steps;
    for (std::size_t row = 0; row < steps.rows(); ++row) {
      if (steps.event[row].valid()) steps_.insert(steps.event[row]);
    }
  }

  PlanExplanation Run(std::string name) {
    Replayer replayer;
    const Replayed replayed = replayer.Run(edited_.plan);
    PlanExplanation out;
    out.name = std::move(name);
    const StepScale& scale = job_.step_scale();
    out.step_ms = scale.Ms(edited_.plan, replayed.step_ns);
    factor_ = scale.FactorOf(edited_.plan, replayed.step_ns);
    for (const CriticalLink& link : FindCriticalPath(edited_.plan, replayer)) AddLink(link);
    if (const double before = scale.BeforeNs(edited_.plan); before > 0) {
      phases_.Add(Name(Phase::kOther), before);
      operators_.Add(kBeforeFirstCall, before);
    }
    const std::int32_t steps = edited_.plan.shape->steps;
    out.phases = phases_.For(steps);
    out.operators = operators_.For(steps);
    out.calls = calls_.For(steps);
    out.kernels = kernels_.For(steps);
    out.waits = waits_.For(steps);
    out.host_ms = phases_.Total() / steps / 1e6;
    out.gpu_ms = kernels_.Total() / steps / 1e6;
    out.waits_ms = waits_.Total() / steps / 1e6;
    const std::vector<std::int64_t> slack = FindSlack(edited_.plan, replayer);
    out.host_slack = Summarize(slack, false);
    out.gpu_slack = Summarize(slack, true);
    return out;
  }

 private:
  void AddLink(const CriticalLink& link) {
    const TaskIndex origin = edited_.origin[link.task];
    const bool is_gpu = edited_.plan.shape->gpu[link.task] != 0;
    const double ran = factor_ * static_cast<double>(link.ran_ns);
    const double spent = factor_ * static_cast<double>(link.spent_ns);
    if (is_gpu) {
      if (link.ran_ns != 0)
        kernels_.Add(origin == kNoTask ? kInsertedKernel : job_.NameOf(origin), ran, 1);
    } else if (link.ran_ns != 0) {
      calls_.Add(origin == kNoTask ? kInsertedCall : job_.NameOf(origin), ran, 1);
      phases_.Add(Name(origin == kNoTask ? Phase::kOther : job_.ContextOf(origin).phase), ran);
    }
    if (link.edge == kNoCriticalEdge) {
      waits_.Add(kChannel, spent, 1);
      return;
    }
    const EdgeKind kind = KindOfEdge(job_.graph(), edited_, link.task, link.edge);
    if (kind == EdgeKind::kHost || kind == EdgeKind::kHandOver) {
      if (link.spent_ns != 0) AddWork(origin, spent);
    } else {
      // Includes edges without a lag: their count shows how often the path moves between host and
      // GPU.
      waits_.Add(headroom::Name(kind), spent, 1);
    }
  }

  /// Adds work before a call, split by the events that it belonged to in the recording.
  void AddWork(TaskIndex call, double ns) {
    double recorded = 0;
    const Graph& graph = job_.graph();
    if (call != kNoTask) {
      for (std::uint32_t p = graph.tasks[call].pieces_begin; p < graph.tasks[call].pieces_end; ++p)
        recorded += static_cast<double>(graph.pieces[p].length().ns());
    }
    if (recorded <= 0) {
      phases_.Add(Name(Phase::kOther), ns);
      operators_.Add(kNoEvent, ns);
      return;
    }
    for (std::uint32_t p = graph.tasks[call].pieces_begin; p < graph.tasks[call].pieces_end; ++p) {
      const HostPiece& piece = graph.pieces[p];
      const double share = ns * static_cast<double>(piece.length().ns()) / recorded;
      if (!piece.owner.valid()) {
        phases_.Add(Name(Phase::kOther), share);
        operators_.Add(kNoEvent, share);
        continue;
      }
      const HostContext& context = job_.attribution().Of(piece.owner);
      phases_.Add(Name(context.phase), share);
      operators_.Add(OperatorName(context.op.valid() ? context.op : piece.owner), share);
    }
  }

  /// Names of steps contain a number; all steps count as one entry.
  std::string_view OperatorName(HostEventId event) const {
    if (steps_.contains(event)) return kLoop;
    return job_.store().Text(job_.store().host_events.name[event.index()]);
  }

  SlackSummary Summarize(const std::vector<std::int64_t>& slack, bool gpu) const {
    const Plan& plan = edited_.plan;
    SlackSummary out;
    std::vector<std::pair<std::int64_t, std::int64_t>> by_slack;  // Slack, time.
    std::int64_t busy = 0, critical = 0;
    for (std::size_t task = 0; task < plan.tasks(); ++task) {
      if ((plan.shape->gpu[task] != 0) != gpu) continue;
      std::int64_t time = plan.duration[task];
      const std::uint32_t track = plan.shape->edge_begin[task];
      if (!gpu && track < plan.shape->edge_begin[task + 1]) time += plan.lag[track];
      if (time <= 0) continue;
      busy += time;
      if (slack[task] < kCriticalNs) critical += time;
      by_slack.emplace_back(slack[task], time);
    }
    std::sort(by_slack.begin(), by_slack.end());
    std::int64_t seen = 0;
    for (const auto& [of_task, time] : by_slack) {
      seen += time;
      if (2 * seen < busy) continue;
      out.median_ms = static_cast<double>(of_task) / 1e6;
      break;
    }
    out.busy_ms = static_cast<double>(busy) / plan.shape->steps / 1e6;
    out.critical_ms = static_cast<double>(critical) / plan.shape->steps / 1e6;
    return out;
  }

  const Job& job_;
  const EditedPlan& edited_;
  double factor_ = 1;  ///< Converts parts of a replayed step to the reported step.
  std::set<HostEventId> steps_;
  Sums phases_, operators_, calls_, kernels_, waits_;
};

}  // namespace

std::string_view Name(Phase phase) {
  constexpr std::array<std::string_view, 8> kNames = {"other",       "forward",      "backward",
                                                      "optimizer",   "data wait",    "callback",
                                                      "copy to GPU", "communication"};
  return kNames[static_cast<std::size_t>(phase)];
}

PlanExplanation ExplainPlan(const Job& job, std::string name, const EditedPlan& edited) {
  return Explainer(job, edited).Run(std::move(name));
}

Explanation ExplainJob(const Job& job) {
  Explanation out;
  out.plans.push_back(ExplainPlan(job, "", Edit(job.graph(), job.corrected()).Finish()));
  out.edges = CountEdges(job.graph());
  out.ledger = job.graph().ledger;
  return out;
}

std::vector<EdgeCounts> CountEdges(const Graph& graph) {
  std::vector<EdgeCounts> counts;
  for (int kind = 0; kind <= static_cast<int>(EdgeKind::kCrossStream); ++kind) {
    EdgeCounts of_kind{.kind = static_cast<EdgeKind>(kind)};
    for (const Edge& edge : graph.edges) {
      if (edge.kind != of_kind.kind) continue;
      ++(edge.provenance == Provenance::kRecorded   ? of_kind.recorded
         : edge.provenance == Provenance::kResolved ? of_kind.resolved
                                                    : of_kind.inferred);
    }
    if (of_kind.recorded + of_kind.resolved + of_kind.inferred > 0) counts.push_back(of_kind);
  }
  return counts;
}

}  // namespace headroom
