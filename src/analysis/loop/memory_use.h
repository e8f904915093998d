// What a framework allocated over time, what for and by whom: of a profiler's memory records
// (profile_memory=True), which tell when how many bytes were allocated or freed at an address.
//
// They do not tell what for. That follows from when the memory was allocated and how long it was
// kept, by these rules, the first that holds:
//
//   before_recording  allocated before the first record: parameters, and what else was kept
//   input             allocated to hold a copy of the host's data, or while the loop waits for its
//                     batch or copies it
//   activation        allocated in forward, kept when the backward behind it begins, and freed
//                     before the backward after that ends (or not at all by the end of the
//                     records); where no backward follows: kept when the model's forward ends
//   gradient          allocated in backward and kept when that ends
//   optimizer_state   allocated by the update and kept when that ends
//   temporary         freed earlier than that
//   other             all else: what was kept longer, or allocated outside of the passes
//
// PyTorch's own memory timeline (torch.profiler._memory_profiler) follows each tensor through the
// operators instead, which needs shapes, stacks and the program still at hand.
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

/// What memory is for, in the order of MemoryMoment::parts.
inline constexpr std::array<std::string_view, 7> kMemoryKinds = {
    "before_recording", "optimizer_state", "gradient", "activation", "input", "temporary", "other"};

/// One row a device and process, GPUs first, by number; empty where no memory was recorded. What
/// was freed without a record (the total fell below what is known) counts as the oldest. Of more
/// than 64 devices, those with the most records.
std::vector<MemoryUse> MeasureMemory(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const StepAnalysis& steps);

}  // namespace headroom
