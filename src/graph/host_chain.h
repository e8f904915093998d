// Host activity as chains of API calls with the work between them.
//
// Threads of a training job mostly take turns: the training loop waits in backward() while the
// autograd thread works. Work of another thread in such a silent interval is spliced into the
// loop's chain. The hand-over in both directions then becomes an edge instead of a gap that looks
// like work.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// An interval of host time outside API calls, in one innermost event.
struct HostPiece {
  TimeNs start{}, end{};
  HostEventId owner{};  ///< Innermost operator, annotation or frame; none if no event was recorded.
  ThreadId thread{};
  /// Starts and ends of recorded operators and annotations at `start`. Each costs half the profiler
  /// overhead of one event.
  std::uint16_t operator_halves = 0;
  std::uint16_t frame_halves = 0;  ///< Starts and ends of Python frames.

  DurationNs length() const { return end - start; }
};

/// An outermost runtime or driver call.
struct HostCall {
  HostEventId event;
  ThreadId thread;
  TimeNs start, end;
  std::uint32_t pieces_begin = 0;  ///< Work before the call: pieces [begin, end) of its chain.
  std::uint32_t pieces_end = 0;
  bool handed_over = false;  ///< The previous call in the chain belongs to another thread.
};

/// Consecutive calls and the work between them, in order of time without overlap.
struct HostChain {
  /// Pieces after the last call's `pieces_end` complete the window.
  std::vector<HostPiece> pieces;
  std::vector<HostCall> calls;
};

/// Returns the chains of a process in a window. The first is that of the training loop's thread,
/// with the threads that take turns with it. Each other thread that makes calls has its own chain.
///
/// @param process  the process of the threads; none: all processes
/// @param loop  the thread of the training loop; none: the thread with the most calls
std::vector<HostChain> FindHostChains(const TraceStore& store, ProcessId process, ThreadId loop,
                                      Interval window);

/// Returns the chain of the training loop's thread in a recording without calls, with the threads
/// that take turns with it. So that the chain can be replayed, a nanosecond at the start of the
/// first piece of work, and one at the end of the last in each step, count as calls. The chain has
/// no calls if nothing was recorded.
///
/// @param loop  none: the thread with the most recorded work
/// @param steps  in order; empty: the window is one step
/// @param feeders  by thread: true if it prefetches batches, and thus takes no turns
HostChain FindChainWithoutCalls(const TraceStore& store, ProcessId process, ThreadId loop,
                                Interval window, const std::vector<Interval>& steps,
                                const std::vector<bool>& feeders);

}  // namespace headroom
