// A job that computes on the host, from a recording of its loop. `headroom record` and
// headroom.torch record when each parameter's gradient is ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "scale/scaling_curve.h"
#include "scale/work_chain.h"
#include "store/trace_store.h"

namespace headroom {

/// Models the loop's thread as one stream of work, split at the moments at which gradients become
/// ready. Transfers overlap this work. The work after the backward pass waits for all transfers.
/// Ignores the slowdown of computation while the host sends.
class LoopJob final : public ScalableJob {
 public:
  /// Fails (kNoAnswer) if no complete step has gradients, or if work ran on a GPU.
  static Result<std::unique_ptr<LoopJob>> Make(const TraceStore& store,
                                               const ReferenceData& reference,
                                               const AnalysisOptions& options,
                                               const GradientTransfer& transfer);

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  /// Always nullopt: the recording does not state the samples per step.
  std::optional<std::int64_t> samples() const override { return std::nullopt; }
  bool overlaps_on_device() const override { return false; }
  std::optional<double> deviation() const override { return deviation_; }
  double loader_share() const override { return loader_share_; }

  /// Gradient bytes of the first step.
  double GradientBytes() const { return chain_.GradientBytes(); }

 private:
  LoopJob(WorkChain chain, std::size_t steps) : chain_(std::move(chain)), steps_(steps) {}
  /// Half-width of the interval of the mean step time, as a share of the mean.
  double StepError() const;

  WorkChain chain_;
  std::size_t steps_;
  GradientTransfer transfer_;
  double loader_share_ = 0;
  std::optional<double> deviation_;
};

}  // namespace headroom
