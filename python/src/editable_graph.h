// A recorded job with edits on top: the primitives of src/sim/edit.h, safe for any arguments.
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

/// Kernels to be inserted, one for each selected task.
struct Insertion {
  double duration_us = 0;
  /// Work before the launch, and the launch: what an operator takes that launches one small kernel,
  /// if not given.
  std::optional<double> host_us, launch_us;
};

/// A task of a channel.
struct Transfer {
  double duration_us = 0;
  std::int32_t priority = 0;        ///< The lowest goes first where the policy is "priority".
  std::vector<std::int64_t> after;  ///< Recorded tasks, or what was inserted before.
  /// Recorded tasks. One that comes no later than what the transfer waits for is the next cycle's.
  std::vector<std::int64_t> before;
};

/// The edits collected so far, over a job that is shared. All throw StatusError (kUsage) and leave
/// the edits as they were. The edit asserts what it requires; here it is checked.
class EditableGraph {
 public:
  explicit EditableGraph(std::shared_ptr<const Recording> recording);
  /// With the same edits; they go apart from here on.
  EditableGraph(const EditableGraph& other);
  EditableGraph& operator=(const EditableGraph&) = delete;

  const std::shared_ptr<const Recording>& recording() const { return recording_; }
  const Graph& graph() const { return recording_->job().graph(); }
  const EditCounts& counts() const { return edit_->counts(); }
  void Reset();

  /// By task of the graph, in ns, as edited.
  std::vector<std::int64_t> Durations() const;
  /// Host work before each call, as edited; 0 for all other tasks.
  std::vector<std::int64_t> WorkBefore() const;
  /// A step's share of the selected tasks' durations, as edited.
  double TimeMs(const Selected& selected) const;

  void Scale(const Selected& selected, double factor);
  void SetDuration(const Selected& selected, double us);
  void Remove(const Selected& selected);
  void ScaleHost(const Selected& selected, double factor);
  /// Of the calls in the selected host work. Returns how many there are.
  std::int64_t RemoveWaits(const Selected& selected);
  /// Returns their numbers.
  std::vector<std::int64_t> InsertBefore(const Selected& selected, const Insertion& insertion);
  std::vector<std::int64_t> InsertAfter(const Selected& selected, const Insertion& insertion);

  /// A new channel, or the one of that name with another policy.
  void Channel(const std::string& name, std::string_view policy);
  /// Returns its number.
  std::int64_t Insert(std::string_view channel, const Transfer& transfer);
  /// 0 also of a channel that there is no more.
  std::int64_t ChannelTasks(std::string_view channel) const;
  void ScaleChannel(std::string_view channel, double factor);
  void ClearChannel(std::string_view channel);

  /// Makes a scenario, or a combination, one of the edits. Returns its remarks.
  std::string Apply(std::string_view scenario);

  /// A copy to replay, also while the edits go on.
  EditedPlan Finish() const;
  /// How many numbers are given: to the graph's tasks and to all that was inserted.
  std::size_t numbers() const { return edit_->Present().size(); }

 private:
  std::int64_t InsertKernel(TaskIndex before_task, const Insertion& insertion);
  /// Throws where a reset took it.
  std::uint32_t NumberOf(std::string_view channel) const;
  void CheckInsertable(TaskIndex before_task, TaskIndex wanted) const;
  /// Everything that waits for something waits for something that is there.
  bool IsWhole() const;
  void ForgetTheAbsent();

  std::shared_ptr<const Recording> recording_;
  std::shared_ptr<std::set<std::string>> channel_names_;  ///< Outlive all copies of the edit.
  std::unique_ptr<Edit> edit_;
  /// Of what was inserted: the last task of the graph's order that it waits for, by whatever way,
  /// or just before which it runs; -1: none.
  std::map<TaskIndex, std::int64_t> waits_until_;
};

}  // namespace headroom::python
