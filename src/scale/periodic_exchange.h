// A job whose ranks exchange in every so many-th step alone.
#pragma once

#include <cstdint>
#include <optional>

#include "scale/scaling_curve.h"

namespace headroom {

enum class PeriodicKind : std::uint8_t {
  /// Gradients of several batches are summed on each rank, and then exchanged as ever.
  kAccumulation,
  /// Ranks train by themselves and then average their parameters, while nothing computes (Stich,
  /// "Local SGD Converges Fast and Communicates Little", ICLR 2019).
  kLocalSgd,
};

/// Steps are means over those that exchange and those that do not. Ranks wait for each other as
/// rarely, and what varies between them averages out meanwhile.
class PeriodicExchange final : public ScalableJob {
 public:
  /// @param job              must outlive the object
  /// @param every            1 or more: steps from one exchange to the next
  /// @param parameter_bytes  of kLocalSgd: what is averaged
  PeriodicExchange(ScalableJob& job, PeriodicKind kind, std::int64_t every, double parameter_bytes)
      : job_(job), kind_(kind), every_(every), parameter_bytes_(parameter_bytes) {}

  ScaledStep OnOneGpu() override { return job_.OnOneGpu(); }
  ScaledStep On(const Topology& topology, const Placement& placement,
                std::optional<std::int64_t> samples) override;
  std::optional<std::int64_t> samples() const override { return job_.samples(); }
  std::optional<double> deviation() const override;
  std::int64_t recorded_gpus() const override { return job_.recorded_gpus(); }
  double loader_share() const override { return job_.loader_share(); }

 private:
  /// Of a step that averages parameters.
  ScaledStep WithAverage(const Topology& topology, const Placement& placement,
                         const ScaledStep& alone) const;

  ScalableJob& job_;
  PeriodicKind kind_;
  std::int64_t every_;
  double parameter_bytes_;
};

}  // namespace headroom
