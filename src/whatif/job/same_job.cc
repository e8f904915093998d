#include "whatif/job/same_job.h"

#include <algorithm>
#include <vector>

#include "whatif/job/gradients.h"

namespace headroom {

std::optional<std::int64_t> GradientsAStep(const Job& job) {
  const auto& events = job.store().host_events;
  const StringId name = job.store().strings.Find(kAccumulateGrad);
  if (!name.valid()) return std::nullopt;
  const std::vector<StepRow>& steps = job.steps().steps.list;
  std::vector<std::int64_t> counts(steps.size());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.name[row] != name) continue;
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const StepRow& of) {
      return of.on_host.start <= events.start[row] && events.start[row] < of.on_host.end;
    });
    if (step != steps.end()) ++counts[static_cast<std::size_t>(step - steps.begin())];
  }
  std::erase(counts, 0);
  if (counts.empty()) return std::nullopt;
  const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(counts.size() / 2);
  std::nth_element(counts.begin(), middle, counts.end());
  return *middle;
}

bool CanBeOneJob(std::optional<std::int64_t> before, std::optional<std::int64_t> after) {
  return !before || !after || *before % *after == 0 || *after % *before == 0;
}

}  // namespace headroom
