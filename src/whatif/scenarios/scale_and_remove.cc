// scale and remove: select GPU tasks by a regular expression. The expression matches the kernel's
// name, or the innermost operator or the layer that launched the kernel.
#include <fmt/format.h>
#include <re2/re2.h>

#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

std::vector<TaskIndex> MatchingTasks(const Job& job, const std::string& expression) {
  const RE2 regex(expression, RE2::Quiet);
  const auto matches = [&](HostEventId event) {
    return event.valid() &&
           RE2::PartialMatch(job.store().Text(job.store().host_events.name[event.index()]), regex);
  };
  return SelectTasks(job, [&](TaskIndex task) {
    const HostContext& context = job.ContextOf(task);
    return RE2::PartialMatch(job.NameOf(task), regex) || matches(context.op) ||
           matches(context.layer);
  });
}

Effect NothingMatches(const std::string& expression) {
  return Effect::Abstain(
      fmt::format("no GPU task has a kernel, operator or layer that matches {}", expression));
}

}  // namespace

Effect ApplyScale(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::vector<TaskIndex> tasks = MatchingTasks(job, arguments.Text("match"));
  if (tasks.empty()) return NothingMatches(arguments.Text("match"));
  for (const TaskIndex task : tasks) edit.Scale(task, arguments.Number("factor"));
  return {};
}

Effect ApplyRemove(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::vector<TaskIndex> tasks = MatchingTasks(job, arguments.Text("match"));
  if (tasks.empty()) return NothingMatches(arguments.Text("match"));
  RemoveTasks(job, tasks, edit);
  return {};
}

}  // namespace headroom
