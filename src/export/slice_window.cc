#include "export/slice_window.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace headroom {

std::optional<SliceWindow> WindowOfSteps(const StepAnalysis& found, std::int64_t first,
                                         std::int64_t last) {
  const std::vector<StepRow>& steps = found.steps.list;
  const std::vector<Interval>& hosts = found.hosts;
  const bool marked = found.steps.source == StepSource::kAnnotation;
  std::optional<SliceWindow> window;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].index < first || steps[i].index > last) continue;
    if (!window) {
      const Interval& begins = hosts[i == 0 ? 0 : i - 1];
      window = SliceWindow{.time = {begins.start, hosts[i].end}, .marked = marked};
      if (i > 0) window->step_before = steps[i - 1].index;
    }
    window->time.end = std::max(window->time.end, hosts[i].end);
    ++window->steps;
  }
  // Inferred steps have no ranges. The start of the next step marks the end of the last one.
  if (window && !marked) window->time.end = window->time.end + DurationNs(1);
  return window;
}

}  // namespace headroom
