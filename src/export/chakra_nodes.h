// Converts a trace to the nodes of a Chakra execution trace. Each node begins when all its
// dependencies have ended, and nothing else delays it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "base/status.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

using ChakraNodeIndex = std::uint32_t;
inline constexpr ChakraNodeIndex kNoChakraNode = 0xFFFFFFFFu;

enum class ChakraWork : std::uint8_t {
  kHost,   ///< Host work, in the event `row` of host_events if one covers it.
  kCall,   ///< A runtime or driver call, without its waiting time.
  kTask,   ///< A kernel, copy or memory set: a row of gpu_tasks.
  kDelay,  ///< Time between the dependencies of a node and the node, such as a latency or gap.
};

struct ChakraNode {
  ChakraWork work = ChakraWork::kHost;
  bool on_cpu = true;
  TimeNs start, end;       ///< Recorded times.
  std::string_view name;   ///< Recorded name or a literal; may contain invalid UTF-8.
  HostEventId event;       ///< Set for kHost and kCall; none if no event covers the work.
  ThreadId thread;         ///< Set for kHost and kCall.
  GpuTaskId task;          ///< Set for kTask.
  bool is_first = false;   ///< True for the first node of its event.
  std::int32_t step = -1;  ///< Index into the steps of StepAnalysis, for kTask; -1: none.
  /// The first node of the enclosing event, or the launch of the task; kNoChakraNode if unknown.
  ChakraNodeIndex caller = kNoChakraNode;
  std::uint32_t deps_begin = 0, deps_end = 0;  ///< Range in ChakraNodes::deps.
};

/// Nodes in topological order: each follows all its dependencies.
struct ChakraNodes {
  std::vector<ChakraNode> nodes;
  std::vector<ChakraNodeIndex> deps;  ///< Dependencies; each node uses [deps_begin, deps_end).
  /// First timestamp of the trace, at which microseconds start.
  TimeNs zero;
  std::int64_t delays = 0;  ///< Number of delay nodes.
  /// Number of dependencies that had not ended when their node started. The node depends on their
  /// dependencies instead.
  std::int64_t rerouted = 0;

  std::span<const ChakraNodeIndex> DepsOf(const ChakraNode& node) const {
    return std::span(deps).subspan(node.deps_begin, node.deps_end - node.deps_begin);
  }
  /// Returns whole microseconds since `zero`, rounded down. Lengths are differences of these
  /// values, so that sums of consecutive lengths have no rounding error.
  std::int64_t Micros(TimeNs time) const;
};

/// Returns the work of the whole trace. In whole microseconds, each node begins exactly when its
/// last dependency ends. If the recorded start was later, a delay node fills the gap. A simulator
/// that uses only the dependencies therefore reproduces the recorded schedule.
///
/// Every GPU task, and every operator that launched one, has a node. Fails with kEnvironment if
/// such a node is missing, or if a dependency ends after its node begins. Otherwise fails like
/// BuildGraph().
Result<ChakraNodes> MakeChakraNodes(const TraceStore& store, NameFacts& names,
                                    const StepAnalysis& steps);

}  // namespace headroom
