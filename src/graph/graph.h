// The dependency graph of a recorded job: moments, and what keeps each from coming earlier.
//
// Every task has two moments, its start and its end. An edge says that one moment comes no earlier
// than another plus a lag. The job's schedule is then the longest path, and a what-if is another
// set of durations and lags. Source of the idea: Zhu, Phanishayee and Pekhimenko, "Daydream"
// (USENIX ATC 2020), and the moments of Holistic Trace Analysis' critical path; the launch queue,
// observed lags and cyclic replay are our own. docs/engine.md gives the rules.
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
  kCall,    ///< An API call, without what it waits for.
  kReturn,  ///< Where a blocking call returns: no length of its own, but edges that it waits for.
  kGpu,     ///< A kernel, copy or set.
};

/// Why one moment cannot come before another.
enum class EdgeKind : std::uint8_t {
  kHost,         ///< Order of calls on a thread; the lag is the work between them.
  kHandOver,     ///< The same from one thread to another.
  kStream,       ///< Order of tasks on a stream.
  kLaunch,       ///< From the start of a launch to the start of its task.
  kQueue,        ///< A launch waits until fewer than the queue's depth of tasks wait to start.
  kSync,         ///< From the end of a task to the return of the call that waits for it.
  kCrossStream,  ///< From the end of a task to a task of another stream that waits for it.
};

/// How an edge is known.
enum class Provenance : std::uint8_t {
  kRecorded,  ///< The trace says so: order on a track, correlation ids.
  kResolved,  ///< From synchronization records that name both sides.
  kInferred,  ///< From the order of calls and times, by a rule of docs/engine.md.
};

std::string_view Name(EdgeKind kind);
std::string_view Name(Provenance provenance);

/// A GPU task that starts later than this behind what it waits for waited for something else.
inline constexpr DurationNs kLateStart{20'000};

/// An edge into the start of a task.
struct Edge {
  TaskIndex from = kNoTask;
  bool from_end = true;          ///< From its end; else from its start.
  std::uint8_t cycles_back = 0;  ///< 0: of the same cycle; n: of the n-th before (see Graph).
  EdgeKind kind = EdgeKind::kHost;
  Provenance provenance = Provenance::kRecorded;
  DurationNs lag{};
};

/// A task as recorded.
struct Task {
  TaskKind kind = TaskKind::kCall;
  std::uint32_t row = 0;   ///< Of host_events (calls and returns) or gpu_tasks.
  std::int32_t step = -1;  ///< Row of the steps in which it was launched or called; -1: none.
  TimeNs start{};          ///< As recorded.
  DurationNs duration{};   ///< Its own: waits are edges.
  /// Calls: the framework's work before it, and the call itself, come shortly behind a long wait,
  /// in a queue or for the GPU, where hosts are slower (docs/engine.md). A call that waited is not
  /// slow itself: its duration is what is usual. Nor is one that blocks.
  bool slow_work = false, slow_call = false;
  /// Calls: the work that the first edge's lag stands for, as pieces of Graph::pieces.
  std::uint32_t pieces_begin = 0, pieces_end = 0;
};

/// Host or GPU time for which no edge and no rule accounts.
struct Ledger {
  DurationNs host;              ///< Time of host chains in the window.
  DurationNs waits;             ///< Of that: taken out of calls and carried by edges.
  DurationNs unexplained_host;  ///< Of that: long silences that no event covers.
  DurationNs unexplained_gpu;   ///< Late starts of tasks that neither stream nor launch explains.
  std::int64_t anchored_tasks = 0;  ///< GPU tasks without a recorded launch.
  std::int64_t dropped_edges = 0;   ///< Inferred edges that the recorded times contradict.
};

/// The recorded steps as one cycle of a periodic schedule: an edge with `cycles_back` reaches into
/// an earlier repetition, so that replaying the cycle several times shows the steady state.
///
/// Tasks are in topological order, and so are the moments: those of task t are 2 t (start) and
/// 2 t + 1 (end). Edges into t are [edge_begin[t], edge_begin[t + 1]); the first is that of its
/// track (kHost, kHandOver or kStream).
struct Graph {
  std::vector<Task> tasks;
  std::vector<std::uint32_t> edge_begin;  ///< tasks.size() + 1.
  std::vector<Edge> edges;
  std::vector<HostPiece> pieces;
  std::int32_t steps = 0;  ///< In one cycle; at least 1.
  /// Several steps were recorded, so that they can follow each other; else the recording is
  /// replayed once, and the "step" is the time from its first call to its last GPU work.
  bool periodic = true;
  DurationNs recorded_step;      ///< Mean distance of the steps' ends of GPU work, as recorded.
  std::int64_t queue_depth = 0;  ///< Of the launch queue; 0: no limit was seen.
  bool queue_depth_measured = false;  ///< Else a default.
  DurationNs launch_latency;  ///< From a launch's start to its task's on an idle stream; median.
  Ledger ledger;

  std::size_t moments() const { return 2 * tasks.size(); }
};

}  // namespace headroom
