// Writes the nodes of a trace as a file in the Chakra execution trace format (MLCommons). ASTRA-sim
// and other simulators of distributed jobs run such files.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "analysis/analyzed_trace.h"
#include "analysis/names/name_facts.h"
#include "export/chakra_nodes.h"
#include "store/trace_store.h"

namespace headroom {

/// Rank of a trace in its job.
struct ChakraRank {
  std::int64_t number = 0;
  /// True if the trace, its file name or the user states the rank; false if the rank is a guess.
  bool is_told = true;
};

/// Contents of a written file.
struct ChakraCounts {
  std::int64_t nodes = 0, dependencies = 0;
  /// Nodes on the GPU, nodes on the host, and delays.
  std::int64_t tasks = 0, host = 0, delays = 0;
  std::int64_t collectives = 0, point_to_point = 0;
  /// Communication whose kind, size or peer was not recorded. It becomes computation of the same
  /// length, which a simulated network does not change.
  std::int64_t communication_as_computation = 0;
};

/// Writes the metadata and one message per node, in pieces. docs/export.md describes their
/// contents.
/// @param rank  the rank that sends the communication of this trace
ChakraCounts WriteChakraTrace(const TraceStore& store, NameFacts& names, const AnalyzedTrace& trace,
                              const ChakraNodes& nodes, ChakraRank rank,
                              const std::function<void(std::string_view)>& sink);

}  // namespace headroom
