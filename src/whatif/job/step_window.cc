#include "whatif/job/step_window.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analysis/steps/step_time.h"
#include "analysis/steps/steps.h"
#include "store/slice.h"

namespace headroom {
namespace {

std::int64_t EventsIn(const TraceStore& store, const StepRow& step) {
  std::int64_t events = step.tasks;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange rows = HostEventsWithin(store, ThreadId(t), step.HostWork());
    events += rows.last - rows.first;
  }
  return events;
}

/// Returns a flag per step: true for typical steps. If there are five or more, excludes one step
/// whose host time without data loading is far longer than that of the others. An example is a
/// checkpoint after the step's GPU work: only the next step can take longer.
std::vector<bool> UsableSteps(const Steps& steps) {
  constexpr std::size_t kMin = 5;
  std::vector<bool> usable = UsualSteps(steps);
  if (!usable.empty() && steps.p50 && IsOutlier(steps.list.front().wall, *steps.p50) &&
      std::ranges::count(usable, true) > 1)
    usable.front() = false;  // Warm-up, or work from before the recording.
  std::vector<std::size_t> rows;
  for (std::size_t row = 0; row < usable.size(); ++row) {
    if (usable[row]) rows.push_back(row);
  }
  if (rows.size() < kMin) return usable;
  const auto host_of = [&](std::size_t row) {
    return steps.list[row].HostWork().length() - steps.list[row].loading;
  };
  std::vector<std::size_t> sorted = rows;
  std::ranges::sort(sorted, {}, host_of);
  const DurationNs median = host_of(sorted[sorted.size() / 2]);
  if (IsOutlier(host_of(sorted.back()), median) &&
      !IsOutlier(host_of(sorted[sorted.size() - 2]), median))
    usable[sorted.back()] = false;
  return usable;
}

/// Returns a window around the usable step nearest the median, as ChooseWindow() describes.
std::optional<StepWindow> WindowOf(const TraceStore& store, const Steps& steps,
                                   const std::vector<bool>& usable, std::int64_t max_events) {
  const std::vector<StepRow>& rows = steps.list;
  std::optional<std::size_t> at;
  const auto from_median = [&](std::size_t row) {
    return std::abs((rows[row].wall - *steps.p50).ns());
  };
  for (std::size_t row = 0; row < rows.size() && steps.p50; ++row) {
    if (usable[row] && (!at || from_median(row) < from_median(*at))) at = row;
  }
  if (!at) return std::nullopt;
  StepWindow window{.first = *at, .last = *at, .events = EventsIn(store, rows[*at])};
  const auto take = [&](std::size_t row) {
    if (!usable[row]) return false;
    const std::int64_t events = window.events + EventsIn(store, rows[row]);
    if (window.steps() > 1 && events > max_events) return false;
    window.events = events;
    return true;
  };
  bool before = true, after = true;
  while (before || after) {
    before =
        before && window.first > 0 && !rows[window.first].after_pause && take(window.first - 1);
    if (before) --window.first;
    after = after && window.last + 1 < rows.size() && !rows[window.last + 1].after_pause &&
            take(window.last + 1);
    if (after) ++window.last;
  }
  return window;
}

/// The same, without the first step if possible.
std::optional<StepWindow> LaterWindowOf(const TraceStore& store, const Steps& steps,
                                        std::vector<bool> usable, std::int64_t max_events) {
  if (!usable.empty() && usable.front()) {
    // The step time excludes the first step, because it began in the middle of earlier work.
    usable.front() = false;
    const std::optional<StepWindow> later = WindowOf(store, steps, usable, max_events);
    if (later && later->steps() > 1) return later;
    usable.front() = true;
  }
  return WindowOf(store, steps, usable, max_events);
}

}  // namespace

std::optional<StepWindow> ChooseWindow(const TraceStore& store, const Steps& steps) {
  return LaterWindowOf(store, steps, UsableSteps(steps), kMaxWindowEvents);
}

std::optional<StepWindow> LongestWholeRun(const Steps& steps) {
  const std::vector<bool> usable = UsableSteps(steps);
  std::optional<StepWindow> longest;
  std::size_t first = 0;
  for (std::size_t row = 0; row < steps.list.size(); ++row) {
    if (!usable[row]) {
      first = row + 1;
      continue;
    }
    if (steps.list[row].after_pause) first = row;
    const StepWindow run{.first = first, .last = row};
    if (!longest || run.steps() > longest->steps()) longest = run;
  }
  return longest;
}

std::optional<StepWindow> ReplayedRun(const TraceStore& store, const Steps& steps) {
  std::optional<StepWindow> run = LongestWholeRun(steps);
  if (!run || !steps.p50) return run;
  run->events = CountEvents(store, steps, *run);
  if (run->events <= kMaxRunEvents) return run;
  std::vector<bool> usable = UsableSteps(steps);
  for (std::size_t row = 0; row < usable.size(); ++row) {
    if (row < run->first || row > run->last) usable[row] = false;
  }
  return LaterWindowOf(store, steps, std::move(usable), kMaxPartEvents);
}

std::int64_t CountEvents(const TraceStore& store, const Steps& steps, const StepWindow& window) {
  std::int64_t events = 0;
  for (std::size_t row = window.first; row <= window.last; ++row)
    events += EventsIn(store, steps.list[row]);
  return events;
}

Result<WindowJob> MakeWindowJob(const TraceStore& store, const ReferenceData& reference,
                                const Steps& steps, const StepWindow& window,
                                const Calibration& calibration) {
  AnalysisOptions options;
  options.process_of_steps = steps.process;
  Interval host = steps.list[window.first].HostWork();
  TimeNs gpu_end = host.end;
  for (std::size_t row = window.first; row <= window.last; ++row) {
    const StepRow& step = steps.list[row];
    options.known_steps.push_back({step.index, step.HostWork()});
    host.end = std::max(host.end, step.on_host.end);
    gpu_end = std::max({gpu_end, host.end, step.start + step.wall});
  }
  WindowJob made;
  made.slice = Slice(store, host, gpu_end);
  Result<std::unique_ptr<Job>> job = Job::Make(*made.slice, reference, options, calibration);
  if (!job.ok()) return job.status();
  made.job = std::move(job).value();
  made.job->SetStepTime(steps);
  return made;
}

}  // namespace headroom
