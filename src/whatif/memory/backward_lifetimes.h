// The walk through a step's backward: gradients, from the node that makes them to the last that
// takes them in.
#pragma once

#include <vector>

#include "whatif/job/autograd_pairs.h"
#include "whatif/memory/forward_lifetimes.h"
#include "whatif/memory/lifetime_recorder.h"

namespace headroom {

/// Whether a node of a parameter adds to a gradient that is there already.
///
/// @param accumulate  the operator inside the node
bool AddsToGradient(const StepOperators& step, std::size_t accumulate);

/// @param forward  what WalkForward() returned
void WalkBackward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                  const std::vector<Accesses>& forward);

}  // namespace headroom
