#include "whatif/sweep.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/part_replay.h"
#include "whatif/explanation.h"

namespace headroom {
namespace {

/// Maximum number each of layers, operators and host operators. The sweep keeps the longest.
constexpr std::size_t kMaxOfKind = 12;

/// Maximum number of fixes in a chain, and the minimum share of the step that a fix must save.
constexpr std::size_t kMaxFixes = 6;
constexpr double kWorthwhile = 0.01;

/// Speedup of a part by a fix.
constexpr double kFix = 2;

/// A gain of less than this share of the step is within the noise of replays.
constexpr double kNoise = 1e-4;

struct Candidate {
  SweepTarget target;
  PlanPart part;
  double time_ns = 0;
};

/// Scales or step times, from scale 1 downwards.
using Scales = std::array<double, kSweepFactors.size() + 2>;

/// Returns 1, then the inverse factors, then an extra scale that gives the slope near 0.
Scales ScalesOfFactors() {
  Scales scales{1};
  for (std::size_t i = 0; i < kSweepFactors.size(); ++i) scales[i + 1] = 1 / kSweepFactors[i];
  scales[7] = 0.125;
  return scales;
}

class Candidates {
 public:
  explicit Candidates(const Job& job) : job_(job) {
    for (const HostPiece& piece : job.graph().pieces)
      piece_weight_.push_back(static_cast<double>(piece.length().ns()));
  }

  std::vector<Candidate> Find() {
    Collect();
    std::vector<Candidate> found;
    for (auto& [key, candidate] : by_name_) {
      candidate.target.kind = key.first;
      candidate.target.name = std::string(key.second);
      candidate.target.time_ms = candidate.time_ns / job_.corrected().shape->steps / 1e6;
      if (candidate.time_ns > 0) found.push_back(std::move(candidate));
    }
    KeepLongest(found);
    return found;
  }

  /// Scales the target's time by `scale` for later replays. This changes the shares of other
  /// targets on the same edges.
  void Rescale(const SweepTarget& target, double scale, std::vector<Candidate>& candidates) {
    for (std::size_t p = 0; p < piece_weight_.size(); ++p) {
      const HostContext owner = OwnerOf(job_.graph().pieces[p]);
      const bool belongs = target.kind == TargetKind::kHostPhase
                               ? headroom::Name(owner.phase) == target.name
                               : target.kind == TargetKind::kHostOperator && owner.op.valid() &&
                                     TextOf(owner.op) == target.name;
      if (belongs) piece_weight_[p] *= scale;
    }
    Collect();
    for (Candidate& candidate : candidates)
      candidate.part = Of(candidate.target.kind, candidate.target.name).part;
  }

 private:
  void Collect() {
    by_name_.clear();
    for (TaskIndex task = 0; task < job_.graph().tasks.size(); ++task) {
      const TaskKind kind = job_.graph().tasks[task].kind;
      if (kind == TaskKind::kGpu) AddGpuTask(task);
      if (kind == TaskKind::kCall) AddCall(task);
    }
  }

  HostContext OwnerOf(const HostPiece& piece) const {
    return piece.owner.valid() ? job_.attribution().Of(piece.owner) : HostContext();
  }

  Candidate& Of(TargetKind kind, std::string_view name) { return by_name_[{kind, name}]; }

  std::string_view TextOf(HostEventId event) const {
    return job_.store().Text(job_.store().host_events.name[event.index()]);
  }

  void AddTask(Candidate& candidate, TaskIndex task) const {
    candidate.part.tasks.emplace_back(task, 1);
    candidate.time_ns += static_cast<double>(job_.corrected().duration[task]);
  }

  void AddGpuTask(TaskIndex task) {
    AddTask(Of(TargetKind::kKernels, headroom::Name(job_.ClassOf(task).family)), task);
    const HostContext& context = job_.ContextOf(task);
    if (context.layer.valid()) AddTask(Of(TargetKind::kLayer, TextOf(context.layer)), task);
    if (context.op.valid()) AddTask(Of(TargetKind::kOperator, TextOf(context.op)), task);
  }

  /// Adds the call, and the work before it, which may belong to several operators.
  void AddCall(TaskIndex task) {
    const Graph& graph = job_.graph();
    const HostContext& context = job_.ContextOf(task);
    AddTask(Of(TargetKind::kHostPhase, headroom::Name(context.phase)), task);
    if (context.op.valid()) AddTask(Of(TargetKind::kHostOperator, TextOf(context.op)), task);
    const std::uint32_t edge = graph.edge_begin[task];
    const Task& call = graph.tasks[task];
    double all = 0;
    std::map<Candidate*, double> shares;
    for (std::uint32_t p = call.pieces_begin; p < call.pieces_end; ++p) {
      const double length = piece_weight_[p];
      all += length;
      const HostContext owner = OwnerOf(graph.pieces[p]);
      shares[&Of(TargetKind::kHostPhase, headroom::Name(owner.phase))] += length;
      if (owner.op.valid()) shares[&Of(TargetKind::kHostOperator, TextOf(owner.op))] += length;
    }
    if (all <= 0) return;
    for (const auto& [candidate, length] : shares) {
      candidate->part.edges.emplace_back(edge, length / all);
      candidate->time_ns += static_cast<double>(job_.corrected().lag[edge]) * length / all;
    }
  }

  static void KeepLongest(std::vector<Candidate>& found) {
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.target.kind != b.target.kind ? a.target.kind < b.target.kind : a.time_ns > b.time_ns;
    });
    std::map<TargetKind, std::size_t> kept;
    std::erase_if(found, [&](const Candidate& c) {
      const bool few =
          c.target.kind == TargetKind::kKernels || c.target.kind == TargetKind::kHostPhase;
      return !few && ++kept[c.target.kind] > kMaxOfKind;
    });
  }

  const Job& job_;
  std::vector<double> piece_weight_;
  std::map<std::pair<TargetKind, std::string_view>, Candidate> by_name_;
};

/// Finds where the slope of the step over the part's scale falls below half of the slope at full
/// time. Returns the index of the first point after that; nullopt if the slope never falls so far.
/// REQUIRES: `scales` decrease.
std::optional<std::size_t> FindKnee(const Scales& scales, const Scales& steps, double first_slope) {
  for (std::size_t i = 1; i < scales.size(); ++i) {
    const double slope = (steps[i - 1] - steps[i]) / (scales[i - 1] - scales[i]);
    if (slope < first_slope / 2) return i;
  }
  return std::nullopt;
}

void FindKneeFactor(PartReplayer& replayer, const PlanPart& part, Scales scales, Scales steps,
                    double step_ns, SweepTarget& target) {
  // Sorts by scale: the extra point goes before the infinite factor.
  std::swap(scales[6], scales[7]);
  std::swap(steps[6], steps[7]);
  const double first_slope = (steps[0] - steps[1]) / (scales[0] - scales[1]);
  if (steps[0] - steps[1] < kNoise * step_ns) return;  // No gain at first.
  const std::optional<std::size_t> behind = FindKnee(scales, steps, first_slope);
  if (!behind) return;
  // The knee is near the segment before that point: searches around this segment once more, with
  // finer scales.
  const double from = scales[*behind >= 2 ? *behind - 2 : 0], to = scales[*behind];
  Scales closer;
  for (std::size_t i = 0; i < closer.size(); ++i)
    closer[i] = from + (to - from) * static_cast<double>(i) / (closer.size() - 1);
  const Scales there = replayer.Run(part, closer);
  const std::optional<std::size_t> knee = FindKnee(closer, there, first_slope);
  const double scale = knee ? closer[*knee - 1] : to;
  if (scale > 0) target.knee_factor = 1 / scale;
}

SweepTarget Measure(PartReplayer& replayer, const Candidate& candidate, double step_ns) {
  const std::int64_t replays_before = replayer.replays();
  const Scales scales = ScalesOfFactors();
  const Scales steps = replayer.Run(candidate.part, scales);
  SweepTarget target = candidate.target;
  for (std::size_t i = 0; i < kSweepFactors.size(); ++i) target.step_ms[i] = steps[i + 1] / 1e6;
  target.saves_ms = (step_ns - steps[4]) / 1e6;
  target.saves_at_most_ms = (step_ns - steps[6]) / 1e6;
  FindKneeFactor(replayer, candidate.part, scales, steps, step_ns, target);
  target.replays = replayer.replays() - replays_before;
  return target;
}

/// Measures the step without the waits of each waiting call.
std::vector<SweepTarget> SweepWaits(const Job& job, double step_ns) {
  const Graph& graph = job.graph();
  std::map<std::string_view, Plan> by_name;
  for (TaskIndex task = 0; task < graph.tasks.size(); ++task) {
    if (graph.tasks[task].kind != TaskKind::kReturn) continue;
    Plan& plan = by_name.try_emplace(job.NameOf(task), job.corrected()).first->second;
    for (std::uint32_t edge = graph.edge_begin[task]; edge < graph.edge_begin[task + 1]; ++edge) {
      if (graph.edges[edge].kind == EdgeKind::kSync) plan.lag[edge] = kNoEdge;
    }
  }
  std::vector<SweepTarget> targets;
  Replayer replayer;
  for (const auto& [name, plan] : by_name) {
    const double step = job.step_scale().Ns(plan, replayer.Run(plan).step_ns);
    SweepTarget target{.kind = TargetKind::kSync, .name = std::string(name), .replays = 1};
    target.step_ms.back() = step / 1e6;
    target.saves_ms = target.saves_at_most_ms = (step_ns - step) / 1e6;
    targets.push_back(std::move(target));
  }
  return targets;
}

/// Takes the best fix, then the best after applying it, and so on.
std::vector<NextFix> ChainFixes(PartReplayer& replayer, Candidates& finder,
                                std::vector<Candidate>& candidates, double step_ns) {
  std::vector<NextFix> chain;
  double now = step_ns;
  std::vector<bool> done(candidates.size());
  while (chain.size() < kMaxFixes) {
    std::size_t best = candidates.size();
    double best_step = now - kWorthwhile * step_ns;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (done[i]) continue;
      const double step = replayer.Run(candidates[i].part, 1 / kFix);
      if (step >= best_step) continue;
      best = i;
      best_step = step;
    }
    if (best == candidates.size()) break;
    done[best] = true;
    replayer.Apply(candidates[best].part, 1 / kFix);
    const SweepTarget target = candidates[best].target;
    finder.Rescale(target, 1 / kFix, candidates);
    chain.push_back({target.kind, target.name, best_step / 1e6, (now - best_step) / 1e6});
    now = best_step;
  }
  return chain;
}

}  // namespace

std::string_view Name(TargetKind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"kernels",    "layer",         "operator",
                                                      "host phase", "host operator", "sync"};
  return kNames[static_cast<std::size_t>(kind)];
}

struct TargetSweep::State {
  explicit State(const Job& of_job)
      : job(of_job),
        finder(of_job),
        candidates(finder.Find()),
        measured(candidates.size()),
        replayer(of_job.corrected(), of_job.step_scale()),
        step_ns(replayer.Run({}, 1)) {}

  const Job& job;
  Candidates finder;
  std::vector<Candidate> candidates;
  std::vector<std::optional<SweepTarget>> measured;
  PartReplayer replayer;
  double step_ns;
};

TargetSweep::TargetSweep(const Job& job) : state_(std::make_unique<State>(job)) {}

TargetSweep::~TargetSweep() = default;

std::uint64_t TargetSweep::fingerprint() const {
  const Plan& plan = state_->job.corrected();
  const auto hash = [](const auto& values, std::uint64_t seed) {
    return XXH3_64bits_withSeed(values.data(), values.size() * sizeof(values[0]), seed);
  };
  return hash(plan.lag, hash(plan.duration, size()));
}

std::size_t TargetSweep::size() const { return state_->candidates.size(); }

SweepTarget TargetSweep::Measure(std::size_t i) {
  return headroom::Measure(state_->replayer, state_->candidates[i], state_->step_ns);
}

void TargetSweep::Take(std::size_t i, SweepTarget measured) {
  state_->measured[i] = std::move(measured);
}

Sweep TargetSweep::Finish() {
  Sweep sweep;
  sweep.step_ms = state_->step_ns / 1e6;
  for (std::size_t i = 0; i < size(); ++i) {
    std::optional<SweepTarget>& measured = state_->measured[i];
    sweep.targets.push_back(measured ? std::move(*measured) : Measure(i));
  }
  for (SweepTarget& target : SweepWaits(state_->job, state_->step_ns))
    sweep.targets.push_back(std::move(target));
  std::stable_sort(
      sweep.targets.begin(), sweep.targets.end(), [](const SweepTarget& a, const SweepTarget& b) {
        return std::tie(a.saves_ms, a.saves_at_most_ms) > std::tie(b.saves_ms, b.saves_at_most_ms);
      });
  const std::int64_t replays_before = state_->replayer.replays();
  sweep.next = ChainFixes(state_->replayer, state_->finder, state_->candidates, state_->step_ns);
  sweep.replays = 1 + state_->replayer.replays() - replays_before;
  for (const SweepTarget& target : sweep.targets) sweep.replays += target.replays;
  return sweep;
}

Sweep SweepTargets(const Job& job) { return TargetSweep(job).Finish(); }

}  // namespace headroom
