#include "export/step_window.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headroom {

StepWindow WindowOfSteps(const StepAnalysis& found, std::int64_t first, std::int64_t last) {
  const std::vector<StepRow>& steps = found.steps.list;
  const std::vector<Interval>& hosts = found.hosts;
  StepWindow window;
  window.marked = found.steps.source == StepSource::kAnnotation;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].index < first || steps[i].index > last) continue;
    const Interval& begins = hosts[i == 0 ? 0 : i - 1];
    if (!window.time) {
      window.time = Interval{begins.start, hosts[i].end};
      if (i > 0) window.step_before = steps[i - 1].index;
    }
    window.time->end = std::max(window.time->end, hosts[i].end);
    ++window.steps;
  }
  // Where no range lasts as long as its step, the next one's beginning tells where the last ends.
  if (window.time && !window.marked) window.time->end = window.time->end + DurationNs(1);
  return window;
}

}  // namespace headroom
