#include "whatif/scenarios/parameters/frozen_parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

#include "analysis/verdict/remedies.h"
#include "whatif/job/gradients.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/memory/step_memory.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Host interval of the first operator of a step's forward that reads a trained parameter.
struct FirstTrained {
  ThreadId thread;
  TimeNs start, end;
};

/// Removes the work that only frozen parameters need.
class Freezing {
 public:
  Freezing(const Job& job, const std::vector<TrainedParameter>& parameters,
           const std::vector<bool>& frozen, Edit& edit)
      : job_(job),
        parameters_(parameters),
        edit_(edit),
        is_frozen_(frozen),
        was_frozen_(parameters.size()),
        gone_(job.store().host_events.rows()) {
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      was_frozen_[p] = edit.IsSkipped(parameters[p].accumulate);
      is_frozen_[p] = is_frozen_[p] || was_frozen_[p];
    }
    for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
      if (edit.IsRemoved(task)) removed_before_.push_back(task);
    }
  }

  Frozen Run(bool shorten) {
    MarkGradients();
    if (shorten) Shorten();
    RemoveMarked();
    for (const TaskIndex task : SelectTasks(job_, [&](TaskIndex t) {
           return job_.ClassOf(t).family == WorkFamily::kCommunication;
         })) {
      edit_.Scale(task, 1 - out_.bytes);
    }
    return out_;
  }

 private:
  void MarkGradients() {
    double bytes = 0, count = 0;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      const TrainedParameter& parameter = parameters_[p];
      if (was_frozen_[p]) continue;
      bytes += parameter.bytes;
      ++count;
      auto& shares = is_frozen_[p] ? frozen_share_ : trained_share_;
      for (const GradientPart& part : parameter.parts) {
        const auto share = shares.try_emplace(part.task, part.share).first;
        share->second = std::max(share->second, part.share);
      }
      if (!is_frozen_[p]) continue;
      out_.bytes += parameter.bytes;
      ++out_.count;
      out_.unknown += parameter.parts.empty() ? 1 : 0;
      edit_.Skip(parameter.accumulate);
      gone_[NodeOf(parameter.accumulate).index()] = true;
    }
    if (bytes > 0) out_.bytes /= bytes;
    if (count > 0) out_.count /= count;
    for (const auto& [task, share] : frozen_share_) {
      const auto trained = trained_share_.find(task);
      const double gone =
          trained == trained_share_.end() ? share : std::max(0.0, share - trained->second);
      if (gone > 0) removed_share_[task] = gone;
    }
  }

  /// Returns the engine's range around a node, or the node itself.
  HostEventId NodeOf(HostEventId node) const {
    const HostEventId parent = job_.store().host_events.parent[node.index()];
    return parent.valid() && NameOfOperator(job_, parent).ends_with(NameOfOperator(job_, node))
               ? parent
               : node;
  }

  /// Returns the first operator of each step that reads one of these parameters. A step without an
  /// entry has a parameter with an unknown user.
  std::map<std::int32_t, FirstTrained> FindFirst(const std::vector<bool>& excluded) const {
    const auto& events = job_.store().host_events;
    std::map<std::int32_t, FirstTrained> first;
    std::vector<std::int32_t> unknown;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
      if (excluded[p]) continue;
      const TrainedParameter& parameter = parameters_[p];
      const std::int32_t step = StepOfMoment(job_, events.start[parameter.accumulate.index()]);
      if (parameter.users.empty() || parameter.parts.empty()) unknown.push_back(step);
      for (const HostEventId user : parameter.users) {
        // The operator around the user also casts and transposes the weight.
        const HostEventId around = OutermostOperator(job_, user);
        const FirstTrained found{.thread = events.thread[around.index()],
                                 .start = events.start[around.index()],
                                 .end = job_.store().HostEnd(around)};
        FirstTrained& known = first.try_emplace(step, found).first->second;
        if (found.thread != known.thread) unknown.push_back(step);
        if (found.start < known.start) known = found;
      }
    }
    for (const std::int32_t step : unknown) first.erase(step);
    return first;
  }

  /// Marks the nodes of operators before the first trained one. Nothing reads the gradient of the
  /// first trained operator's input.
  void Shorten() {
    const auto& events = job_.store().host_events;
    const std::map<std::int32_t, FirstTrained> first_before = FindFirst(was_frozen_);
    std::map<std::int32_t, FirstTrained> first_of_step = FindFirst(is_frozen_);
    // A recorded gradient of the first operator's input has another reader.
    std::erase_if(first_of_step, [&](const auto& entry) {
      const auto before = first_before.find(entry.first);
      return before == first_before.end() || before->second.start >= entry.second.start;
    });
    const auto first_after = [&](HostEventId forward) -> const FirstTrained* {
      const TimeNs start = events.start[forward.index()];
      const auto first = first_of_step.find(StepOfMoment(job_, start));
      if (first == first_of_step.end() || first->second.thread != events.thread[forward.index()] ||
          start >= first->second.end)
        return nullptr;
      return &first->second;
    };
    for (std::size_t row = 0; row < events.rows(); ++row) {
      const HostContext& context = job_.attribution().Of(HostEventId(row));
      const HostEventId parent = events.parent[row];
      if (context.phase != Phase::kBackward || !context.forward.valid() || context.recomputed ||
          (parent.valid() && job_.attribution().Of(parent).forward == context.forward))
        continue;
      const FirstTrained* first = first_after(context.forward);
      if (first == nullptr || events.start[context.forward.index()] >= first->start) continue;
      gone_[row] = true;
      ++out_.nodes;
    }
    for (const TaskIndex task : SelectTasks(job_, [](TaskIndex) { return true; })) {
      const HostContext& context = job_.ContextOf(task);
      if (context.phase != Phase::kBackward || !context.forward.valid() || context.recomputed)
        continue;
      const FirstTrained* first = first_after(context.forward);
      if (first == nullptr || events.start[context.forward.index()] < first->start) continue;
      const auto trained = trained_share_.find(task);
      if (trained == trained_share_.end()) {
        removed_share_[task] = 1;
      } else if (trained->second > 0) {
        removed_share_[task] = 1 - trained->second;
      }
    }
  }

  void RemoveMarked() {
    std::vector<LaunchingOperator> whole;
    std::vector<TaskIndex> rest;
    for (LaunchingOperator& op : LaunchingOperators(job_)) {
      const auto is_whole = [&](TaskIndex task) {
        const auto share = removed_share_.find(task);
        return share != removed_share_.end() && share->second >= 1;
      };
      if (std::all_of(op.tasks.begin(), op.tasks.end(), is_whole)) {
        whole.push_back(std::move(op));
        continue;
      }
      std::copy_if(op.tasks.begin(), op.tasks.end(), std::back_inserter(rest), is_whole);
    }
    RemoveOperators(job_, whole, edit_);
    for (const auto& [task, share] : removed_share_) {
      if (share >= 1 || share <= 0 || edit_.IsRemoved(task)) continue;
      edit_.Scale(task, 1 - share);
      out_.estimated = true;
    }
    const std::vector<bool> inside =
        SelectHost(job_, [&](HostEventId event) { return gone_[event.index()]; });
    for (const TaskIndex task : SelectTasks(job_, [&](TaskIndex t) {
           const HostEventId launch = job_.store().gpu_tasks.launch[job_.graph().tasks[t].row];
           return launch.valid() && inside[launch.index()];
         })) {
      rest.push_back(task);
    }
    std::erase_if(rest, [&](TaskIndex task) { return edit_.IsRemoved(task); });
    RemoveTasks(job_, rest, edit_);
    ScaleHost(job_, inside, 0, edit_);
    edit_.Withdraw([&](TaskIndex before) {
      return edit_.IsRemoved(before) &&
             !std::binary_search(removed_before_.begin(), removed_before_.end(), before);
    });
  }

  const Job& job_;
  const std::vector<TrainedParameter>& parameters_;
  Edit& edit_;
  std::vector<bool> is_frozen_, was_frozen_;
  std::vector<bool> gone_;                 ///< Nodes that no longer run, by row of host events.
  std::vector<TaskIndex> removed_before_;  ///< Tasks that earlier scenarios removed, in order.
  /// Largest share of a task for one frozen or one trained parameter, and the removed share.
  std::map<TaskIndex, double> frozen_share_, trained_share_, removed_share_;
  Frozen out_;
};

}  // namespace

Frozen FreezeParameters(const Job& job, const std::vector<TrainedParameter>& parameters,
                        const std::vector<bool>& frozen, bool shorten, Edit& edit) {
  return Freezing(job, parameters, frozen, edit).Run(shorten);
}

std::string_view ShrinkUpdates(const Job& job, double bytes, double count, Edit& edit) {
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (steps.empty())
    return "the update keeps its time, because no range \"Optimizer.step#...\" was recorded";
  for (const OptimizerStep& step : steps) {
    std::vector<TaskIndex> tasks;
    std::copy_if(step.tasks.begin(), step.tasks.end(), std::back_inserter(tasks),
                 [&](TaskIndex task) { return !edit.IsRemoved(task); });
    if (tasks.empty()) continue;
    double start = 0, work = 0;
    for (const TaskIndex task : tasks) {
      const auto time = static_cast<double>(edit.DurationOf(task).ns());
      start += std::min(time, kKernelStart);
      work += time - std::min(time, kKernelStart);
    }
    const auto all = static_cast<double>(tasks.size());
    const auto kept = static_cast<std::size_t>(std::clamp(std::ceil(all * count), 1.0, all));
    const double each = start / all + work * bytes / static_cast<double>(kept);
    for (std::size_t t = 0; t < kept; ++t) edit.SetDuration(tasks[t], Nanoseconds(each));
    RemoveTasks(job, {tasks.begin() + static_cast<std::ptrdiff_t>(kept), tasks.end()}, edit);
  }
  ScaleHostWork(job,
                SelectHost(job,
                           [&](HostEventId event) {
                             return std::any_of(
                                 steps.begin(), steps.end(),
                                 [&](const OptimizerStep& step) { return step.range == event; });
                           }),
                std::min(1.0, count), edit);
  return "";
}

void ShrinkClipping(const Job& job, double bytes, Edit& edit) {
  for (const TaskIndex task : ClippingTasks(job)) {
    if (!edit.IsRemoved(task)) edit.SetDuration(task, WithWork(edit.DurationOf(task), bytes));
  }
}

std::optional<TrainingBytes> TrainingBytesOf(const Job& job) {
  const Result<StepMemoryModel> model = StepMemoryModel::Make(job, {});
  if (!model.ok()) return std::nullopt;
  const MemoryParts parts = model.value().PeakAt(1).parts;
  return TrainingBytes{.parameters = parts.parameters,
                       .gradients = parts.gradients,
                       .optimizer_state = parts.optimizer_state};
}

std::optional<std::string> WhyNotFrozen(const Job& job,
                                        const std::vector<TrainedParameter>& parameters) {
  if (!HasBackward(job))
    return WhyNotFound(job, "the recorded steps have no backward: the job does not train");
  if (!job.attribution().KnowsForward())
    return "the trace has no sequence numbers that match backward with forward operators";
  if (!parameters.empty()) return std::nullopt;
  return WhyNotFound(
      job,
      fmt::format("no accumulation of a gradient ({}) has a recorded shape ({})", kAccumulateGrad,
                  RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as())));
}

}  // namespace headroom
