// The dependency graph of a recorded job.
//
// Every task has two moments, its start and its end. An edge requires that one moment comes no
// earlier than another plus a lag. The job's schedule is the longest path. A what-if forecast
// changes durations and lags.
//
// Sources: Zhu, Phanishayee and Pekhimenko, "Daydream" (USENIX ATC 2020), and the moments of
// Holistic Trace Analysis' critical path. The launch queue, observed lags and cyclic replay are
// additions. docs/engine.md gives the rules.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "graph/host_chain.h"

namespace headroom {

using TaskIndex = std::uint32_t;
inline constexpr TaskIndex kNoTask = 0xFFFFFFFFu;

enum class TaskKind : std::uint8_t {
  kCall,  ///< An API call, without the time that it waits.
  /// The return of a blocking call: no duration, but edges from the tasks that it waits for.
  kReturn,
  kGpu,  ///< A kernel, copy or memory set.
};

/// Reason why one moment cannot come before another.
enum class EdgeKind : std::uint8_t {
  kHost,         ///< Order of calls on a thread; the lag is the work between them.
  kHandOver,     ///< Order of calls across a hand-over from one thread to another.
  kStream,       ///< Order of tasks on a stream.
  kLaunch,       ///< Launch latency: start of a launch to start of its task.
  kQueue,        ///< A launch waits until fewer tasks than the queue's depth wait to start.
  kSync,         ///< Wait of a call: end of a task to return of the call that waits for it.
  kCrossStream,  ///< Wait between streams: end of a task to start of a task on another stream.
};

/// Source of an edge.
enum class Provenance : std::uint8_t {
  kRecorded,  ///< The trace records it: order on a track, correlation ids.
  kResolved,  ///< Derived from synchronization records that name both sides.
  kInferred,  ///< Derived from the order of calls and times, by a rule of docs/engine.md.
};

std::string_view Name(EdgeKind kind);
std::string_view Name(Provenance provenance);

/// A GPU task that starts this long after its dependencies has an unknown further dependency.
inline constexpr DurationNs kLateStart{20'000};

/// From this time on, a late start is a wait whose record is missing, not a latency.
inline constexpr DurationNs kUnrecordedWait{1'000'000};

struct Graph;

/// Returns the part of an edge's lag into a GPU task that is a wait whose record is missing; 0 for
/// shorter lags.
DurationNs UnrecordedWaitOf(const Graph& graph, std::uint32_t edge);

/// An edge into the start of a task.
struct Edge {
  TaskIndex from = kNoTask;
  bool from_end = true;          ///< True: from the end of `from`; false: from its start.
  std::uint8_t cycles_back = 0;  ///< 0: same cycle; n: n cycles back (see Graph).
  EdgeKind kind = EdgeKind::kHost;
  Provenance provenance = Provenance::kRecorded;
  DurationNs lag{};  ///< Minimum time between the two moments.
};

/// A task as recorded.
struct Task {
  TaskKind kind = TaskKind::kCall;
  std::uint32_t row = 0;   ///< Row of host_events (calls and returns) or gpu_tasks.
  std::int32_t step = -1;  ///< Index of the step in which it was called or launched; -1: none.
  TimeNs start{};          ///< Recorded start.
  DurationNs duration{};   ///< Duration without waits, which are edges.
  /// Hosts are slower soon after a long wait in a queue or for the GPU (docs/engine.md).
  /// `slow_work` marks such framework work before a call, and `slow_call` such a call. Calls that
  /// waited are not marked, because a median replaces their duration. Blocking calls are not marked
  /// either.
  bool slow_work = false, slow_call = false;
  /// For calls: the work in the first edge's lag, as a range of Graph::pieces.
  std::uint32_t pieces_begin = 0, pieces_end = 0;
};

/// Accounts for host time, and for the time and tasks that no edge or rule explains.
struct Ledger {
  DurationNs host;              ///< Time of host chains in the window.
  DurationNs waits;             ///< Part of `host` that was moved from calls to edges.
  DurationNs unexplained_host;  ///< Part of `host` in long silences without an event.
  DurationNs unexplained_gpu;   ///< Late starts of tasks that neither stream nor launch explains.
  std::int64_t anchored_tasks = 0;  ///< GPU tasks without a recorded launch.
  std::int64_t dropped_edges = 0;   ///< Inferred edges that contradict the recorded times.
};

/// The recorded steps as one cycle of a periodic schedule. An edge with `cycles_back` reaches into
/// an earlier repetition, so repeated replay of the cycle shows the steady state.
///
/// Tasks and moments are in topological order. Task t has the moments 2 t (start) and 2 t + 1
/// (end). Edges into t are [edge_begin[t], edge_begin[t + 1]); the first one comes from the
/// previous task on its track (kHost, kHandOver or kStream).
struct Graph {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> edge_begin;  ///< tasks.size() + 1 entries.
  std::vector<Edge> edges;
  std::vector<HostPiece> pieces;
  std::int32_t steps = 0;  ///< Steps per cycle; at least 1.
  /// True if several steps were recorded, so that they can repeat. False: the recording is replayed
  /// once, and the "step" is the time from its first call to its last GPU work.
  bool periodic = true;
  /// Mean interval between the ends of the steps' GPU work, as recorded.
  DurationNs recorded_step;
  std::int64_t queue_depth = 0;       ///< Depth of the launch queue; 0 if no limit was seen.
  bool queue_depth_measured = false;  ///< False if `queue_depth` is a default.
  /// Median time from a launch's start to its task's start on an idle stream.
  DurationNs launch_latency;
  Ledger ledger;

  std::size_t moments() const { return 2 * tasks.size(); }
};

}  // namespace headroom
