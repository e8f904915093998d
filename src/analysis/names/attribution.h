// For every GPU task: which phase, operator, layer and source line launched it. One pass over the
// host events.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/names/operator_costs.h"
#include "base/ids.h"
#include "base/large_vector.h"
#include "store/trace_store.h"

namespace headroom {

/// What a step spends its time on.
enum class Phase : std::uint8_t {
  kOther,
  kForward,
  kBackward,
  kOptimizer,
  kDataWait,
  kCallback,
  kHostToDevice,
  kCommunication
};

/// Where a host event stands. Ids are none where there is nothing of the kind.
struct HostContext {
  HostEventId op;      ///< Innermost operator, itself included.
  HostEventId costed;  ///< Innermost operator around it whose FLOPs and bytes are known.
  HostEventId line;    ///< Innermost Python frame of the user's own code; in backward, that of the
                       ///< forward operator.
  HostEventId
      layer;  ///< Innermost module frame or layer range; in backward, that of the forward operator.
  HostEventId forward;  ///< In backward: the forward operator that made the innermost node around.
  Phase phase = Phase::kOther;
  bool recomputed =
      false;  ///< Inside a forward operator that runs again in backward (checkpointing).
};

/// Whether a task was launched by the process, as far as is known: true for orphans, and where
/// `process` is none.
bool IsWorkOf(const TraceStore& store, ProcessId process, GpuTaskId task);

/// Contexts of all host events and, through their launches, of all GPU tasks.
class Attribution {
 public:
  Attribution(const TraceStore& store, NameFacts& names, OperatorCosts& costs);

  const HostContext& Of(HostEventId event) const { return contexts_[event.index()]; }
  /// The context of the event that ran the task (TraceStore::RanBy); an empty one for an orphan.
  const HostContext& Of(GpuTaskId task) const {
    const HostEventId event = store_.RanBy(task);
    return event.valid() ? Of(event) : orphan_;
  }
  /// Whether the trace has sequence numbers, which join backward to forward.
  bool KnowsForward() const { return !forward_operators_.empty(); }
  /// Whether the thread belongs to the autograd engine: it runs backward operators and no training
  /// loop.
  bool IsAutogradThread(ThreadId thread) const { return autograd_threads_[thread.index()]; }
  /// Returns whether the thread fetches batches ahead for the loop (analysis/names/feeders.h). Its
  /// events have no phase.
  bool IsFeeder(ThreadId thread) const { return feeders_[thread.index()]; }

 private:
  void FindThreads(NameFacts& names);
  void IndexForwardOperators(NameFacts& names);
  void MatchForwardThreads();
  /// Fills in what holds inside the operator; its phase is known.
  void EnterOperator(HostEventId op, NameFacts& names, OperatorCosts& costs,
                     HostContext& context) const;
  void AttributeThread(ThreadId thread, NameFacts& names, OperatorCosts& costs);
  /// If a process records no operators, gives calls of its autograd engine's threads the phase of
  /// the backward range that another thread has around them. Such threads have calls alone, and
  /// launch nearly all of their work inside backward ranges.
  void AttributeBareCalls();
  /// Fills in what a capture does not tell and the launch of its replay does.
  void CompleteReplayed();
  bool IsBackwardNode(std::size_t row, NameFacts& names) const;
  HostEventId ForwardOperatorOf(HostEventId backward) const;
  HostEventId LastForward(std::int64_t sequence, ThreadId thread, TimeNs before) const;
  /// The first of forward_operators_ with this sequence number on this or a later thread.
  std::size_t FirstForward(std::int64_t sequence, ThreadId thread) const;
  ProcessId ProcessOf(ThreadId thread) const { return store_.threads.process[thread.index()]; }

  const TraceStore& store_;
  std::vector<bool> autograd_threads_, feeders_;

  // Sequence numbers count per thread, so a backward operator names the thread of its forward, too;
  // but by a number of the framework's own that no other event carries. Which thread that is, is
  // found by where its sequence numbers are.
  struct ForwardOperator {
    std::int64_t sequence;
    ThreadId thread;
    HostEventId op;
  };
  std::vector<ForwardOperator> forward_operators_;  ///< By sequence, thread, row.
  std::map<std::pair<ProcessId, std::int32_t>, ThreadId> forward_threads_;
  LargeVector<HostContext> contexts_;
  HostContext orphan_;
};

}  // namespace headroom
