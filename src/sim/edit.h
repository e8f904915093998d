// The primitives of a what-if: scale, set, remove, insert and reschedule on a plan, leaving the
// graph alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"
#include "sim/plan.h"

namespace headroom {

/// Types that need tensor cores.
enum class Precision : std::uint8_t { kTF32, kF16, kBF16 };

/// How much an edit changed.
struct EditCounts {
  std::int64_t tasks = 0;  ///< GPU tasks with another duration.
  std::int64_t inserted = 0, removed = 0;
};

/// What comes of an edit.
struct EditedPlan {
  Plan plan;
  /// By task of the plan: GPU tasks that are new or have another duration than before.
  std::vector<bool> changed;
  /// By task of the plan: its task of the graph; kNoTask for what was inserted. The edges of an old
  /// task are those of the graph, in order, and then what an insertion added.
  std::vector<TaskIndex> origin;
  std::vector<bool> removed;  ///< By task of the plan.
  /// By task of the plan: its number in the edit; kNoTask for the launch of an inserted kernel.
  std::vector<TaskIndex> number;
  std::vector<std::string> channels;  ///< Names, by channel of the plan's shape.

  bool OnChannel(TaskIndex task) const {
    return !plan.shape->channel.empty() && plan.shape->channel[task] != kNoChannel;
  }
};

/// Kind of an edge of the plan (into `task`).
EdgeKind KindOfEdge(const Graph& graph, const EditedPlan& edited, TaskIndex task,
                    std::uint32_t edge);

/// That a task starts no earlier than another ends (or starts).
struct Dependency {
  TaskIndex task = kNoTask;  ///< The other one: of the graph, or inserted before.
  DurationNs lag{};
  std::uint8_t cycles = 0;  ///< How many cycles after the first the second comes.
  bool from_start = false;  ///< The first need only have started.
};

/// A resource beside the recorded streams whose tasks compete for it: a network, a copy engine.
struct Channel {
  std::string_view name;  ///< Unique in an edit; lives as long as the edit.
  Policy policy = Policy::kFifo;
  double bytes_per_ns = 1;            ///< Each way.
  DurationNs latency{};               ///< Of one message.
  std::int64_t members = 1;           ///< Devices that it connects.
  std::int64_t members_per_link = 1;  ///< That share the bandwidth.
};

/// Collects changes to the plan of a graph. Tasks keep their numbers until Finish(); inserted ones
/// have numbers behind all of the graph's. Nothing that is inserted may wait for itself, by way of
/// whatever edges: REQUIRED of all dependencies, and asserted by Finish().
class Edit {
 public:
  /// @param base  of this graph, e.g. without the cost of recording; both outlive the edit
  Edit(const Graph& graph, const Plan& base);

  DurationNs DurationOf(TaskIndex task) const { return DurationNs(plan_.duration[task]); }
  /// Host work before a call.
  DurationNs WorkBefore(TaskIndex call) const;

  /// A call that was removed is there again.
  void SetDuration(TaskIndex task, DurationNs duration);
  void Scale(TaskIndex task, double factor);
  void ScaleWorkBefore(TaskIndex call, double factor);
  /// Also negative; work never gets shorter than nothing.
  void AddWorkBefore(TaskIndex call, DurationNs work);

  /// A GPU task computes in another type than was recorded, as later scenarios may want to know.
  void SetPrecision(TaskIndex task, Precision precision) { precision_[task] = precision; }
  /// nullopt: as recorded.
  std::optional<Precision> PrecisionOf(TaskIndex task) const {
    const auto known = precision_.find(task);
    return known == precision_.end() ? std::nullopt : std::optional(known->second);
  }

  /// What waited for the task waits for what it waited for on its track. A call that is removed
  /// still takes the work before it: scale that apart.
  void Remove(TaskIndex task);
  /// A GPU task no longer waits for its own launch, only for what ran before it, and follows the
  /// task before it on its stream after `gap`, if it was a little further behind (what waited long
  /// waited for room on the GPU).
  void Detach(TaskIndex task, DurationNs gap);
  /// A GPU task follows at once what lets it go on the device, and its launch as soon as any task
  /// does.
  void CloseGap(TaskIndex task);
  bool IsRemoved(TaskIndex task) const { return removed_[task]; }
  /// A GPU task does other work from here on than its operator says, e.g. that of several: what it
  /// takes, and what it would take in a 16-bit type (nullopt: the same).
  void ReplaceWork(TaskIndex task, DurationNs duration, std::optional<DurationNs> in_16_bits);
  bool HasOtherWork(TaskIndex task) const { return other_work_.contains(task); }
  /// REQUIRES: HasOtherWork(task).
  std::optional<DurationNs> In16Bits(TaskIndex task) const { return other_work_.at(task); }
  /// A blocking call no longer waits.
  void RemoveWait(TaskIndex return_task);
  /// Whether a blocking call still waits for a task.
  bool Waits(TaskIndex return_task) const;

  /// A kernel just before another on its stream, and its launch just before a call.
  struct NewKernel {
    TaskIndex before_task = kNoTask;  ///< A GPU task.
    TaskIndex before_call = kNoTask;  ///< Its launch, or an earlier call.
    DurationNs duration{};
    DurationNs host_work{};  ///< Before the launch.
    DurationNs launch{};     ///< Duration of the launch.
    /// A call that waits until the kernel is done, e.g. for a value; kNoTask: none does.
    TaskIndex waiting_call = kNoTask;
    bool per_sample = false;             ///< Its work grows with the batch.
    std::vector<Dependency> after = {};  ///< What it waits for besides.
    /// Before all that was inserted there without it; else behind what was inserted there earlier.
    bool in_front = false;
    TaskIndex number = kNoTask;  ///< Set by Insert().
  };
  /// Returns the number of the kernel. REQUIRES: `before_call` comes before `before_task` in the
  /// graph's order.
  TaskIndex Insert(NewKernel kernel);
  /// The kernels inserted so far, e.g. to scale them.
  std::span<NewKernel> inserted() { return inserted_; }
  /// The first kernel inserted before a task of the graph, else the task: what a task that waits
  /// for something new is to wait with.
  TaskIndex FrontOf(TaskIndex task) const;
  /// The other way: the task of the graph that an inserted kernel comes before, else the task.
  TaskIndex InFrontOf(TaskIndex kernel) const;

  /// The channel of that name, made if there is none; `channel` then only tells the name.
  std::uint32_t AddChannel(const Channel& channel);
  std::optional<std::uint32_t> FindChannel(std::string_view name) const;
  Channel& ChannelAt(std::uint32_t channel) { return channels_[channel]; }
  void Reschedule(std::uint32_t channel, Policy policy) { channels_[channel].policy = policy; }

  /// A task of a channel: nothing on the host, nothing on a stream.
  struct ChannelTask {
    std::uint32_t channel = 0;
    std::int32_t step = -1;  ///< To which it belongs, as Task::step.
    DurationNs duration{};
    DurationNs latency{};                 ///< Of the duration: what does not depend on the bytes.
    double bytes = 0;                     ///< Of the tensors that it is about.
    std::int32_t priority = 0;            ///< The lowest goes first where the policy is kPriority.
    std::vector<Dependency> after = {};   ///< What it waits for.
    std::vector<Dependency> before = {};  ///< What waits for it.
    bool per_sample = false;              ///< Its bytes grow with the batch.
    TaskIndex number = kNoTask;           ///< Set by Insert().

    /// All its time.
    void Scale(double factor);
  };
  /// Returns its number. REQUIRES: of the graph's tasks in the same cycle, what it waits for comes
  /// before what waits for it.
  TaskIndex Insert(ChannelTask task);
  /// All of them in order of insertion, e.g. to scale them.
  std::span<ChannelTask> channel_tasks() { return channel_tasks_; }
  /// Takes all tasks off a channel, and what waits for them no longer does: to insert others
  /// instead. REQUIRES: nothing else that was inserted waits for them.
  std::vector<ChannelTask> Clear(std::uint32_t channel);

  const EditCounts& counts() const { return counts_; }
  /// By number, of the graph's tasks and of all that was inserted: whether the task is there, i.e.
  /// was not taken off its channel. What anything waits for must be: REQUIRED by Finish().
  std::vector<bool> Present() const;
  /// The edited plan. Tasks are numbered anew if any were inserted.
  EditedPlan Finish() const;
  /// The same for edits that nobody has checked: nullopt where what was inserted waits for itself.
  std::optional<EditedPlan> TryFinish() const;

 private:
  /// An edge that comes of a dependency.
  struct NewEdge {
    TaskIndex from;
    std::int64_t lag;
    std::uint8_t cycles;
    bool from_start;
  };
  class Assembly;  // Renumbers the tasks.

  std::multimap<TaskIndex, NewEdge> NewEdges() const;
  bool HasChangedGpuDuration(TaskIndex task) const {
    return plan_.shape->gpu[task] != 0 && plan_.duration[task] != base_.duration[task];
  }
  /// Returns the plan of an edit that inserted nothing.
  EditedPlan WithoutInsertions() const;
  std::uint32_t TrackEdge(TaskIndex task) const { return graph_.edge_begin[task]; }
  bool HasTrackEdge(TaskIndex task) const {
    return graph_.edge_begin[task] < graph_.edge_begin[task + 1];
  }

  const Graph& graph_;
  const Plan& base_;
  Plan plan_;
  std::vector<bool> removed_;
  std::unordered_map<TaskIndex, std::optional<DurationNs>> other_work_;  ///< Its time in 16 bits.
  std::unordered_map<TaskIndex, Precision> precision_;
  std::vector<NewKernel> inserted_;
  std::vector<Channel> channels_;
  std::vector<ChannelTask> channel_tasks_;
  TaskIndex next_number_;
  EditCounts counts_;
};

}  // namespace headroom
