#include "sim/part_replay.h"

#include <cmath>

namespace headroom {
namespace {

std::int64_t Scaled(std::int64_t ns, double share, double scale) {
  return std::llround(static_cast<double>(ns) * (1 - share * (1 - scale)));
}

}  // namespace

void PartReplayer::Scale(const PlanPart& part, double scale) {
  for (const auto& [task, share] : part.tasks)
    plan_.duration[task] = Scaled(base_.duration[task], share, scale);
  for (const auto& [edge, share] : part.edges)
    plan_.lag[edge] = Scaled(base_.lag[edge], share, scale);
}

double PartReplayer::Run(const PlanPart& part, double scale) {
  Scale(part, scale);
  ++replays_;
  const double step = scale_.Ns(plan_, replayer_.Run(plan_).step_ns);
  for (const auto& [task, share] : part.tasks) plan_.duration[task] = base_.duration[task];
  for (const auto& [edge, share] : part.edges) plan_.lag[edge] = base_.lag[edge];
  return step;
}

void PartReplayer::Apply(const PlanPart& part, double scale) {
  Scale(part, scale);
  for (const auto& [task, share] : part.tasks) base_.duration[task] = plan_.duration[task];
  for (const auto& [edge, share] : part.edges) base_.lag[edge] = plan_.lag[edge];
}

}  // namespace headroom
