// The gradients of a step, as needed to schedule their exchange.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace headroom {

/// The gradient of one parameter.
struct Gradient {
  double bytes = 0;
  double element_bytes = 4;     ///< Bytes of its data type.
  TaskIndex ready = kNoTask;    ///< Task after which the gradient is certainly complete.
  TaskIndex forward = kNoTask;  ///< First task of the forward operator that used the parameter.
  HostEventId op = {};          ///< Operator that completes the gradient.
};

/// The gradients of one backward pass.
struct GradientStep {
  std::vector<Gradient> gradients;  ///< In order of readiness; not empty.
  /// First task after the backward pass, which reads the gradients. kNoTask: it is in the next
  /// cycle.
  TaskIndex next = kNoTask;

  double Bytes() const {
    double bytes = 0;
    for (const Gradient& gradient : gradients) bytes += gradient.bytes;
    return bytes;
  }
};

}  // namespace headroom
