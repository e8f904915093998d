// A job whose ranks exchange data only every N-th step.
#pragma once

#include <cstdint>
#include <optional>

#include "scale/scaling_curve.h"

namespace headroom {

enum class PeriodicKind : std::uint8_t {
  /// Each rank accumulates the gradients of several batches; then the ranks exchange the sums.
  kAccumulation,
  /// Ranks train separately and then average their parameters, without overlap (Stich, "Local SGD
  /// Converges Fast and Communicates Little", ICLR 2019).
  kLocalSgd,
};

/// Step times are means over steps with and without an exchange. Ranks wait for each other only at
/// exchanges, so the variation of the steps between two exchanges averages out.
class PeriodicExchange final : public ScalableJob {
 public:
  /// @param job              must outlive the object
  /// @param every            number of steps from one exchange to the next, at least 1
  /// @param parameter_bytes  bytes to average; only for kLocalSgd
  PeriodicExchange(ScalableJob& job, PeriodicKind kind, std::int64_t every, double parameter_bytes)
      : job_(job), kind_(kind), every_(every), parameter_bytes_(parameter_bytes) {}

  ScaledStep OnOneGpu() override { return job_.OnOneGpu(); }
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return job_.samples(); }
  std::optional<double> deviation() const override;
  std::int64_t steps_alone() const override { return every_; }
  bool overlaps_on_device() const override { return job_.overlaps_on_device(); }
  std::int64_t recorded_gpus() const override { return job_.recorded_gpus(); }
  double loader_share() const override { return job_.loader_share(); }

 private:
  /// Returns a step that averages parameters.
  ScaledStep WithAverage(const Topology& topology, const Placement& placement,
                         const ScaledStep& alone) const;

  ScalableJob& job_;
  PeriodicKind kind_;
  std::int64_t every_;
  double parameter_bytes_;
};

}  // namespace headroom
