// A job as one stream of work between the moments at which gradients get ready, with the exchange
// of those gradients beside it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "graph/graph.h"
#include "network/gradients.h"
#include "network/topology.h"
#include "scale/model_parallel.h"
#include "scale/scaling_curve.h"
#include "sim/schedule.h"

namespace headroom {

/// What a step does until its next gradient is ready.
struct WorkToGradient {
  DurationNs work;
  double bytes = 0;  ///< Of the gradient.
  /// Of several ranks alone: into the bucket that is sent, and as long back.
  DurationNs copy;
  /// Bytes of each all-reduce of a tensor-parallel group, on which the work waits.
  std::vector<double> sums = {};
};

struct ChainStep {
  std::vector<WorkToGradient> gradients;  ///< Not empty.
  DurationNs rest_of_backward;            ///< Behind the last of them.
  std::vector<double> rest_sums = {};     ///< As WorkToGradient::sums, of that.
  DurationNs rest;                        ///< Which reads the gradients.
};

/// How many times as long things take; by how much a forecast may be wrong.
struct ChainFactors {
  double network = 1, work = 1;
};

class WorkChain {
 public:
  /// REQUIRES: at least one step.
  ///
  /// @param tensor  GPUs of a tensor-parallel group, each of which does this work
  explicit WorkChain(const std::vector<ChainStep>& steps, std::int64_t tensor = 1);

  /// Of a step.
  struct Times {
    double step_ms = 0, transfers_ms = 0;
  };
  /// With bucketed all-reduces (network/gradient_exchange.h) over the network between replicas.
  /// One GPU: nothing is sent.
  Times Replay(const Topology& topology, const Placement& placement, double bucket_bytes,
               ChainFactors factors = {});

  /// The step with all that a curve needs; its interval is that of the factors.
  ScaledStep On(const Topology& topology, const Placement& placement, double bucket_bytes,
                double least_work, double most_work);

  /// Of the first step.
  double GradientBytes() const { return exchanges_.front().Bytes(); }

 private:
  /// All-reduces of a tensor-parallel group that nothing runs beside.
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
  std::vector<TaskIndex> copies_;  ///< That one GPU does not make.
  Replayer replayer_;
};

}  // namespace headroom
