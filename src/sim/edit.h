// The primitives of a what-if forecast: scale, set, remove, insert and reschedule tasks of a plan.
// The graph stays unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"
#include "sim/plan.h"

namespace headroom {

/// Types that require tensor cores.
enum class Precision : std::uint8_t { kTF32, kF16, kBF16, kF8 };

/// Counts of an edit's changes.
struct EditCounts {
  std::int64_t tasks = 0;  ///< GPU tasks with another duration.
  std::int64_t inserted = 0, removed = 0;
};

/// The result of an edit.
struct EditedPlan {
  Plan plan;
  /// Indexed by task of the plan; true for GPU tasks that are new or have another duration than
  /// before.
  std::vector<bool> changed;
  /// Task of the graph, indexed by task of the plan; kNoTask for an inserted task. An old task has
  /// the edges of the graph, in order, followed by the edges that insertions added.
  std::vector<TaskIndex> origin;
  std::vector<bool> removed;  ///< Indexed by task of the plan.
  /// Number in the edit, indexed by task of the plan; kNoTask for the launch of an inserted kernel.
  std::vector<TaskIndex> number;
  std::vector<std::string> channels;  ///< Names, by channel of the plan's shape.

  bool OnChannel(TaskIndex task) const {
    return !plan.shape->channel.empty() && plan.shape->channel[task] != kNoChannel;
  }
};

/// Returns the kind of a plan's edge into `task`.
EdgeKind KindOfEdge(const Graph& graph, const EditedPlan& edited, TaskIndex task,
                    std::uint32_t edge);

/// A constraint that a task starts no earlier than the end (or start) of another.
struct Dependency {
  TaskIndex task = kNoTask;  ///< The other task, from the graph or inserted before.
  DurationNs lag{};
  std::uint8_t cycles = 0;  ///< Number of cycles from the first task to the second.
  bool from_start = false;  ///< The second task waits only for the start of the first.
};

/// A resource other than the recorded streams, for which tasks compete, such as a network or a copy
/// engine.
struct Channel {
  std::string_view name;  ///< Unique in an edit; must live as long as the edit.
  Policy policy = Policy::kFifo;
  double bytes_per_ns = 1;            ///< Bandwidth in each direction.
  DurationNs latency{};               ///< Latency per message.
  std::int64_t members = 1;           ///< Number of connected devices.
  std::int64_t members_per_link = 1;  ///< Number of devices that share the bandwidth.
};

/// Collects changes to the plan of a graph. Tasks keep their numbers until Finish(); inserted tasks
/// get numbers after those of the graph. REQUIRES: no inserted task waits for itself through any
/// chain of edges. Finish() asserts this.
class Edit {
 public:
  /// @param base  a plan of this graph, e.g. without profiler overhead; both must outlive the edit
  Edit(const Graph& graph, const Plan& base);

  DurationNs DurationOf(TaskIndex task) const { return DurationNs(plan_.duration[task]); }
  /// Returns the host work before a call.
  DurationNs WorkBefore(TaskIndex call) const;

  /// Sets a duration, and restores the call if it was removed.
  void SetDuration(TaskIndex task, DurationNs duration);
  void Scale(TaskIndex task, double factor);
  void ScaleWorkBefore(TaskIndex call, double factor);
  /// Multiplies the pieces of the work before a call by a factor each. The factors of several edits
  /// combine piece by piece, so their order does not matter. Added work stays.
  ///
  /// @param ns  times of the pieces relative to each other, in order; as many as the call has
  void ScalePieces(TaskIndex call, std::span<const double> ns, std::span<const double> factors);
  /// Adds work, which may be negative. The resulting work is at least 0.
  void AddWorkBefore(TaskIndex call, DurationNs work);

  /// Records that a GPU task computes in another type than recorded, for later scenarios.
  void SetPrecision(TaskIndex task, Precision precision) { precision_[task] = precision; }
  /// Returns the type that SetPrecision() set; nullopt if the task computes in its recorded type.
  std::optional<Precision> PrecisionOf(TaskIndex task) const {
    const auto known = precision_.find(task);
    return known == precision_.end() ? std::nullopt : std::optional(known->second);
  }

  /// Records that an operator no longer runs, for later scenarios that search operators.
  void Skip(HostEventId op) { skipped_.insert(op); }
  bool IsSkipped(HostEventId op) const { return skipped_.contains(op); }
  /// Records that other gradients, of these bytes, replace the gradient that a skipped operator
  /// completes.
  void ReplaceGradient(HostEventId op, double bytes) { gradient_bytes_[op] = bytes; }
  std::optional<double> ReplacedGradient(HostEventId op) const {
    const auto known = gradient_bytes_.find(op);
    return known == gradient_bytes_.end() ? std::nullopt : std::optional(known->second);
  }

  /// Removes a task. Its dependents then wait for the task before it on its track. The host work
  /// before a removed call remains; ScaleWorkBefore() can remove that work.
  void Remove(TaskIndex task);
  /// Removes a GPU task's dependency on its launch. The task then follows the previous task of its
  /// stream after at most `gap`. Long gaps remain, because they show a wait for space on the GPU.
  void Detach(TaskIndex task, DurationNs gap);
  /// Lets a GPU task start immediately after its dependencies on the device, and within the normal
  /// latency after its launch.
  void CloseGap(TaskIndex task);
  /// Multiplies the waits of a GPU task whose record is missing (kUnrecordedWait): the work that it
  /// waited for runs on the GPU.
  void ScaleUnrecordedWaits(TaskIndex task, double factor);
  bool IsRemoved(TaskIndex task) const { return removed_[task]; }
  /// Replaces a GPU task's work with work that differs from its operator's, e.g. the work of
  /// several operators. Sets its duration, and its duration in a 16-bit type (nullopt: the same).
  void ReplaceWork(TaskIndex task, DurationNs duration, std::optional<DurationNs> in_16_bits);
  bool HasOtherWork(TaskIndex task) const { return other_work_.contains(task); }
  /// REQUIRES: HasOtherWork(task).
  std::optional<DurationNs> In16Bits(TaskIndex task) const { return other_work_.at(task); }
  /// Removes the waits of a blocking call.
  void RemoveWait(TaskIndex return_task);
  /// Returns true if a blocking call still waits for a task.
  bool Waits(TaskIndex return_task) const;

  /// A new kernel directly before a task on its stream, with its launch directly before a call.
  struct NewKernel {
    TaskIndex before_task = kNoTask;  ///< A GPU task.
    TaskIndex before_call = kNoTask;  ///< The launch of `before_task`, or an earlier call.
    DurationNs duration{};
    DurationNs host_work{};  ///< Host work before the launch.
    DurationNs launch{};     ///< Duration of the launch.
    /// A call that waits until the kernel ends, e.g. for a value; kNoTask if none waits.
    TaskIndex waiting_call = kNoTask;
    bool per_sample = false;             ///< The work grows with the batch.
    std::vector<Dependency> after = {};  ///< Additional dependencies.
    /// If true, the kernel precedes all kernels inserted before `before_task` that lack this flag.
    /// Otherwise it follows earlier insertions.
    bool in_front = false;
    TaskIndex number = kNoTask;  ///< Set by Insert().
  };
  /// Returns the number of the kernel. REQUIRES: `before_call` comes before `before_task` in the
  /// graph's order.
  TaskIndex Insert(NewKernel kernel);
  /// Returns the kernels inserted so far, e.g. to scale them.
  std::span<NewKernel> inserted() { return inserted_; }
  /// Withdraws the kernels inserted before tasks for which the predicate is true. Kernels on which
  /// an inserted task or kernel depends remain.
  void Withdraw(const std::function<bool(TaskIndex before)>& gone);
  /// Returns the first kernel inserted before a task of the graph; the task itself if there is
  /// none. A new dependency of the task must apply to this kernel.
  TaskIndex FrontOf(TaskIndex task) const;
  /// Returns the task of the graph before which a kernel was inserted. Returns other tasks
  /// unchanged. The inverse of FrontOf().
  TaskIndex InFrontOf(TaskIndex kernel) const;

  /// Returns the channel of that name and creates it if necessary. An existing channel keeps its
  /// properties.
  std::uint32_t AddChannel(const Channel& channel);
  std::optional<std::uint32_t> FindChannel(std::string_view name) const;
  Channel& ChannelAt(std::uint32_t channel) { return channels_[channel]; }
  void Reschedule(std::uint32_t channel, Policy policy) { channels_[channel].policy = policy; }

  /// A task on a channel. It occupies neither the host nor a stream.
  struct ChannelTask {
    std::uint32_t channel = 0;
    std::int32_t step = -1;  ///< Its step, as in Task::step.
    DurationNs duration{};
    /// Part of the duration that does not depend on the bytes.
    DurationNs latency{};
    double bytes = 0;                     ///< Bytes of the tensors that it transfers.
    std::int32_t priority = 0;            ///< For Policy::kPriority: the lowest number runs first.
    std::vector<Dependency> after = {};   ///< Tasks that it waits for.
    std::vector<Dependency> before = {};  ///< Tasks that wait for it.
    bool per_sample = false;              ///< The bytes grow with the batch.
    TaskIndex number = kNoTask;           ///< Set by Insert().

    /// Scales duration and latency.
    void Scale(double factor);
  };
  /// Returns the task's number. REQUIRES: among tasks of the graph in the same cycle, its
  /// dependencies come before its dependents.
  TaskIndex Insert(ChannelTask task);
  /// Returns all channel tasks in order of insertion, e.g. to scale them.
  std::span<ChannelTask> channel_tasks() { return channel_tasks_; }
  /// Removes all tasks from a channel, and all waits for them, so that others can be inserted.
  /// REQUIRES: no other inserted task waits for them.
  std::vector<ChannelTask> Clear(std::uint32_t channel);

  const EditCounts& counts() const { return counts_; }
  /// Returns one value per task number, for tasks of the graph and inserted tasks: true unless the
  /// task was cleared from its channel. Finish() requires that all dependencies are present.
  std::vector<bool> Present() const;
  /// Returns the edited plan. Renumbers the tasks if any were inserted.
  EditedPlan Finish() const;
  /// Like Finish(), but for unchecked edits: returns nullopt if an inserted task waits for itself.
  std::optional<EditedPlan> TryFinish() const;

 private:
  /// An edge from a dependency.
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
  /// Returns the plan of an edit without insertions.
  EditedPlan WithoutInsertions() const;
  std::uint32_t TrackEdge(TaskIndex task) const { return graph_.edge_begin[task]; }
  bool HasTrackEdge(TaskIndex task) const {
    return graph_.edge_begin[task] < graph_.edge_begin[task + 1];
  }

  const Graph& graph_;
  const Plan& base_;
  Plan plan_;
  std::vector<bool> removed_;
  std::vector<double> pieces_left_;               ///< Shares of Graph::pieces; empty: all of each.
  std::map<TaskIndex, std::int64_t> added_work_;  ///< Part of the work before calls, in ns.
  std::unordered_map<TaskIndex, std::optional<DurationNs>> other_work_;  ///< Durations in 16 bits.
  std::unordered_map<TaskIndex, Precision> precision_;
  std::unordered_set<HostEventId> skipped_;
  std::unordered_map<HostEventId, double> gradient_bytes_;
  std::vector<NewKernel> inserted_;
  std::vector<Channel> channels_;
  std::vector<ChannelTask> channel_tasks_;
  TaskIndex next_number_;
  EditCounts counts_;
};

}  // namespace headroom
