// The parameter updates of a job: their place, algorithm and number of parameters.
#pragma once

#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// An algorithm's traffic, in tensors of the parameters' size that are read or written.
struct UpdateAlgorithm {
  std::string_view name;     ///< Part of the name of the optimizer's range.
  std::string_view counted;  ///< An operator that updates each parameter once.
  double fused;              ///< Traffic if each operand is read or written once.
  double foreach;            ///< Traffic of all its list operators.
  double temporaries;        ///< Number of temporary tensors of a parameter's size in its update.
};

/// One execution of the optimizer's step.
struct OptimizerStep {
  HostEventId range;
  std::vector<TaskIndex> tasks;  ///< Sorted in graph order; not empty.
};

/// Returns the range of the optimizer's step around each event, by row of host events.
std::vector<HostEventId> OptimizerRanges(const Job& job);

/// Returns the updates with GPU tasks, in order.
std::vector<OptimizerStep> FindOptimizerSteps(const Job& job);

/// Returns the GPU tasks between the backward and the update that work on gradients: clipping
/// (torch.nn.utils.clip_grad_norm_) and unscaling (GradScaler.unscale_).
std::vector<TaskIndex> ClippingTasks(const Job& job);

/// Returns the algorithm of an optimizer's range, by its name and operators; nullptr if it is
/// unknown.
const UpdateAlgorithm* AlgorithmOf(const Job& job, HostEventId range);
const UpdateAlgorithm* AlgorithmOf(const Job& job, const OptimizerStep& step);

/// Returns the parameters that the algorithm's counted operator updates; empty if their shapes are
/// unknown, as in updates over lists.
std::vector<TensorArg> CountedParameters(const Job& job, const OptimizerStep& step);

/// Returns the parameters that receive a gradient between the previous update and this one, the
/// last layer's first; empty if their shapes are unknown. An accumulation that adds to a gradient
/// counts only if all do, because the gradient's first accumulation adds nothing.
std::vector<TensorArg> AccumulatedParameters(const Job& job, const OptimizerStep& step);

/// Returns the bytes of each parameter, from the shapes of an operator that runs once per
/// parameter; empty if unknown.
std::vector<double> BytesOfParameters(const Job& job, const OptimizerStep& step);

/// Returns the total bytes of all parameters; 0 if unknown.
double ParameterBytes(const Job& job, const OptimizerStep& step);

}  // namespace headroom
