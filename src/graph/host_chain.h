// What the host did, as chains of API calls with the work between them.
//
// Threads of a training job mostly take turns: the training loop sits still in backward() while the
// autograd thread works. What another thread does inside such a silent piece is spliced into the
// loop's chain, so that the hand-over there and back is an edge, not a gap that looks like work.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// A stretch of host time outside API calls, under one innermost event.
struct HostPiece {
  TimeNs start{}, end{};
  HostEventId owner{};  ///< Innermost operator, annotation or frame; none: no event was recorded.
  ThreadId thread{};
  /// Begins and ends of recorded operators and annotations at `start`; each costs half a record.
  std::uint16_t operator_halves = 0;
  std::uint16_t frame_halves = 0;  ///< The same of Python frames.

  DurationNs length() const { return end - start; }
};

/// An outermost runtime or driver call.
struct HostCall {
  HostEventId event;
  ThreadId thread;
  TimeNs start, end;
  std::uint32_t pieces_begin = 0;  ///< The work before it: pieces [begin, end) of its chain.
  std::uint32_t pieces_end = 0;
  bool handed_over = false;  ///< The call before it in the chain is of another thread.
};

/// Calls that follow each other, and the work between them, in order of time without overlap.
struct HostChain {
  std::vector<HostPiece> pieces;  ///< Those behind the last call's `pieces_end` end the window.
  std::vector<HostCall> calls;
};

/// The chains of a process within a window: first that of the training loop's thread, with the
/// threads that take turns with it; then one for each other thread that makes calls.
///
/// @param process  none: all threads
/// @param loop  the thread of the training loop; none: the one with most calls
std::vector<HostChain> FindHostChains(const TraceStore& store, ProcessId process, ThreadId loop,
                                      Interval window);

}  // namespace headroom
