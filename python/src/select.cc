#include "select.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>

#include "columns.h"
#include "cost/work_family.h"
#include "errors.h"
#include "whatif/scenarios/selection.h"

namespace headroom::python {
namespace {

/// A regular expression, evaluated once per distinct name.
class NameMatcher {
 public:
  /// Without an expression, every name matches, and so does a missing name.
  NameMatcher(const TraceStore& store, const char* what, const std::optional<std::string>& text)
      : store_(store) {
    if (!text) return;
    regex_ = std::make_unique<RE2>(*text, RE2::Quiet);
    if (!regex_->ok())
      ThrowUsage(fmt::format("{}: not a regular expression (RE2): {}", what, regex_->error()));
    known_.assign(store.strings.size(), kNotAsked);
  }

  bool given() const { return regex_ != nullptr; }
  bool operator()(StringId name) {
    if (!given()) return true;
    if (!name.valid()) return false;
    std::uint8_t& known = known_[name.index()];
    if (known == kNotAsked) known = RE2::PartialMatch(store_.Text(name), *regex_) ? 1 : 0;
    return known == 1;
  }

 private:
  static constexpr std::uint8_t kNotAsked = 2;
  const TraceStore& store_;
  std::unique_ptr<RE2> regex_;
  std::vector<std::uint8_t> known_;  ///< Cached result by string.
};

std::optional<Phase> PhaseNamed(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  std::string known;
  for (const Phase phase : {Phase::kForward, Phase::kBackward, Phase::kOptimizer, Phase::kDataWait,
                            Phase::kCallback, Phase::kOther}) {
    if (NameOfPhase(phase) == *name) return phase;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", NameOfPhase(phase));
  }
  ThrowUsage(fmt::format("phase: \"{}\" is not one of {}", *name, known));
}

std::optional<WorkFamily> FamilyNamed(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  const std::optional<WorkFamily> family = WorkFamilyFromName(*name);
  if (family) return family;
  std::string known;
  for (int f = 0; f <= static_cast<int>(WorkFamily::kFused); ++f)
    known += fmt::format("{}{}", f == 0 ? "" : ", ", Name(static_cast<WorkFamily>(f)));
  ThrowUsage(fmt::format("family: \"{}\" is not one of {}", *name, known));
}

}  // namespace

Selected Select(const Recording& recording, const Criteria& criteria) {
  const Job& job = recording.job();
  const TraceStore& store = job.store();
  const std::vector<Task>& tasks = job.graph().tasks;
  NameMatcher kernel(store, "kernel", criteria.kernel), op(store, "operator", criteria.op),
      layer(store, "layer", criteria.layer);
  const std::optional<Phase> phase = PhaseNamed(criteria.phase);
  const std::optional<WorkFamily> family = FamilyNamed(criteria.family);
  if (criteria.where && criteria.where->size() != tasks.size()) {
    ThrowUsage(fmt::format("where: the mask has {} values, the graph {} tasks",
                           criteria.where->size(), tasks.size()));
  }
  const std::unique_lock lock = recording.Lock();
  const auto name_of = [&](HostEventId event) {
    return event.valid() ? store.host_events.name[event.index()] : StringId();
  };
  // By host event: true inside an operator that matches.
  std::vector<bool> in_operator;
  if (op.given()) {
    in_operator = SelectHost(job, [&](HostEventId event) {
      return store.host_events.kind[event.index()] == HostEventKind::kOperator &&
             op(name_of(event));
    });
  }
  const auto context_matches = [&](const HostContext& context) {
    return (!phase || context.phase == *phase) && (!layer.given() || layer(name_of(context.layer)));
  };

  Selected selected;
  selected.tasks = SelectTasks(job, [&](TaskIndex task) {
    const std::uint32_t row = tasks[task].row;
    const StreamId stream = store.gpu_tasks.stream[row];
    if (criteria.where && !(*criteria.where)[task]) return false;
    if (criteria.step && recording.step_numbers()[task] != *criteria.step) return false;
    if (criteria.stream && store.streams.number[stream.index()] != *criteria.stream) return false;
    if (criteria.device &&
        store.devices.ordinal[store.streams.device[stream.index()].index()] != *criteria.device)
      return false;
    if (!kernel(store.gpu_tasks.name[row]) || !context_matches(job.ContextOf(task))) return false;
    if (family && job.ClassOf(task).family != *family) return false;
    const HostEventId launch = store.gpu_tasks.launch[row];
    return !op.given() || (launch.valid() && in_operator[launch.index()]);
  });
  selected.everything = criteria.Empty();
  if (criteria.OfHostAlone()) {
    selected.host = SelectHost(job, [&](HostEventId event) {
      return context_matches(job.attribution().Of(event)) &&
             (!op.given() || in_operator[event.index()]);
    });
  } else {
    std::vector<bool> launching(store.host_events.rows());
    for (const TaskIndex task : selected.tasks) {
      const HostEventId around = job.ContextOf(task).op;
      if (around.valid()) launching[around.index()] = true;
    }
    selected.host = SelectHost(job, [&](HostEventId event) { return launching[event.index()]; });
  }
  return selected;
}

}  // namespace headroom::python
