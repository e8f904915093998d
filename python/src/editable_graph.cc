#include "editable_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "errors.h"
#include "whatif/scenarios/scenario.h"
#include "whatif/scenarios/selection.h"

namespace headroom::python {
namespace {

/// Longest time of one task: 11 days. Keeps sums far from the limits of the type.
constexpr double kLongestNs = 1e15;

DurationNs FromUs(double us, const char* what) {
  const double ns = us * 1e3;
  if (!(ns >= 0 && ns <= kLongestNs))
    ThrowUsage(
        fmt::format("{}={}: requires microseconds, from 0 to {:g}", what, us, kLongestNs / 1e3));
  return DurationNs(std::llround(ns));
}

void CheckFactor(double factor) {
  if (!(factor >= 0 && factor <= 1e6))
    ThrowUsage(fmt::format("factor {}: requires a number from 0 to 1e6", factor));
}

void CheckScaled(DurationNs duration, double factor) {
  if (static_cast<double>(duration.ns()) * factor > kLongestNs)
    ThrowUsage(
        fmt::format("factor {}: a task would take more than {:g} s", factor, kLongestNs / 1e9));
}

Policy PolicyNamed(std::string_view name) {
  if (name == "fifo") return Policy::kFifo;
  if (name == "priority") return Policy::kPriority;
  ThrowUsage(fmt::format("policy: \"{}\" is not one of fifo, priority", name));
}

}  // namespace

EditableGraph::EditableGraph(std::shared_ptr<const Recording> recording)
    : recording_(std::move(recording)),
      channel_names_(std::make_shared<std::set<std::string>>()),
      edit_(std::make_unique<Edit>(graph(), recording_->job().corrected())) {}

EditableGraph::EditableGraph(const EditableGraph& other)
    : recording_(other.recording_),
      channel_names_(other.channel_names_),
      edit_(std::make_unique<Edit>(*other.edit_)),
      waits_until_(other.waits_until_) {}

void EditableGraph::Reset() {
  edit_ = std::make_unique<Edit>(graph(), recording_->job().corrected());
  waits_until_.clear();
}

std::vector<std::int64_t> EditableGraph::Durations() const {
  std::vector<std::int64_t> durations(graph().tasks.size());
  for (TaskIndex task = 0; task < durations.size(); ++task)
    durations[task] = edit_->DurationOf(task).ns();
  return durations;
}

std::vector<std::int64_t> EditableGraph::WorkBefore() const {
  std::vector<std::int64_t> work(graph().tasks.size());
  for (TaskIndex task = 0; task < work.size(); ++task) {
    if (graph().tasks[task].kind == TaskKind::kCall) work[task] = edit_->WorkBefore(task).ns();
  }
  return work;
}

double EditableGraph::TimeMs(const Selected& selected) const {
  DurationNs sum;
  for (const TaskIndex task : selected.tasks) sum += edit_->DurationOf(task);
  return sum.ms() / graph().steps;
}

void EditableGraph::Scale(const Selected& selected, double factor) {
  CheckFactor(factor);
  for (const TaskIndex task : selected.tasks) CheckScaled(edit_->DurationOf(task), factor);
  for (const TaskIndex task : selected.tasks) edit_->Scale(task, factor);
}

void EditableGraph::SetDuration(const Selected& selected, double us) {
  const DurationNs duration = FromUs(us, "us");
  for (const TaskIndex task : selected.tasks) edit_->SetDuration(task, duration);
}

void EditableGraph::Remove(const Selected& selected) {
  const Job& job = recording_->job();
  std::vector<TaskIndex> calls;
  for (const TaskIndex task : selected.tasks) {
    if (edit_->IsRemoved(task)) continue;
    edit_->Remove(task);
    if (job.LaunchOf(task) != kNoTask) calls.push_back(job.LaunchOf(task));
  }
  // Removes a call with the last of its tasks, even if several selections removed them.
  std::vector<std::int64_t> gone(graph().tasks.size());
  for (TaskIndex task = 0; task < gone.size(); ++task) {
    const bool is_gpu = graph().tasks[task].kind == TaskKind::kGpu;
    if (is_gpu && edit_->IsRemoved(task) && job.LaunchOf(task) != kNoTask)
      ++gone[job.LaunchOf(task)];
  }
  for (const TaskIndex call : calls) {
    if (gone[call] == job.LaunchedBy(call) && !edit_->IsRemoved(call)) edit_->Remove(call);
  }
}

void EditableGraph::ScaleHost(const Selected& selected, double factor) {
  CheckFactor(factor);
  for (TaskIndex task = 0; task < graph().tasks.size(); ++task) {
    if (graph().tasks[task].kind != TaskKind::kCall) continue;
    CheckScaled(edit_->DurationOf(task), factor);
    CheckScaled(edit_->WorkBefore(task), factor);
  }
  if (!selected.everything) {
    headroom::ScaleHost(recording_->job(), selected.host, factor, *edit_);
    return;
  }
  for (TaskIndex task = 0; task < graph().tasks.size(); ++task) {
    if (graph().tasks[task].kind != TaskKind::kCall) continue;
    edit_->Scale(task, factor);
    edit_->ScaleWorkBefore(task, factor);
  }
}

std::int64_t EditableGraph::RemoveWaits(const Selected& selected) {
  std::int64_t waits = 0;
  for (TaskIndex task = 0; task < graph().tasks.size(); ++task) {
    const Task& recorded = graph().tasks[task];
    if (recorded.kind != TaskKind::kReturn) continue;
    if (!selected.everything && !selected.host[recorded.row]) continue;
    edit_->RemoveWait(task);
    ++waits;
  }
  return waits;
}

void EditableGraph::CheckInsertable(TaskIndex before_task, TaskIndex wanted) const {
  const TaskIndex launch =
      before_task == kNoTask ? kNoTask : recording_->job().LaunchOf(before_task);
  if (launch != kNoTask && launch < before_task) return;
  ThrowUsage(fmt::format("nothing can be inserted next to task {}: {}", wanted,
                         before_task == kNoTask
                             ? "nothing follows it on its stream, and the steps do not repeat"
                             : "the launch that the new launch would precede was not recorded"));
}

std::int64_t EditableGraph::InsertKernel(TaskIndex before_task, const Insertion& insertion) {
  const HostCosts& costs = recording_->job().calibration().host;
  const auto us_or = [](std::optional<double> us, double otherwise_ns, const char* what) {
    return us ? FromUs(*us, what) : Nanoseconds(otherwise_ns);
  };
  const TaskIndex number =
      edit_->Insert({.before_task = before_task,
                     .before_call = recording_->job().LaunchOf(before_task),
                     .duration = FromUs(insertion.duration_us, "duration_us"),
                     .host_work = us_or(insertion.host_us, costs.cast_work, "host_us"),
                     .launch = us_or(insertion.launch_us, costs.cast_launch, "launch_us")});
  waits_until_[number] = before_task;
  return number;
}

std::vector<std::int64_t> EditableGraph::InsertBefore(const Selected& selected,
                                                      const Insertion& insertion) {
  for (const TaskIndex task : selected.tasks) CheckInsertable(task, task);
  std::vector<std::int64_t> inserted;
  inserted.reserve(selected.tasks.size());
  for (const TaskIndex task : selected.tasks) inserted.push_back(InsertKernel(task, insertion));
  return inserted;
}

std::vector<std::int64_t> EditableGraph::InsertAfter(const Selected& selected,
                                                     const Insertion& insertion) {
  // The first task of the next cycle follows the last task of a cycle.
  const auto next_of = [&](TaskIndex task) {
    const TaskIndex next = recording_->next_on_stream()[task];
    return next == kNoTask && graph().periodic ? recording_->first_on_stream()[task] : next;
  };
  for (const TaskIndex task : selected.tasks) CheckInsertable(next_of(task), task);
  std::vector<std::int64_t> inserted;
  inserted.reserve(selected.tasks.size());
  for (const TaskIndex task : selected.tasks)
    inserted.push_back(InsertKernel(next_of(task), insertion));
  return inserted;
}

void EditableGraph::Channel(const std::string& name, std::string_view policy) {
  const Policy wanted = PolicyNamed(policy);
  const std::uint32_t channel =
      edit_->AddChannel({.name = *channel_names_->insert(name).first, .policy = wanted});
  edit_->Reschedule(channel, wanted);
}

std::uint32_t EditableGraph::NumberOf(std::string_view channel) const {
  const std::optional<std::uint32_t> number = edit_->FindChannel(channel);
  if (number) return *number;
  ThrowUsage(fmt::format("channel {} no longer exists: reset() removed it", channel));
}

std::int64_t EditableGraph::Insert(std::string_view channel, const Transfer& transfer) {
  const auto recorded = static_cast<std::int64_t>(graph().tasks.size());
  Edit::ChannelTask task;
  task.channel = NumberOf(channel);
  task.duration = FromUs(transfer.duration_us, "duration_us");
  task.priority = transfer.priority;
  // An inserted task comes directly after the last recorded task that it waits for. An order exists
  // if no earlier task waits for the inserted one.
  std::int64_t waits_until = -1;
  for (const std::int64_t on : transfer.after) {
    std::int64_t until = on;
    if (on < 0 || on >= recorded) {
      const auto known =
          on < 0 ? waits_until_.end() : waits_until_.find(static_cast<TaskIndex>(on));
      if (known == waits_until_.end())
        ThrowUsage(
            fmt::format("after: {} is neither a task of the graph nor an inserted task", on));
      until = known->second;
    }
    waits_until = std::max(waits_until, until);
    task.after.push_back({.task = static_cast<TaskIndex>(on)});
  }
  for (const std::int64_t by : transfer.before) {
    if (by < 0 || by >= recorded)
      ThrowUsage(fmt::format("before: {} is not a task of the graph", by));
    const bool next_cycle = by <= waits_until;
    if (next_cycle && !graph().periodic) {
      ThrowUsage(
          fmt::format("before: task {} precedes a task that the transfer waits for, and the steps "
                      "do not repeat",
                      by));
    }
    task.before.push_back({.task = static_cast<TaskIndex>(by),
                           .cycles = static_cast<std::uint8_t>(next_cycle ? 1 : 0)});
  }
  if (waits_until >= 0) task.step = graph().tasks[static_cast<std::size_t>(waits_until)].step;
  const TaskIndex number = edit_->Insert(std::move(task));
  waits_until_[number] = waits_until;
  return number;
}

std::int64_t EditableGraph::ChannelTasks(std::string_view channel) const {
  const std::optional<std::uint32_t> number = edit_->FindChannel(channel);
  const auto tasks = edit_->channel_tasks();
  return std::count_if(tasks.begin(), tasks.end(),
                       [&](const Edit::ChannelTask& task) { return task.channel == number; });
}

void EditableGraph::ScaleChannel(std::string_view channel, double factor) {
  CheckFactor(factor);
  const std::uint32_t number = NumberOf(channel);
  for (const Edit::ChannelTask& task : edit_->channel_tasks()) {
    if (task.channel == number) CheckScaled(task.duration, factor);
  }
  for (Edit::ChannelTask& task : edit_->channel_tasks()) {
    if (task.channel == number) task.Scale(factor);
  }
}

bool EditableGraph::IsWhole() const {
  const std::vector<bool> present = edit_->Present();
  const auto all_present = [&](const std::vector<Dependency>& after) {
    return std::all_of(after.begin(), after.end(),
                       [&](const Dependency& on) { return present[on.task]; });
  };
  const auto transfers = edit_->channel_tasks();
  const auto kernels = edit_->inserted();
  return std::all_of(transfers.begin(), transfers.end(),
                     [&](const Edit::ChannelTask& task) { return all_present(task.after); }) &&
         std::all_of(kernels.begin(), kernels.end(),
                     [&](const Edit::NewKernel& kernel) { return all_present(kernel.after); });
}

void EditableGraph::ForgetTheAbsent() {
  const std::vector<bool> present = edit_->Present();
  std::erase_if(waits_until_, [&](const auto& known) { return !present[known.first]; });
}

void EditableGraph::ClearChannel(std::string_view channel) {
  const std::uint32_t number = NumberOf(channel);
  auto before = std::make_unique<Edit>(*edit_);
  edit_->Clear(number);
  if (!IsWhole()) {
    edit_ = std::move(before);
    ThrowUsage("transfers of another channel wait for those of this one");
  }
  ForgetTheAbsent();
}

std::string EditableGraph::Apply(std::string_view scenario) {
  const std::vector<ScenarioCall> calls = ValueOrThrow(ParseScenario(scenario));
  const std::unique_lock lock = recording_->Lock();
  auto before = std::make_unique<Edit>(*edit_);
  std::string why;
  for (const ScenarioCall& call : calls) {
    const Effect effect = call.scenario->apply(recording_->job(), call.arguments, *edit_);
    if (!effect.applies || !IsWhole()) {
      edit_ = std::move(before);
      throw DoesNotApplyError(effect.applies ? fmt::format("{} removes transfers that others "
                                                           "wait for",
                                                           call.scenario->name)
                                             : effect.why);
    }
    if (!effect.why.empty()) why += (why.empty() ? "" : "; ") + effect.why;
  }
  ForgetTheAbsent();
  return why;
}

EditedPlan EditableGraph::Finish() const {
  // User insertions follow the graph's order, but a scenario may let a call wait for a later
  // kernel.
  std::optional<EditedPlan> edited = edit_->TryFinish();
  if (!edited) ThrowUsage("a transfer waits for itself through a task that a scenario inserted");
  return std::move(edited).value();
}

}  // namespace headroom::python
