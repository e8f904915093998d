// A trace as the nodes of a Chakra execution trace: work that begins when all that it depends on
// has ended, and nothing else holds it back.
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
  kHost,   ///< Work of the host, under the event `row` of host_events where there is one.
  kCall,   ///< A runtime or driver call: that event, without what it waits for.
  kTask,   ///< A kernel, copy or set: `row` of gpu_tasks.
  kDelay,  ///< Time between what a node depends on and the node: a latency, a gap. No work.
};

struct ChakraNode {
  ChakraWork work = ChakraWork::kHost;
  bool on_cpu = true;
  TimeNs start, end;       ///< As recorded.
  std::string_view name;   ///< As recorded, or a literal; bytes may be no UTF-8.
  HostEventId event;       ///< Of kHost and kCall; none: no event covers the work.
  ThreadId thread;         ///< Of kHost and kCall.
  GpuTaskId task;          ///< Of kTask.
  bool is_first = false;   ///< Of the nodes of its event.
  std::int32_t step = -1;  ///< Of kTask: row of StepAnalysis' list; -1: none.
  ChakraNodeIndex caller =
      kNoChakraNode;  ///< The first node of the event around it, or its launch.
  std::uint32_t deps_begin = 0, deps_end = 0;
};

/// Nodes in an order in which each comes after all that it depends on.
struct ChakraNodes {
  std::vector<ChakraNode> nodes;
  std::vector<ChakraNodeIndex> deps;  ///< [deps_begin, deps_end) of each node.
  TimeNs zero;                        ///< The trace's first stamp, from which microseconds count.
  std::int64_t delays = 0;
  std::int64_t rerouted = 0;  ///< Dependencies that had not ended by the recorded times: the node
                              ///< depends on what these depend on instead.

  std::span<const ChakraNodeIndex> DepsOf(const ChakraNode& node) const {
    return std::span(deps).subspan(node.deps_begin, node.deps_end - node.deps_begin);
  }
  /// Whole microseconds from `zero`, rounded down: lengths are differences of these, so that the
  /// sum of what follows each other has no rounding error of its own.
  std::int64_t Micros(TimeNs time) const;
};

/// The work of the whole trace. Each node begins, in whole microseconds, exactly when the last of
/// what it depends on ends; where the recorded time was later, a delay stands between. So whoever
/// runs the nodes by their dependencies alone gets the recorded schedule.
///
/// Every GPU task is a node, and so is every operator that launched one; the function checks that,
/// and that no dependency ends after what depends on it begins (kEnvironment). Fails as
/// BuildGraph().
Result<ChakraNodes> MakeChakraNodes(const TraceStore& store, NameFacts& names,
                                    const StepAnalysis& steps);

}  // namespace headroom
