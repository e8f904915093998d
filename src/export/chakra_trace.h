// The nodes of a trace as a file of the Chakra execution trace format (MLCommons), which ASTRA-sim
// and other simulators of distributed jobs run.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "export/chakra_nodes.h"
#include "store/trace_store.h"

namespace headroom {

/// Of a trace in its job.
struct ChakraRank {
  std::int64_t number = 0;
  bool is_told = true;  ///< By the trace, its name or whoever asked; else a guess.
};

/// What a file holds.
struct ChakraCounts {
  std::int64_t nodes = 0, dependencies = 0;
  std::int64_t tasks = 0, host = 0, delays = 0;  ///< Nodes on the GPU, of the host, of no work.
  std::int64_t collectives = 0, point_to_point = 0;
  /// Communication whose kind, size or other side was not recorded: computation of the same length,
  /// which a simulated network does not change.
  std::int64_t communication_as_computation = 0;
};

/// Writes the metadata and one message a node, in pieces; docs/export.md says what they hold.
///
/// @param rank  the sender of what the trace sends
ChakraCounts WriteChakraTrace(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                              const ChakraNodes& nodes, ChakraRank rank,
                              const std::function<void(std::string_view)>& sink);

}  // namespace headroom
