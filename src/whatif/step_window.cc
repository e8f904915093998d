#include "whatif/step_window.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/steps.h"
#include "analysis/steps/step_time.h"
#include "store/slice.h"

namespace headroom {
namespace {

std::int64_t EventsIn(const TraceStore& store, const StepRow& step) {
  std::int64_t events = step.tasks;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange rows = HostEventsWithin(store, ThreadId(t), step.on_host);
    events += rows.last - rows.first;
  }
  return events;
}

std::vector<bool> PausesOf(const Steps& steps) {
  std::vector<Interval> hosts;
  hosts.reserve(steps.list.size());
  for (const StepRow& row : steps.list) hosts.push_back(row.on_host);
  return FindPauses(hosts);
}

}  // namespace

std::optional<StepWindow> ChooseWindow(const TraceStore& store, const Steps& steps) {
  const std::vector<StepRow>& rows = steps.list;
  const auto median = std::find_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.Counts() && row.wall == steps.p50;
  });
  if (median == rows.end()) return std::nullopt;
  const auto at = static_cast<std::size_t>(median - rows.begin());
  const std::vector<bool> usable = UsualSteps(steps), pauses = PausesOf(steps);
  StepWindow window{.first = at, .last = at, .events = EventsIn(store, *median)};
  const auto take = [&](std::size_t row) {
    if (!usable[row]) return false;
    const std::int64_t events = window.events + EventsIn(store, rows[row]);
    if (window.steps() > 1 && events > kMostWindowEvents) return false;
    window.events = events;
    return true;
  };
  bool before = true, after = true;
  while (before || after) {
    before = before && window.first > 0 && !pauses[window.first] && take(window.first - 1);
    if (before) --window.first;
    after =
        after && window.last + 1 < rows.size() && !pauses[window.last + 1] && take(window.last + 1);
    if (after) ++window.last;
  }
  return window;
}

std::optional<StepWindow> LongestWholeRun(const Steps& steps) {
  const std::vector<bool> usable = UsualSteps(steps), pauses = PausesOf(steps);
  std::optional<StepWindow> longest;
  std::size_t first = 0;
  for (std::size_t row = 0; row < steps.list.size(); ++row) {
    if (!usable[row]) {
      first = row + 1;
      continue;
    }
    if (pauses[row]) first = row;
    const StepWindow run{.first = first, .last = row};
    if (!longest || run.steps() > longest->steps()) longest = run;
  }
  return longest;
}

Result<WindowJob> MakeWindowJob(const TraceStore& store, const Knowledge& knowledge,
                                const Steps& steps, const StepWindow& window,
                                const Calibration& calibration) {
  AnalysisOptions options;
  options.process_of_steps = steps.process;
  Interval host = steps.list[window.first].on_host;
  TimeNs gpu_end = host.end;
  for (std::size_t row = window.first; row <= window.last; ++row) {
    const StepRow& step = steps.list[row];
    options.known_steps.push_back({step.index, step.on_host});
    host.end = std::max(host.end, step.on_host.end);
    gpu_end = std::max({gpu_end, host.end, step.start + step.wall});
  }
  WindowJob made;
  made.slice = Slice(store, host, gpu_end);
  Result<std::unique_ptr<Job>> job = Job::Make(*made.slice, knowledge, options, calibration);
  if (!job.ok()) return job.status();
  made.job = std::move(job).value();
  if (steps.step_time) made.job->SetStepTime(*steps.step_time);
  return made;
}

}  // namespace headroom
