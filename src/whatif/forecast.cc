#include "whatif/forecast.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "analysis/verdict/remedies.h"
#include "whatif/graph_uncertainty.h"
#include "whatif/memory/memory_room.h"

namespace headroom {
namespace {

/// Factors on the times of a plan.
struct Factors {
  double host = 1;       ///< Work and calls.
  double gpu = 1;        ///< GPU tasks as recorded.
  double changed = 1;    ///< GPU tasks that the scenario changes.
  double transfers = 1;  ///< Transfers that the scenario puts on channels.
};

Plan Stretched(const Plan& plan, const Factors& factors, const std::vector<bool>& changed = {}) {
  Plan out = plan;
  const PlanShape& shape = *plan.shape;
  for (std::size_t task = 0; task < out.tasks(); ++task) {
    const bool is_gpu = shape.gpu[task] != 0;
    const bool on_channel = !shape.channel.empty() && shape.channel[task] != kNoChannel;
    const double factor = on_channel                               ? factors.transfers
                          : !is_gpu                                ? factors.host
                          : task < changed.size() && changed[task] ? factors.changed
                                                                   : factors.gpu;
    out.duration[task] = std::llround(static_cast<double>(out.duration[task]) * factor);
    // The first edge of a host task is the work before it.
    const std::uint32_t track = shape.edge_begin[task];
    if (!is_gpu && track < shape.edge_begin[task + 1])
      out.lag[track] = std::llround(static_cast<double>(out.lag[track]) * factor);
  }
  return out;
}

constexpr const char* kWaitsForItself =
    "together, these changes make a task wait for itself; forecast them separately";

constexpr std::string_view kBatchSizeName = "batch-size";

constexpr Factors kFreeGpu = {.host = 1, .gpu = 0, .changed = 0};
constexpr Factors kFreeHost = {.host = 0, .gpu = 1, .changed = 1};

/// Sets the duration of every task on a channel to 0.
Plan WithoutTransfers(const Plan& plan) {
  Plan out = plan;
  if (plan.shape->channels.empty()) return out;
  for (std::size_t task = 0; task < out.tasks(); ++task) {
    if (plan.shape->channel[task] != kNoChannel) out.duration[task] = 0;
  }
  return out;
}

/// Returns the time of all tasks on channels, in ms per step.
double TransfersOf(const Plan& plan) {
  double ms = 0;
  for (std::size_t task = 0; task < plan.tasks(); ++task) {
    if (plan.shape->channel[task] != kNoChannel)
      ms += static_cast<double>(plan.duration[task]) / 1e6;
  }
  return ms / plan.shape->steps;
}

/// Returns how far the launch queue filled or drained, in ns. In each step, the GPU ends some time
/// after the host. The result is the longest of these times minus the shortest.
double QueueRangeNs(const Graph& graph) {
  struct Ends {
    TimeNs host{INT64_MIN}, gpu{INT64_MIN};
  };
  std::vector<Ends> steps(static_cast<std::size_t>(graph.steps));
  for (const Task& task : graph.tasks) {
    if (task.step < 0 || task.step >= graph.steps) continue;
    Ends& ends = steps[static_cast<std::size_t>(task.step)];
    TimeNs& end = task.kind == TaskKind::kGpu ? ends.gpu : ends.host;
    end = std::max(end, task.start + task.duration);
  }
  double shortest = INFINITY, longest = -INFINITY;
  for (const Ends& ends : steps) {
    if (ends.host == TimeNs(INT64_MIN) || ends.gpu == TimeNs(INT64_MIN)) continue;
    const auto behind = static_cast<double>((ends.gpu - ends.host).ns());
    shortest = std::min(shortest, behind);
    longest = std::max(longest, behind);
  }
  return std::max(longest - shortest, 0.0);
}

/// Returns the relative error of one replay of the recorded steps, without the first step. Tasks
/// that wait for earlier steps start at their recorded time. REQUIRES: at least two steps.
double ErrorOfOnePass(const Job& job, Replayer& replayer) {
  const Graph& graph = job.graph();
  TimeNs begin(INT64_MAX);
  for (const Task& task : graph.tasks) begin = std::min(begin, task.start);
  std::vector<std::int64_t> not_before(graph.tasks.size());
  for (std::size_t task = 0; task < graph.tasks.size(); ++task) {
    // A thread's first call starts at its recorded time, even in a later step. A stream's first
    // task in a later step follows its launch.
    if (graph.tasks[task].step > 0 && graph.tasks[task].kind == TaskKind::kGpu) continue;
    for (std::uint32_t e = graph.edge_begin[task]; e < graph.edge_begin[task + 1]; ++e) {
      if (graph.edges[e].cycles_back > 0 && graph.edges[e].kind != EdgeKind::kQueue)
        not_before[task] = (graph.tasks[task].start - begin).ns();
    }
  }
  const std::span<const std::int64_t> moments = replayer.RunOnce(job.recorded(), not_before);
  // Ends of the GPU work in the first step and in all steps.
  std::int64_t first = 0, last = 0, recorded_first = 0, recorded_last = 0;
  for (std::size_t i = 0; i < graph.tasks.size(); ++i) {
    const Task& task = graph.tasks[i];
    if (task.kind != TaskKind::kGpu) continue;
    const std::int64_t end = moments[2 * i + 1];
    const std::int64_t recorded = (task.start + task.duration - begin).ns();
    if (task.step == 0) {
      first = std::max(first, end);
      recorded_first = std::max(recorded_first, recorded);
    }
    last = std::max(last, end);
    recorded_last = std::max(recorded_last, recorded);
  }
  return static_cast<double>(last - first) /
             static_cast<double>(std::max<std::int64_t>(recorded_last - recorded_first, 1)) -
         1;
}

/// A smaller share of the step counts as no gain, in the summary too.
constexpr double kNothing = 0.01;

}  // namespace

ReplayError MeasureReplay(const Job& job, Replayer& replayer) {
  // Excludes the first step, as the recorded mean does, because it began in the middle of earlier
  // work.
  const Replayed replayed = replayer.Run(job.recorded());
  const std::vector<double>& walls = replayed.step_walls_ns;
  const std::size_t first = walls.size() > 1 ? 1 : 0;
  double sum = 0;
  for (std::size_t i = first; i < walls.size(); ++i) sum += walls[i];
  const double replay_ns =
      walls.empty() ? replayed.step_ns : sum / static_cast<double>(walls.size() - first);
  const auto recorded_ns = static_cast<double>(job.graph().recorded_step.ns());
  const ReplayError steady = {.error = replay_ns / recorded_ns - 1};
  if (steady.Holds() || walls.size() < 2) return steady;
  // While the launch queue fills or drains, steps differ from the steady state, but by no more than
  // the queue's range. One pass then shows if the graph is right.
  const double off_ns = std::abs(steady.error) * recorded_ns * (job.graph().steps - 1);
  if (off_ns > QueueRangeNs(job.graph())) return steady;
  const ReplayError pass = {.error = ErrorOfOnePass(job, replayer), .of_queue = steady.error};
  return pass.Holds() ? pass : steady;
}

Forecaster::Forecaster(const Job& job)
    : job_(job), memory_(job), uncertainty_{.host = job.host_error(), .steps = job.step_error()} {
  baseline_.traced_step_ms = job.step_time().value_or(job.graph().recorded_step).ms();
  if (const std::optional<DurationNs> p50 = job.steps().steps.p50)
    baseline_.marked_step_ms = p50->ms();
  if (job.steps().steps.source == StepSource::kNone) {
    baseline_.steps_note =
        "nothing marks the steps of this trace, so the whole recording counts as one step, "
        "including start-up and first-iteration work; " +
        HowToTellSteps(job.store().metadata.recorded_as());
  }
  baseline_.has_gpu_work = job.HasGpuWork();
  if (!baseline_.has_gpu_work) {
    baseline_.AlsoNote(fmt::format(
        "the recording has no GPU work, so the job counts as one on the CPU; if it uses a GPU, "
        "record it: {}",
        RemedyOf(ImportIssue::kNoGpu, job.store().metadata.recorded_as())));
  }
  const ReplayError replayed = MeasureReplay(job, replayer_);
  baseline_.replay_error_pct = 100 * replayed.error;
  const double of_recording = uncertainty_.steps;
  uncertainty_.steps = std::hypot(of_recording, replayed.of_queue);
  baseline_.replay_step_ms = baseline_.traced_step_ms * (1 + replayed.error);
  baseline_.corrected =
      job.corrected_step_ms() ? *job.corrected_step_ms() : IntervalOf(job.corrected(), {}, 0, 0);
  const EditedPlan unchanged = Edit(job.graph(), job.corrected()).Finish();
  inferred_ms_ = baseline_.corrected.mid - StepOf(WithoutInferredWaits(job.graph(), unchanged));
  // A wait whose record is missing belongs to neither limit.
  const Plan limits = WithoutUnrecordedWaits(job.graph(), job.corrected());
  baseline_.host_limit_ms = StepOf(Stretched(limits, kFreeGpu));
  baseline_.gpu_limit_ms = StepOf(Stretched(limits, kFreeHost));
  const double host = uncertainty_.host, gpu = uncertainty_.gpu;
  fast_ms_ = StepOf(Stretched(job.corrected(), {1 - host, 1 - gpu, 1 - gpu}));
  slow_ms_ = StepOf(Stretched(job.corrected(), {1 + host, 1 + gpu, 1 + gpu}));
  // Without the profiler, the GPU has the same work, but its clock may differ: by up to 2.5 % in
  // measurements on an H200. The interval allows twice that.
  constexpr double kClock = 0.05;
  const double least = std::min(baseline_.gpu_limit_ms * (1 - kClock), baseline_.corrected.mid);
  baseline_.corrected.low = std::max(baseline_.corrected.low, least);
  // The replayed steps deviate from the mean step. This adds uncertainty to a change, but not to
  // the unchanged step.
  const double factor = job.step_scale().factor();
  const double of_scale = 1 - std::min(factor, 1 / factor);
  uncertainty_.steps = std::hypot(of_recording, std::max(std::abs(replayed.of_queue), of_scale));
}

double Forecaster::StepOf(const Plan& plan) {
  return job_.step_scale().Ms(plan, replayer_.Run(plan).step_ns);
}

StepInterval Forecaster::IntervalOf(const Plan& plan, const std::vector<bool>& changed,
                                    double changed_error, double transfer_error) {
  const double error = std::max(uncertainty_.gpu, changed_error);
  const double transfers = std::max(error, transfer_error);
  const Factors low = {1 - uncertainty_.host, 1 - uncertainty_.gpu, 1 - error, 1 - transfers};
  const Factors high = {1 + uncertainty_.host, 1 + uncertainty_.gpu, 1 + error, 1 + transfers};
  StepInterval step;
  step.mid = StepOf(plan);
  step.low = std::min(step.mid, StepOf(Stretched(plan, low, changed)));
  step.high = std::max(step.mid, StepOf(Stretched(plan, high, changed)));
  const double spread = uncertainty_.steps * step.mid;
  step.low = std::max(0.0, step.mid - std::hypot(step.mid - step.low, spread));
  step.high = step.mid + std::hypot(step.high - step.mid, spread);
  return step;
}

void Forecaster::WidenByGraphUncertainty(const EditedPlan& edited, StepInterval& step) {
  const double pace = baseline_.corrected.mid > 0 ? step.mid / baseline_.corrected.mid : 1;
  const double without = StepOf(WithoutInferredWaits(job_.graph(), edited)) + inferred_ms_ * pace;
  // The replay of the recording confirms most inferred waits, so the interval includes only half of
  // their effect.
  const double inferred = (step.mid + without) / 2;
  const double late = StepOf(WithLateStarts(job_.graph(), edited, pace));
  step.low = std::min({step.low, inferred, late});
  step.high = std::max({step.high, inferred, late});
}

std::string Forecaster::WhyNone() const {
  if (baseline_.ReplayHolds()) return {};
  return fmt::format(
      "the replay of the unchanged job is off by {:+.1f} %, so the graph lacks something that "
      "limits its step; a forecast would have the same error",
      baseline_.replay_error_pct);
}

MsInterval Forecaster::SavesOf(const EditedPlan& edited, double changed_error) {
  const double host = uncertainty_.host, gpu = uncertainty_.gpu;
  const double step = StepOf(edited.plan);
  MsInterval saves;
  saves.mid = baseline_.corrected.mid - step;
  // The variation between steps is the same before and after the edit.
  const double fast = fast_ms_ - StepOf(Stretched(edited.plan, {1 - host, 1 - gpu, 1 - gpu}));
  const double slow = slow_ms_ - StepOf(Stretched(edited.plan, {1 + host, 1 + gpu, 1 + gpu}));
  double less = saves.mid - std::min({saves.mid, fast, slow});
  double more = std::max({saves.mid, fast, slow}) - saves.mid;
  if (changed_error > 0) {
    const auto changed_by = [&](double factor) {
      return StepOf(Stretched(edited.plan, {1, 1, factor}, edited.changed));
    };
    less = std::hypot(less, std::max(0.0, changed_by(1 + changed_error) - step));
    more = std::hypot(more, std::max(0.0, step - changed_by(1 - changed_error)));
  }
  saves.low = saves.mid - less;
  saves.high = saves.mid + more;
  return saves;
}

Forecast Forecaster::Run(std::string name, const std::vector<ScenarioCall>& calls) {
  Forecast forecast = Run(std::move(name), ChangeOf(calls));
  if (forecast.applies) forecast.batch_curve = CurveOf(calls);
  return forecast;
}

std::optional<double> Forecaster::StepMsWith(const Change& change) {
  const Attempt attempt = Try(change);
  if (!attempt.effect.applies) return std::nullopt;
  return StepOf(attempt);
}

double Forecaster::StepOf(const Attempt& attempt) {
  const double last = StepOf(attempt.edited.plan);
  if (!attempt.before_last) return last;
  return last + (attempt.effect.micro_batches - 1) * StepOf(attempt.before_last->plan);
}

Forecast Forecaster::Run(std::string name, const Change& change) {
  Forecast forecast;
  forecast.name = std::move(name);
  forecast.why = WhyNone();
  if (!forecast.why.empty()) {
    forecast.applies = false;
    return forecast;
  }
  Attempt attempt = Try(change);
  const Effect& effect = attempt.effect;
  forecast.why = effect.why;
  if (!effect.applies) {
    forecast.applies = false;
    forecast.abstention = effect.abstention;
    return forecast;
  }
  forecast.validated = effect.validated;
  if (attempt.memory) forecast.memory_delta_bytes = attempt.memory->bytes;
  forecast.changed = attempt.changed;
  forecast.work = effect.work;
  forecast.samples = effect.work / effect.sample_work;
  edited_ = std::move(attempt.edited);
  forecast.step_ms =
      IntervalOf(edited_.plan, edited_.changed, effect.gpu_error, effect.transfer_error);
  WidenByGraphUncertainty(edited_, forecast.step_ms);
  if (effect.change_error > 0 || effect.step_error > 0) {
    StepInterval& step = forecast.step_ms;
    const double spread =
        std::hypot(effect.change_error * std::abs(step.mid - baseline_.corrected.mid),
                   effect.step_error * step.mid);
    step.low = std::max(0.0, step.mid - std::hypot(step.mid - step.low, spread));
    step.high = step.mid + std::hypot(step.high - step.mid, spread);
  }
  forecast.limits = LimitsOf(edited_.plan, forecast.step_ms.mid);
  if (attempt.before_last)
    AddMicroBatches(*attempt.before_last, effect.micro_batches - 1, effect, forecast);
  forecast.is_upper_bound = effect.is_upper_bound;
  forecast.at_best = effect.takes_host_work && job_.steps().steps.source == StepSource::kNone;
  if (forecast.at_best) {
    forecast.step_ms.high = std::max(forecast.step_ms.high, baseline_.corrected.high);
    forecast.validated = Validity::kNo;
  }
  forecast.speedup = forecast.step_ms.mid > 0 ? baseline_.corrected.mid / forecast.step_ms.mid : 0;
  forecast.saves_ms = baseline_.corrected.mid - forecast.step_ms.mid;
  if (effect.work != 1 && forecast.step_ms.mid > 0) {
    forecast.why += fmt::format("; {:.3g} times the work per step and {:.2f} times the throughput",
                                effect.work, effect.work * forecast.speedup);
  }
  const std::string limit = Explain(forecast, effect.work);
  const auto also = [&](const std::string& reason) {
    if (!reason.empty()) forecast.why += (forecast.why.empty() ? "" : "; ") + reason;
  };
  also(limit);
  if (forecast.at_best) {
    also(
        "nothing marks the steps, so the forecast also removes the host work of start-up, which a "
        "real change would not: the real gain depends on how much start-up there is");
  }
  if (attempt.memory && attempt.memory->bytes > 0) also(WhyNoRoom(job_, *attempt.memory));
  if (attempt.memory && attempt.memory->workspace_uncertain) {
    also(fmt::format(kWorkspaceDoubt, "this"));
  }
  return forecast;
}

void Forecaster::AddMicroBatches(const EditedPlan& each, double batches, const Effect& effect,
                                 Forecast& forecast) {
  StepInterval step = IntervalOf(each.plan, each.changed, effect.gpu_error, effect.transfer_error);
  WidenByGraphUncertainty(each, step);
  const StepLimits limits = LimitsOf(each.plan, step.mid);
  forecast.step_ms.mid += batches * step.mid;
  forecast.step_ms.low += batches * step.low;
  forecast.step_ms.high += batches * step.high;
  forecast.limits.host_ms += batches * limits.host_ms;
  forecast.limits.gpu_ms += batches * limits.gpu_ms;
  forecast.limits.exposed_ms += batches * limits.exposed_ms;
  forecast.limits.transfers_ms += batches * limits.transfers_ms;
}

Change Forecaster::ChangeOf(const std::vector<ScenarioCall>& calls) const {
  return [this, &calls](Edit& edit) { return ApplyAll(job_, calls, edit); };
}

Forecaster::Attempt Forecaster::Try(const Change& change) {
  Edit edit(job_.graph(), job_.corrected());
  Attempt attempt;
  attempt.effect = change(edit);
  if (!attempt.effect.applies) return attempt;
  std::optional<EditedPlan> edited = edit.TryFinish();
  if (!edited) {
    attempt.effect = Effect::Abstain(kWaitsForItself);
    return attempt;
  }
  attempt.edited = std::move(*edited);
  attempt.changed = edit.counts();
  if (attempt.effect.micro_batches > 1) {
    Edit other(job_.graph(), job_.corrected());
    change(other);
    attempt.effect.without_update(other);
    attempt.before_last = other.TryFinish();
    attempt.changed = other.counts();
    if (!attempt.before_last) {
      attempt.effect = Effect::Abstain(kWaitsForItself);
      return attempt;
    }
  }
  if (attempt.effect.memory_delta_bytes) {
    attempt.memory = memory_.Of(*attempt.effect.memory_delta_bytes, attempt.effect.memory_change);
  }
  return attempt;
}

std::optional<BatchPoint> Forecaster::PointOf(std::vector<ScenarioCall> calls, double recorded,
                                              std::int64_t samples) {
  for (ScenarioCall& call : calls) {
    if (call.scenario->name == kBatchSizeName) call.arguments.Set("n", std::to_string(samples));
  }
  const Attempt attempt = Try(ChangeOf(calls));
  if (!attempt.effect.applies) return std::nullopt;
  BatchPoint point{.samples = samples,
                   .step_ms = StepOf(attempt),
                   .samples_per_s = 0,
                   .memory_delta_bytes = std::nullopt,
                   .too_large = false};
  if (point.step_ms > 0)
    point.samples_per_s =
        1e3 * recorded * attempt.effect.work / attempt.effect.sample_work / point.step_ms;
  if (attempt.memory) {
    point.memory_delta_bytes = attempt.memory->bytes;
    point.too_large = !WhyNoRoom(job_, *attempt.memory).empty();
  }
  return point;
}

std::optional<BatchCurve> Forecaster::CurveOf(const std::vector<ScenarioCall>& calls) {
  const auto batch = std::find_if(calls.begin(), calls.end(), [](const ScenarioCall& call) {
    return call.scenario->name == kBatchSizeName;
  });
  const std::optional<std::int64_t> recorded = SamplesPerStep(job_);
  if (batch == calls.end() || !recorded || *recorded <= 0) return std::nullopt;
  BatchCurve curve{.recorded = *recorded, .points = {}, .knee = {}};
  const auto asked = static_cast<std::int64_t>(batch->arguments.Number("n"));
  for (const std::int64_t samples : BatchSizesOfCurve(*recorded, asked)) {
    std::optional<BatchPoint> point = PointOf(calls, static_cast<double>(*recorded), samples);
    if (!point) return std::nullopt;
    curve.points.push_back(*point);
  }
  curve.knee = FindKnee(curve.points);
  return curve;
}

Ranking Forecaster::Rank(const IsWanted& is_wanted) {
  Ranking ranking;
  for (const Scenario& scenario : Catalogue()) {
    if (!is_wanted()) break;
    if (scenario.by_name_only) continue;
    ScenarioCall call{.scenario = &scenario, .arguments = {}};
    bool needs_value = false;
    for (const ScenarioKey& key : scenario.keys) {
      needs_value |= key.otherwise.empty();
      call.arguments.Set(key.name, std::string(key.otherwise));
    }
    if (needs_value) continue;
    Forecast forecast = Run(std::string(scenario.name), {call});
    (forecast.applies ? ranking.applying : ranking.abstaining).push_back(std::move(forecast));
  }
  // A CUDA graph cannot capture a step with blocking calls. Without these calls, it may.
  constexpr std::string_view kTogether = "remove-syncs+cuda-graph";
  const auto has = [](const std::vector<Forecast>& forecasts, std::string_view name) {
    return std::ranges::find(forecasts, name, &Forecast::name) != forecasts.end();
  };
  if (is_wanted() && has(ranking.abstaining, "cuda-graph") &&
      has(ranking.applying, "remove-syncs")) {
    Forecast together = Run(std::string(kTogether), ParseScenario(kTogether).value());
    if (together.applies) ranking.applying.push_back(std::move(together));
  }
  // Changes whose gain is only a best case come last.
  std::stable_sort(ranking.applying.begin(), ranking.applying.end(),
                   [](const Forecast& a, const Forecast& b) {
                     return a.at_best != b.at_best ? b.at_best : a.saves_ms > b.saves_ms;
                   });
  return ranking;
}

StepLimits Forecaster::LimitsOf(const Plan& plan, double step_ms) {
  const Plan alone = WithoutTransfers(plan);
  StepLimits limits = {.host_ms = StepOf(Stretched(alone, kFreeGpu)),
                       .gpu_ms = StepOf(Stretched(alone, kFreeHost)),
                       .exposed_ms = 0,
                       .transfers_ms = 0};
  if (plan.shape->channels.empty()) return limits;
  limits.exposed_ms = std::max(0.0, step_ms - StepOf(alone));
  limits.transfers_ms = job_.step_scale().factor() * TransfersOf(plan);
  return limits;
}

std::string Forecaster::Explain(const Forecast& forecast, double work) const {
  const double host = forecast.limits.host_ms, gpu = forecast.limits.gpu_ms;
  // More work in the same time is a gain.
  const bool nothing =
      work == 1 && std::abs(forecast.saves_ms) < kNothing * baseline_.corrected.mid;
  std::string text = nothing ? "no gain: " : work == 1 && forecast.saves_ms < 0 ? "slower: " : "";
  if (!baseline_.has_gpu_work) return text + fmt::format("the step then takes {:.1f} ms", host);
  text +=
      host > gpu
          ? fmt::format(
                "the host then needs {:.1f} ms per step to launch the work, the GPU {:.1f} ms",
                host, gpu)
          : fmt::format("the GPU then needs {:.1f} ms per step for its work, the host {:.1f} ms",
                        gpu, host);
  if (forecast.limits.transfers_ms <= 0) return text;
  return text +
         fmt::format("; {:.1f} ms of the step wait for transfers, which take {:.1f} ms in total",
                     forecast.limits.exposed_ms, forecast.limits.transfers_ms);
}

}  // namespace headroom
