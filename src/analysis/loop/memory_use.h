// Memory that a framework allocates over time, by purpose and owner. Computed from a profiler's
// memory records (profile_memory=True): the time, size and address of each allocation and free.
//
// The records do not state the purpose. It is inferred from the time of the allocation and from the
// lifetime. The first rule that matches applies:
//
//   before_recording  allocated before the first record: parameters and other long-lived memory
//   input             allocated for a copy of the host's data, or while the loop waits for its
//                     batch or copies it
//   activation        allocated in forward, live when the next backward begins, and freed before
//                     the backward after that ends (or not freed in the records); if no backward
//                     follows: live when the model's forward ends
//   gradient          allocated in backward and live when that backward ends
//   optimizer_state   allocated by the update and live when that update ends
//   temporary         allocated in a pass and freed too early for the rules above, or allocated
//                     outside the passes and freed before the outermost operator around it ends
//   other             all other memory
//
// PyTorch's memory timeline (torch.profiler._memory_profiler) instead follows each tensor through
// the operators. That requires shapes, stacks and the running program.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "store/trace_store.h"

namespace headroom {

/// Purposes of memory, in the order of MemoryMoment::parts.
inline constexpr std::array<std::string_view, 7> kMemoryKinds = {
    "before_recording", "optimizer_state", "gradient", "activation", "input", "temporary", "other"};

/// Returns one row per device and process, GPUs first, by number; empty if no memory was recorded.
/// If the total falls below the known allocations, a free was not recorded, and the oldest
/// allocation counts as freed. With more than 64 devices, keeps those with the most records.
std::vector<MemoryUse> MeasureMemory(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const StepAnalysis& steps);

}  // namespace headroom
