// Stacks with the time of each, one a line, as flame-graph tools take them: "a;b;c 1234".
#pragma once

#include <string>

#include "base/status.h"
#include "ingest/input/expansion_limit.h"
#include "store/trace_store.h"

namespace headroom {

enum class StackTime {
  kHost,  ///< Of each host event, what is in none of those inside it.
  kGpu,   ///< Of each GPU task, below the stack that launched it.
};

/// Lines "thread;frame;...;name N" with N in nanoseconds, each stack once, those inside it behind
/// it, siblings by text; those of no length are left out. Tasks without a launch stand below "(no
/// launch recorded)". In names, what would end a frame or a line is replaced: `;` by `:`, a line
/// break by a blank. Fails as ExpansionLimit::CheckWritten(), which names `path`.
///
/// REQUIRES: `store` is frozen.
Result<std::string> FoldedStacks(const TraceStore& store, StackTime time, const std::string& path,
                                 ExpansionLimit limit);

}  // namespace headroom
