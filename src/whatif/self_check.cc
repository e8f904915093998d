#include "whatif/self_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <span>

#include "sim/edit.h"
#include "sim/schedule.h"
#include "whatif/explanation.h"

namespace headroom {
namespace {

/// A larger replay error of the unchanged job means that an edge is missing.
constexpr double kIdentityPct = 0.5;

/// Largest difference between two replays of one step: replays stop once a cycle repeats to 0.02 %.
constexpr double kReplayPct = 0.05;

/// Number of random changes in each check that uses them.
constexpr int kTrials = 32;

/// Parts of the plan whose time is halved.
struct Halves {
  bool host = false, gpu = false, lags = false;
};

Plan Halved(const Plan& plan, const Halves& halves) {
  Plan out = plan;
  const PlanShape& shape = *plan.shape;
  for (std::size_t task = 0; task < out.tasks(); ++task) {
    const bool is_gpu = shape.gpu[task] != 0;
    if (is_gpu ? halves.gpu : halves.host) out.duration[task] /= 2;
    for (std::uint32_t edge = shape.edge_begin[task]; edge < shape.edge_begin[task + 1]; ++edge) {
      const bool is_work = !is_gpu && edge == shape.edge_begin[task];
      if ((is_work ? halves.host : halves.lags) && out.lag[edge] != kNoEdge) out.lag[edge] /= 2;
    }
  }
  return out;
}

double StepOf(const Plan& plan) { return Replayer().Run(plan).step_ns; }

/// GPU busy time per step: of all streams together, and of the busiest stream.
struct Busy {
  /// Overlapping tasks of one stream count in full, because a path goes through both. A kernel may
  /// start slightly before the previous one ends.
  double any_ns = 0;
  double stream_ns = 0;
};

struct Span {
  std::int64_t start = 0, end = 0;
};

std::int64_t Covered(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.start < b.start; });
  std::int64_t covered = 0, until = INT64_MIN;
  for (const Span& span : spans) {
    if (span.end <= until) continue;
    covered += span.end - std::max(span.start, until);
    until = span.end;
  }
  return covered;
}

Busy BusyTime(const Job& job, const Plan& plan) {
  Replayer replayer;
  replayer.Run(plan);
  const std::int64_t* const times = replayer.Cycle(plan, replayer.cycles() - 1);
  std::vector<Span> all;
  std::map<StreamId, std::vector<Span>> by_stream;
  for (TaskIndex task = 0; task < plan.tasks(); ++task) {
    if (plan.shape->gpu[task] == 0) continue;
    all.push_back({times[2 * task], times[2 * task + 1]});
    by_stream[job.store().gpu_tasks.stream[job.graph().tasks[task].row]].push_back(all.back());
  }
  std::int64_t any = Covered(all), busiest = 0;
  for (auto& [stream, spans] : by_stream) {
    const std::int64_t covered = Covered(spans);
    busiest = std::max(busiest, covered);
    for (const Span& span : spans) any += span.end - span.start;
    any -= covered;
  }
  return {static_cast<double>(any) / plan.shape->steps,
          static_cast<double>(busiest) / plan.shape->steps};
}

/// Returns the number of moments of one cycle that come later than in `before`.
std::int64_t Later(std::span<const std::int64_t> moments, const std::vector<std::int64_t>& before) {
  std::int64_t later = 0;
  for (std::size_t i = 0; i < moments.size(); ++i) later += moments[i] > before[i] ? 1 : 0;
  return later;
}

/// Returns the number of moments, over all trials, that come later although `change` only removes
/// something. Trials alternate between one random index below `count` and a random half of all
/// indices.
std::int64_t LaterThanBefore(const Plan& plan, std::size_t count,
                             const std::function<void(Plan&, std::size_t)>& change) {
  if (count == 0) return 0;
  Replayer replayer;
  const std::span<const std::int64_t> moments = replayer.RunOnce(plan);
  const std::vector<std::int64_t> before(moments.begin(), moments.end());
  std::mt19937_64 random(1);  // Identical on every machine and in every run.
  std::int64_t later = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Plan changed = plan;
    if (trial % 2 == 0) {
      change(changed, random() % count);
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        if (random() % 2 == 0) change(changed, i);
      }
    }
    later += Later(replayer.RunOnce(changed), before);
  }
  return later;
}

SelfCheck Uniform(const Plan& plan, double step) {
  return {.name = "uniform scale",
          .expectation = "halving all work and all lags makes the step twice as fast",
          .figure = step / StepOf(Halved(plan, {.host = true, .gpu = true, .lags = true})),
          .unit = "x",
          .low = 2 * (1 - kReplayPct / 100),
          .high = 2 * (1 + kReplayPct / 100)};
}

/// The new step time is half of the work on its critical path, plus unchanged latencies and gaps.
/// It is at least half of the old step time, and at most that plus half of the new path's latencies
/// and gaps.
SelfCheck Work(const Job& job, double step) {
  Edit edit(job.graph(), job.corrected());
  EditedPlan edited = edit.Finish();
  edited.plan = Halved(job.corrected(), {.host = true, .gpu = true});
  const PlanExplanation path = ExplainPlan(job, "", edited);
  const double told = job.step_scale().Ms(job.corrected(), step);
  const double longest = told / 2 + std::max(0.0, path.waits_ms) / 2;
  return {.name = "all work halved",
          .expectation =
              "halving all work makes the step twice as fast, except for latencies and gaps on the "
              "critical path",
          .figure = told / path.step_ms,
          .unit = "x",
          .low = told / longest * (1 - kReplayPct / 100),
          .high = 2 * (1 + kReplayPct / 100)};
}

SelfCheck GpuBound(const Plan& plan, double step, const Busy& busy) {
  return {.name = "GPU bound",
          .expectation = "a GPU twice as fast saves at most half of the time that it is busy",
          .figure = step / StepOf(Halved(plan, {.gpu = true})),
          .unit = "x",
          .low = 1 - kReplayPct / 100,
          .high = step / (step - busy.any_ns / 2) * (1 + kReplayPct / 100)};
}

SelfCheck HostBound(const Plan& plan, double step, const Busy& busy) {
  return {.name = "host bound",
          .expectation =
              "with a host twice as fast, the step takes at least the time of the busiest stream",
          .figure = step / StepOf(Halved(plan, {.host = true})),
          .unit = "x",
          .low = 1 - kReplayPct / 100,
          .high = step / std::max(busy.stream_ns, step / 2) * (1 + kReplayPct / 100)};
}

/// Applies two scales to disjoint halves of the GPU tasks, in either order.
SelfCheck Commutation(const Job& job) {
  const auto scale = [&](Edit& edit, std::size_t parity, double factor) {
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (task % 2 == parity) edit.Scale(task, factor);
    }
  };
  Edit one(job.graph(), job.corrected()), other(job.graph(), job.corrected());
  scale(one, 0, 0.5);
  scale(one, 1, 0.3);
  scale(other, 1, 0.3);
  scale(other, 0, 0.5);
  return {.name = "commutation",
          .expectation = "two changes to different tasks give the same step in either order",
          .figure = 100 * std::abs(StepOf(one.Finish().plan) / StepOf(other.Finish().plan) - 1),
          .unit = "%",
          .high = 0};
}

SelfCheck RoundTrip(const Job& job, double step) {
  constexpr double kFactor = 3;
  Edit edit(job.graph(), job.corrected());
  for (const double factor : {kFactor, 1 / kFactor}) {
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (job.graph().tasks[task].kind == TaskKind::kReturn) continue;
      edit.Scale(task, factor);
      if (job.graph().tasks[task].kind == TaskKind::kCall) edit.ScaleWorkBefore(task, factor);
    }
  }
  return {.name = "round trip",
          .expectation = "scaling all times by 3 and then by 1/3 gives the same step",
          .figure = 100 * std::abs(StepOf(edit.Finish().plan) / step - 1),
          .unit = "%",
          .high = 1e-6};
}

}  // namespace

std::vector<SelfCheck> CheckSelf(const Job& job, double replay_error_pct) {
  const Plan& plan = job.corrected();
  const double step = StepOf(plan);
  const Busy busy = BusyTime(job, plan);
  std::vector<SelfCheck> checks;
  checks.push_back({.name = "identity",
                    .expectation = "the unchanged job replays as recorded",
                    .figure = replay_error_pct,
                    .unit = "%",
                    .low = -kIdentityPct,
                    .high = kIdentityPct});
  checks.push_back(Uniform(plan, step));
  checks.push_back(Work(job, step));
  checks.push_back(GpuBound(plan, step, busy));
  checks.push_back(HostBound(plan, step, busy));
  checks.push_back({.name = "monotonicity",
                    .expectation = "shortening a task makes no task of a step start or end later",
                    .figure = static_cast<double>(LaterThanBefore(
                        plan, plan.tasks(),
                        [](Plan& changed, std::size_t task) { changed.duration[task] = 0; })),
                    .unit = "",
                    .high = 0});
  checks.push_back({.name = "edge removal",
                    .expectation = "removing an edge makes no task of a step start or end later",
                    .figure = static_cast<double>(LaterThanBefore(
                        plan, plan.lag.size(),
                        [](Plan& changed, std::size_t edge) { changed.lag[edge] = kNoEdge; })),
                    .unit = "",
                    .high = 0});
  checks.push_back(Commutation(job));
  checks.push_back(RoundTrip(job, step));
  return checks;
}

}  // namespace headroom
