// The parameter updates of a job: where they are, by which algorithm, over how many parameters.
#pragma once

#include <string_view>
#include <vector>

#include "whatif/job/job.h"

namespace headroom {

/// An algorithm's traffic, in tensors of the parameters' size that are read or written.
struct UpdateAlgorithm {
  std::string_view name;     ///< In the name of the optimizer's range.
  std::string_view counted;  ///< An operator that updates each parameter once.
  double fused;              ///< Each operand once.
  double foreach;            ///< Each operand of each of its list operators.
  double temporaries;        ///< Tensors of the size of a parameter that its update makes.
};

/// One execution of the optimizer's step.
struct OptimizerStep {
  HostEventId range;
  std::vector<TaskIndex> tasks;  ///< In order; not empty.
};

/// Those with GPU tasks, in order.
std::vector<OptimizerStep> FindOptimizerSteps(const Job& job);

/// nullptr: not one that is known.
const UpdateAlgorithm* AlgorithmOf(const Job& job, const OptimizerStep& step);

/// Bytes of each parameter, from the shapes of an operator that runs once for each; empty: not
/// known.
std::vector<double> BytesOfParameters(const Job& job, const OptimizerStep& step);

/// Their sum; 0: not known.
double ParameterBytes(const Job& job, const OptimizerStep& step);

}  // namespace headroom
