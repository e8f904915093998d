// Stacks with the time of each, one a line, as flame-graph tools take them: "a;b;c 1234".
#pragma once

#include <string>

#include "store/trace_store.h"

namespace headroom {

enum class StackTime {
  kHost,  ///< Of each host event, what is in none of those inside it.
  kGpu,   ///< Of each GPU task, below the stack that launched it.
};

/// Lines "thread;frame;...;name N" with N in nanoseconds, by text, each stack once; those of no
/// length are left out. Tasks without a launch stand below "(no launch recorded)". In names, what
/// would end a frame or a line is replaced: `;` by `:`, a line break by a blank.
///
/// REQUIRES: `store` is frozen.
std::string FoldedStacks(const TraceStore& store, StackTime time);

}  // namespace headroom
