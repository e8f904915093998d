// A job whose host is its device, from a recording of its loop: `headroom record` and
// headroom.torch tell when each parameter's gradient is ready.
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

/// One stream of work: what the loop's thread does between the moments at which gradients get
/// ready. Transfers go beside it, and what follows the backward pass waits for them. That a host
/// that sends computes more slowly is not counted.
class LoopJob final : public ScalableJob {
 public:
  /// Fails (kNoAnswer) where no whole step has gradients, or work ran on a GPU.
  static Result<std::unique_ptr<LoopJob>> Make(const TraceStore& store,
                                               const ReferenceData& reference,
                                               const AnalysisOptions& options, double bucket_bytes);

  ScaledStep OnOneGpu() override;
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  /// The recording does not tell.
  std::optional<std::int64_t> samples() const override { return std::nullopt; }
  std::optional<double> deviation() const override { return deviation_; }
  double loader_share() const override { return loader_share_; }

  /// Of the first step.
  double GradientBytes() const { return chain_.GradientBytes(); }

 private:
  LoopJob(WorkChain chain, std::size_t steps) : chain_(std::move(chain)), steps_(steps) {}
  /// Half-width of the mean step, as a share.
  double StepError() const;

  WorkChain chain_;
  std::size_t steps_;
  double bucket_bytes_ = 0, loader_share_ = 0;
  std::optional<double> deviation_;
};

}  // namespace headroom
