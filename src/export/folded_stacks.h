// Writes stacks with their times, one per line, as flame-graph tools expect: "a;b;c 1234".
#pragma once

#include <string>

#include "base/status.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom {

enum class StackTime {
  kHost,  ///< Self time of each host event, without the events inside it.
  kGpu,   ///< Time of each GPU task, below the stack that launched it.
};

/// Returns lines "thread;frame;...;name N" with N in nanoseconds. Each stack appears once, nested
/// stacks follow it, and siblings are sorted by text. Stacks without time are omitted. Tasks
/// without a launch appear below "(no launch recorded)".
///
/// Replaces characters in names that would end a frame or a line: `;` with `:`, a line break with a
/// space. Fails like ExpansionLimit::CheckWritten(), which names `path`.
///
/// REQUIRES: `store` is frozen.
Result<std::string> FoldedStacks(const TraceStore& store, StackTime time, const std::string& path,
                                 ExpansionLimit limit);

}  // namespace headroom
