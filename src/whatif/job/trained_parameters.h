// The parameters that a job trains, and the work of the backward that computes their gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// A GPU task that computes a parameter's gradient.
struct GradientPart {
  TaskIndex task = kNoTask;
  /// Share of the task's time that training the parameter costs. 0 if the task computes the
  /// gradient as a by-product, such as that of a batch norm. Parameters may share a task.
  double share = 1;
};

/// A parameter in one backward pass.
struct TrainedParameter {
  HostEventId accumulate;  ///< The node that completes its gradient.
  double bytes = 0;
  std::vector<HostEventId> users;   ///< Forward operators that read it; empty if unknown.
  std::vector<GradientPart> parts;  ///< Empty if the work is unknown, as in recurrent operators.
};

/// Returns the parameters of all recorded steps, in order of their gradients. A node AccumulateGrad
/// belongs to the operators before it on its thread that compute a gradient of its shape:
/// - products of a weight's gradient, told from those of an input's gradient by the shape of the
///   forward's product, or by the operands' strides
/// - convolutions, embeddings, norms, and sums of biases
/// - casts of the gradient, and additions to it
/// If no such operator is found, the operator of the last node before it is the user. Requires
/// shapes; returns an empty list without them.
std::vector<TrainedParameter> FindTrainedParameters(const Job& job);

/// Returns the recorded step that contains a moment on the host; 0 if nothing marks the steps, and
/// -1 outside all steps.
std::int32_t StepOfMoment(const Job& job, TimeNs moment);

/// Returns true for a node that accumulates a gradient, and for events inside it.
bool IsInAccumulation(const Job& job, HostEventId event);

}  // namespace headroom
