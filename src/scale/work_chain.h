// A job as one stream of work between the moments at which gradients become ready, with an
// overlapping exchange of those gradients.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"
#include "network/gradient_exchange.h"
#include "network/gradients.h"
#include "network/topology.h"
#include "scale/model_parallel.h"
#include "scale/scaling_curve.h"
#include "sim/schedule.h"

namespace headroom {

/// Work of a step up to the next gradient.
struct WorkToGradient {
  DurationNs work;
  double bytes = 0;  ///< Bytes of the gradient.
  /// Time to copy the gradient into its bucket; copying it back takes the same time. Only with
  /// several ranks.
  DurationNs copy;
  /// Bytes of each all-reduce of a tensor-parallel group, for which the work waits.
  std::vector<double> sums = {};
};

struct ChainStep {
  std::vector<WorkToGradient> gradients;  ///< Not empty.
  DurationNs rest_of_backward;            ///< Work after the last gradient.
  std::vector<double> rest_sums = {};  ///< As WorkToGradient::sums, for the rest of the backward.
  DurationNs rest;                     ///< Work after the backward, which reads the gradients.
};

/// Error factors on the times of a forecast.
struct ChainFactors {
  double network = 1, work = 1;
};

class WorkChain {
 public:
  /// REQUIRES: at least one step.
  ///
  /// @param tensor  number of GPUs in a tensor-parallel group, each of which does this work
  explicit WorkChain(const std::vector<ChainStep>& steps, std::int64_t tensor = 1);

  /// Times of a step.
  struct Times {
    double step_ms = 0, transfers_ms = 0;
  };
  /// Replays with bucketed all-reduces (network/gradient_exchange.h) over the network between
  /// replicas. One GPU sends nothing.
  Times Replay(const Topology& topology, const Placement& placement,
               const GradientTransfer& transfer, ChainFactors factors = {});

  /// Returns the step with all data for a curve; its interval comes from the factors.
  ScaledStep On(const Topology& topology, const Placement& placement,
                const GradientTransfer& transfer, double least_work, double most_work);

  /// Bytes that the gradients of the first step send.
  double GradientBytes(const GradientTransfer& transfer = {}) const {
    return transfer.Sent(exchanges_.front()).Bytes();
  }

 private:
  /// All-reduces of a tensor-parallel group, without overlap.
  struct Sums {
    TaskIndex task = kNoTask;
    std::vector<double> bytes;
  };

  TaskIndex Append(DurationNs duration);
  void AppendSums(const std::vector<double>& bytes);

  Graph graph_;
  ModelParallel split_;
  std::vector<Sums> sums_;
  std::vector<GradientStep> exchanges_;
  std::vector<TaskIndex> copies_;  ///< Copies that a single GPU does not make.
  Replayer replayer_;
};

}  // namespace headroom
