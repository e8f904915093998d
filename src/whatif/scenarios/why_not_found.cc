#include "whatif/scenarios/why_not_found.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "analysis/verdict/remedies.h"
#include "cost/operator_cost.h"

namespace headroom {
namespace {

/// Returns the remedy that makes the trace's tool record shapes.
std::string HowToShape(const Job& job) {
  return RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as());
}

}  // namespace

bool IsOfFamily(const Job& job, const LaunchingOperator& op, WorkFamily family) {
  const WorkFamily named = FamilyOfOperator(NameOfOperator(job, op.op));
  if (named != WorkFamily::kUnclassified) return named == family;
  return std::any_of(op.tasks.begin(), op.tasks.end(),
                     [&](TaskIndex task) { return job.ClassOf(task).family == family; });
}

bool IsProduct(const Job& job, const LaunchingOperator& op) {
  return IsOfFamily(job, op, WorkFamily::kMatmul) || IsOfFamily(job, op, WorkFamily::kConvolution);
}

bool HasAny(const Job& job, const std::function<bool(const LaunchingOperator&)>& is) {
  const std::vector<LaunchingOperator> operators = LaunchingOperators(job);
  return std::any_of(operators.begin(), operators.end(), is);
}

bool HasBackward(const Job& job) {
  const std::vector<Task>& tasks = job.graph().tasks;
  for (TaskIndex task = 0; task < tasks.size(); ++task) {
    if (tasks[task].kind == TaskKind::kGpu && job.ContextOf(task).phase == Phase::kBackward)
      return true;
  }
  return false;
}

std::string WhyNotFound(const Job& job, std::string_view nothing) {
  if (!LaunchingOperators(job).empty()) return std::string(nothing);
  return "no operators were recorded around the calls that launch GPU work: also record CPU "
         "activities";
}

std::string WhyNotFound(const Job& job, std::string_view nothing, const Wanted& wanted) {
  std::int64_t all = 0, without_shapes = 0;
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    if (!wanted.is(op)) continue;
    ++all;
    if (job.CallOf(op.op) == nullptr) ++without_shapes;
  }
  if (without_shapes == 0) return WhyNotFound(job, nothing);
  if (without_shapes == all)
    return fmt::format("the shapes of the {} were not recorded ({})", wanted.kind, HowToShape(job));
  return fmt::format("{}, according to the recorded shapes; {} of {} {} have no shapes ({})",
                     nothing, without_shapes, all, wanted.kind, HowToShape(job));
}

Effect NotFound(const Job& job, std::string_view nothing) {
  const std::string why = WhyNotFound(job, nothing);
  return why == nothing ? Effect::Nothing(why) : Effect::Abstain(why);
}

Effect NotFound(const Job& job, std::string_view nothing, const Wanted& wanted) {
  const std::string why = WhyNotFound(job, nothing, wanted);
  return why == nothing ? Effect::Nothing(why) : Effect::Abstain(why);
}

std::string WhatShapesMiss(const Job& job, Phase phase, std::string_view name,
                           std::string_view kind) {
  const auto& events = job.store().host_events;
  std::int64_t all = 0, without_shapes = 0;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId op(row);
    if (job.attribution().Of(op).phase != phase || NameOfOperator(job, op) != name) continue;
    ++all;
    if (job.CallOf(op) == nullptr) ++without_shapes;
  }
  // If none has shapes, the sum has another source.
  if (without_shapes == 0 || without_shapes == all) return {};
  return fmt::format("{} of {} {} have no shapes and are not counted ({})", without_shapes, all,
                     kind, HowToShape(job));
}

std::string WhyNoDevice(const Job& job) {
  const TraceStore& store = job.store();
  std::set<std::string_view> names;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    if (store.TasksOf(StreamId(s)).empty()) continue;
    names.insert(store.Text(store.devices.name[store.streams.device[s].index()]));
  }
  if (names.contains("")) {
    return "the trace does not name its GPU (deviceProperties), so the GPU's figures are unknown";
  }
  if (names.size() > 1)
    return "the work ran on several kinds of GPUs, so it is unknown whose figures apply";
  return fmt::format("the GPU {} is not in the device catalogue, so its figures are unknown",
                     names.empty() ? "" : *names.begin());
}

std::string WhyNoFigure(const Job& job, std::string_view figure) {
  if (job.device() == nullptr) return WhyNoDevice(job);
  return fmt::format("the {} of this GPU is not in the device catalogue", figure);
}

}  // namespace headroom
