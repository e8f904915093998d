// The walk through a step's backward. Gradients live from the node that makes them to the last node
// that reads them.
#pragma once

#include <vector>

#include "whatif/job/autograd_pairs.h"
#include "whatif/memory/forward_lifetimes.h"
#include "whatif/memory/lifetime_recorder.h"

namespace headroom {

/// Returns true if a parameter's node adds to an existing gradient.
///
/// @param accumulate  the operator inside the node
bool AddsToGradient(const StepOperators& step, std::size_t accumulate);

/// Adds the gradients of the backward, and extends the lives of tensors that it reads.
///
/// @param forward  result of WalkForward()
void WalkBackward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                  const std::vector<Accesses>& forward);

}  // namespace headroom
