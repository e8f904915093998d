// The primitives of a what-if: scale, set, remove and insert on a plan, leaving the graph alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"
#include "sim/schedule.h"

namespace headroom {

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
};

/// Kind of an edge of the plan (into `task`).
EdgeKind KindOfEdge(const Graph& graph, const EditedPlan& edited, TaskIndex task,
                    std::uint32_t edge);

/// Collects changes to the plan of a graph. Tasks keep their numbers until Finish().
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

  /// What waited for the task waits for what it waited for on its track. A call that is removed
  /// still takes the work before it: scale that apart.
  void Remove(TaskIndex task);
  /// A GPU task no longer waits for its own launch, only for what ran before it, and follows the
  /// task before it on its stream after `gap`, if it was a little further behind (what waited long
  /// waited for room on the GPU).
  void Detach(TaskIndex task, DurationNs gap);
  bool IsRemoved(TaskIndex task) const { return removed_[task]; }
  /// A blocking call no longer waits.
  void RemoveWait(TaskIndex return_task);

  /// A kernel just before another on its stream, and its launch just before a call.
  struct NewKernel {
    TaskIndex before_task = kNoTask;  ///< A GPU task.
    TaskIndex before_call = kNoTask;  ///< Its launch, or an earlier call.
    DurationNs duration{};
    DurationNs host_work{};  ///< Before the launch.
    DurationNs launch{};     ///< Duration of the launch.
    /// A call that waits until the kernel is done, e.g. for a value; kNoTask: none does.
    TaskIndex waiting_call = kNoTask;
    bool per_sample = false;  ///< Its work grows with the batch.
  };
  /// REQUIRES: `before_call` comes before `before_task` in the graph's order.
  void Insert(const NewKernel& kernel);
  /// The kernels inserted so far, e.g. to scale them.
  std::span<NewKernel> inserted() { return inserted_; }

  const EditCounts& counts() const { return counts_; }
  /// The edited plan. Tasks are numbered anew if any were inserted.
  EditedPlan Finish() const;

 private:
  std::uint32_t TrackEdge(TaskIndex task) const { return graph_.edge_begin[task]; }
  bool HasTrackEdge(TaskIndex task) const {
    return graph_.edge_begin[task] < graph_.edge_begin[task + 1];
  }

  const Graph& graph_;
  const Plan& base_;
  Plan plan_;
  std::vector<bool> removed_;
  std::vector<NewKernel> inserted_;
  EditCounts counts_;
};

}  // namespace headroom
