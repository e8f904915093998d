// A recorded job with edits on top: the primitives of src/sim/edit.h, safe for all arguments.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "recording.h"
#include "replay.h"
#include "select.h"
#include "sim/edit.h"

namespace headroom::python {

/// Kernels to insert, one for each selected task.
struct Insertion {
  double duration_us = 0;
  /// Host work before the launch, and duration of the launch. Default: the times of an operator
  /// that launches one small kernel.
  std::optional<double> host_us, launch_us;
};

/// A transfer to insert on a channel.
struct Transfer {
  double duration_us = 0;
  std::int32_t priority = 0;  ///< With the policy "priority", the lowest number runs first.
  /// Tasks that must have ended: recorded tasks, or numbers of earlier inserted tasks.
  std::vector<std::int64_t> after;
  /// Recorded tasks that wait for the transfer. A task that is not later than a task of `after`
  /// refers to the next cycle.
  std::vector<std::int64_t> before;
};

/// The edits collected so far, over a shared job. All functions throw StatusError (kUsage) on
/// invalid arguments and then leave the edits unchanged. Edit only asserts its requirements; this
/// class checks them.
class EditableGraph {
 public:
  explicit EditableGraph(std::shared_ptr<const Recording> recording);
  /// An independent copy with the same edits.
  EditableGraph(const EditableGraph& other);
  EditableGraph& operator=(const EditableGraph&) = delete;

  const std::shared_ptr<const Recording>& recording() const { return recording_; }
  const Graph& graph() const { return recording_->job().graph(); }
  const EditCounts& counts() const { return edit_->counts(); }
  void Reset();

  /// Durations by task of the graph, in ns, as edited.
  std::vector<std::int64_t> Durations() const;
  /// Host work before each call in ns, as edited; 0 for all other tasks.
  std::vector<std::int64_t> WorkBefore() const;
  /// Time of the selected tasks per step in ms, as edited.
  double TimeMs(const Selected& selected) const;

  void Scale(const Selected& selected, double factor);
  void SetDuration(const Selected& selected, double us);
  void Remove(const Selected& selected);
  void ScaleHost(const Selected& selected, double factor);
  /// Removes waits of the calls in the selected host work. Returns the number of calls that waited.
  std::int64_t RemoveWaits(const Selected& selected);
  /// Returns the numbers of the new tasks.
  std::vector<std::int64_t> InsertBefore(const Selected& selected, const Insertion& insertion);
  std::vector<std::int64_t> InsertAfter(const Selected& selected, const Insertion& insertion);

  /// Creates a channel, or sets the policy of an existing one.
  void Channel(const std::string& name, std::string_view policy);
  /// Inserts a transfer and returns its number.
  std::int64_t Insert(std::string_view channel, const Transfer& transfer);
  /// Number of transfers on the channel; 0 also for a removed channel.
  std::int64_t ChannelTasks(std::string_view channel) const;
  void ScaleChannel(std::string_view channel, double factor);
  void ClearChannel(std::string_view channel);

  /// Applies a scenario, or a combination, as an edit. Returns its remarks.
  std::string Apply(std::string_view scenario);

  /// Returns a copy to replay; further edits do not change it.
  EditedPlan Finish() const;
  /// Number of tasks: those of the graph and all inserted ones.
  std::size_t numbers() const { return edit_->Present().size(); }

 private:
  std::int64_t InsertKernel(TaskIndex before_task, const Insertion& insertion);
  /// Throws if reset() removed the channel.
  std::uint32_t NumberOf(std::string_view channel) const;
  void CheckInsertable(TaskIndex before_task, TaskIndex wanted) const;
  /// Returns true if every task that another one waits for is present.
  bool IsWhole() const;
  void ForgetTheAbsent();

  std::shared_ptr<const Recording> recording_;
  std::shared_ptr<std::set<std::string>>
      channel_names_;  ///< Shared, because the copies of the edit refer to the names.
  std::unique_ptr<Edit> edit_;
  /// By inserted task: the last task, in the graph's order, that the inserted task follows or waits
  /// for, directly or indirectly; -1: none.
  std::map<TaskIndex, std::int64_t> waits_until_;
};

}  // namespace headroom::python
