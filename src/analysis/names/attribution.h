// Attributes every GPU task to the phase, operator, layer and source line that launched it. Makes
// one pass over the host events.
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

/// Phases of a step.
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

/// Context of a host event. Ids are None() if no such event surrounds it.
struct HostContext {
  HostEventId op;      ///< Innermost operator, the event included.
  HostEventId costed;  ///< Innermost such operator with known FLOPs and bytes.
  /// Innermost Python frame of the user's code; in backward, that of the forward operator.
  HostEventId line;
  /// Innermost module frame or layer range; in backward, that of the forward operator.
  HostEventId layer;
  /// In backward, the forward operator of the innermost node around the event.
  HostEventId forward;
  Phase phase = Phase::kOther;
  /// True inside a forward operator that backward recomputes (checkpointing).
  bool recomputed = false;
};

/// Returns true if the process launched the task or may have: true for orphans, and if `process` is
/// None().
bool IsWorkOf(const TraceStore& store, ProcessId process, GpuTaskId task);

/// Contexts of all host events and, through their launches, of all GPU tasks.
class Attribution {
 public:
  Attribution(const TraceStore& store, NameFacts& names, OperatorCosts& costs);

  const HostContext& Of(HostEventId event) const { return contexts_[event.index()]; }
  /// Returns the context of the event that ran the task (TraceStore::RanBy), or an empty one for an
  /// orphan.
  const HostContext& Of(GpuTaskId task) const {
    const HostEventId event = store_.RanBy(task);
    return event.valid() ? Of(event) : orphan_;
  }
  /// Returns true if the trace has sequence numbers, which join backward to forward.
  bool KnowsForward() const { return !forward_operators_.empty(); }
  /// Returns true if the thread belongs to the autograd engine: it runs backward operators but no
  /// training loop.
  bool IsAutogradThread(ThreadId thread) const { return autograd_threads_[thread.index()]; }
  /// Returns true if the thread prefetches batches for the loop (analysis/names/feeders.h). Its
  /// events have no phase.
  bool IsFeeder(ThreadId thread) const { return feeders_[thread.index()]; }

 private:
  void FindThreads(NameFacts& names);
  void IndexForwardOperators(NameFacts& names);
  void MatchForwardThreads();
  /// Fills in the context inside the operator, whose phase is known.
  void EnterOperator(HostEventId op, NameFacts& names, OperatorCosts& costs,
                     HostContext& context) const;
  void AttributeThread(ThreadId thread, NameFacts& names, OperatorCosts& costs);
  /// If a process records no operators, gives calls of its autograd threads the phase of the
  /// backward range that is open on another thread. Such threads have only calls, and launch nearly
  /// all of their work inside backward ranges.
  void AttributeBareCalls();
  /// Fills gaps in the contexts of replayed events with the context of the graph launch.
  void CompleteReplayed();
  bool IsBackwardNode(std::size_t row, NameFacts& names) const;
  HostEventId ForwardOperatorOf(HostEventId backward) const;
  HostEventId LastForward(std::int64_t sequence, ThreadId thread, TimeNs before) const;
  /// Returns the index of the first entry of forward_operators_ with this sequence number, on this
  /// or a later thread.
  std::size_t FirstForward(std::int64_t sequence, ThreadId thread) const;
  ProcessId ProcessOf(ThreadId thread) const { return store_.threads.process[thread.index()]; }

  const TraceStore& store_;
  std::vector<bool> autograd_threads_, feeders_;

  // Sequence numbers are per thread, so a backward operator also records its forward thread. That
  // thread number is internal to the framework, and no other event records it. The forward thread
  // is the one whose sequence numbers match.
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
