#include "scale/loop_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "analysis/names/feeders.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/health.h"
#include "base/interval_set.h"
#include "network/collectives.h"
#include "scale/step_deviation.h"
#include "sim/edit.h"
#include "store/args_text.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {
namespace {

/// Category of instants at which a parameter's gradient is ready (docs/recording.md).
constexpr std::string_view kGradientCategory = "gradient";

struct ReadyGradient {
  TimeNs time;
  double bytes;
};

/// Largest plausible gradient, in bytes. A larger one means that the record is damaged.
constexpr double kMaxBytes = 1e13;

/// Returns the gradients in order of time.
std::vector<ReadyGradient> FindReadyGradients(const TraceStore& store) {
  std::vector<ReadyGradient> found;
  const auto& instants = store.instants;
  for (std::size_t row = 0; row < instants.rows(); ++row) {
    if (store.Text(instants.category[row]) != kGradientCategory) continue;
    const std::string_view text = FindMember(store.Text(instants.args[row]), "bytes");
    double bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (bytes > 0 && bytes <= kMaxBytes) found.push_back({instants.time[row], bytes});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  return found;
}

/// Returns the ranges of a role in order of start, except those on `but_threads`.
std::vector<Interval> RangesOf(const TraceStore& store, NameFacts& names, HostRole role,
                               const std::vector<bool>& but_threads) {
  std::vector<Interval> ranges;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (names.Roles(events.name[row]).Has(role) && !but_threads[events.thread[row].index()])
      ranges.push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Interval& a, const Interval& b) {
    return std::tuple(a.start, a.end) < std::tuple(b.start, b.end);
  });
  return ranges;
}

/// Returns the latest end of the ranges that begin in an interval, clipped to the interval's end.
/// Returns `otherwise` if that is later or no range begins there.
TimeNs LastEnd(const std::vector<Interval>& ranges, Interval within, TimeNs otherwise) {
  auto range =
      std::lower_bound(ranges.begin(), ranges.end(), within.start,
                       [](const Interval& other, TimeNs time) { return other.start < time; });
  TimeNs end = otherwise;
  for (; range != ranges.end() && range->start < within.end; ++range)
    end = std::max(end, std::min(range->end, within.end));
  return end;
}

}  // namespace

Result<std::unique_ptr<LoopJob>> LoopJob::Make(const TraceStore& store,
                                               const ReferenceData& reference,
                                               const AnalysisOptions& options,
                                               const GradientTransfer& transfer) {
  if (store.gpu_tasks.rows() > 0)
    return Status::NoAnswer("work ran on a GPU, so the loop's times do not determine the step");
  const std::vector<ReadyGradient> gradients = FindReadyGradients(store);
  if (gradients.empty()) {
    const std::string damage = DamageOf(store);
    const std::string what =
        "neither GPU work nor the times at which gradients are ready were recorded";
    return Status::NoAnswer(damage.empty()
                                ? what +
                                      "; record with `headroom record` and "
                                      "headroom.torch.profile_loop(loader, model, optimizer)"
                                : fmt::format("{}. In the remaining data, {}", damage, what));
  }
  NameFacts names(store, reference);
  const Result<StepAnalysis> steps = AnalyzeSteps(store, names, options);
  if (!steps.ok()) return steps.status();
  const std::vector<Interval>& hosts = steps.value().hosts;
  const std::vector<bool> feeders = FindFeeders(store, names);
  const std::vector<Interval> backward = RangesOf(store, names, HostRole::kBackward, feeders);
  const IntervalSet waiting =
      IntervalSet::UnionOf(RangesOf(store, names, HostRole::kDataWait, feeders));
  std::vector<ChainStep> work_of_steps;
  std::vector<double> walls;
  DurationNs waits{};
  // Skips the first step, which warms up.
  for (std::size_t row = hosts.size() > 1 ? 1 : 0; row < hosts.size(); ++row) {
    const Interval step = {hosts[row].start,
                           row + 1 < hosts.size() ? hosts[row + 1].start : hosts[row].end};
    const auto first =
        std::lower_bound(gradients.begin(), gradients.end(), step.start,
                         [](const ReadyGradient& g, TimeNs time) { return g.time < time; });
    const auto last =
        std::lower_bound(first, gradients.end(), step.end,
                         [](const ReadyGradient& g, TimeNs time) { return g.time < time; });
    if (first == last) continue;
    const TimeNs backward_end = LastEnd(backward, step, std::prev(last)->time);
    waits += waiting.MeasureWithin(step);
    ChainStep work;
    TimeNs at = step.start;
    for (auto gradient = first; gradient != last; ++gradient) {
      work.gradients.push_back(
          {.work = gradient->time - at, .bytes = gradient->bytes, .copy = DurationNs(0)});
      at = gradient->time;
    }
    work.rest_of_backward = backward_end - at;
    work.rest = step.end - backward_end;
    work_of_steps.push_back(std::move(work));
    walls.push_back(static_cast<double>((step.end - step.start).ns()));
  }
  if (walls.empty()) return Status::NoAnswer("no gradient became ready within a step");
  double sum = 0;
  for (const double wall : walls) sum += wall;
  std::unique_ptr<LoopJob> job(new LoopJob(WorkChain(work_of_steps), walls.size()));
  job->transfer_ = transfer;
  job->loader_share_ = static_cast<double>(waits.ns()) / sum;
  job->deviation_ = StepDeviation(std::move(walls));
  return job;
}

double LoopJob::StepError() const {
  // Typical relative deviation of step times on a quiet host, used if there are too few steps to
  // measure it.
  constexpr double kUsualDeviation = 0.05;
  constexpr double kMax = 0.5;
  return std::min(kMax,
                  deviation_.value_or(kUsualDeviation) / std::sqrt(static_cast<double>(steps_)));
}

ScaledStep LoopJob::OnOneGpu() { return On(Topology(), Placement(), std::nullopt); }

ScaledStep LoopJob::On(const Topology& topology, const Placement& placement,
                       std::optional<std::int64_t> samples) {
  ScaledStep step;
  if (samples) {
    step.no_answer = "the recording does not show how a step's work grows with its samples";
    return step;
  }
  const double error = StepError();
  step = chain_.On(topology, placement, transfer_, 1 - error, 1 + error);
  step.limits.host_ms = chain_.Replay(topology, Placement(), transfer_).step_ms;
  step.why = fmt::format("{:.1f} MB of gradients per step, computed on the CPU",
                         chain_.GradientBytes() / 1e6);
  return step;
}

}  // namespace headroom
