#include "scale/periodic_exchange.h"

#include <fmt/format.h>

#include <cmath>

#include "network/collectives.h"
#include "whatif/scenarios/distributed/network.h"

namespace headroom {

std::optional<double> PeriodicExchange::deviation() const {
  std::optional<double> deviation = job_.deviation();
  // Relative deviation of a sum of `every_` independent steps.
  if (deviation) *deviation /= std::sqrt(static_cast<double>(every_));
  return deviation;
}

ScaledStep PeriodicExchange::WithAverage(const Topology& topology, const Placement& placement,
                                         const ScaledStep& alone) const {
  const auto average_ms = [&](const Topology& over) {
    return FastestTime(Collective::kAllReduce, parameter_bytes_, over, placement).Total().ms();
  };
  const double ms = average_ms(topology);
  ScaledStep step = alone;
  step.step_ms.low += (1 - kNetworkError) * ms;
  step.step_ms.mid += ms;
  step.step_ms.high += (1 + kNetworkError) * ms;
  step.limits.exposed_ms = step.limits.transfers_ms = ms;
  step.without_latency_ms = alone.step_ms.mid + average_ms(WithoutLatency(topology));
  step.without_bytes_ms = alone.step_ms.mid + average_ms(WithoutLimit(topology));
  return step;
}

ScaledStep PeriodicExchange::On(const Topology& topology, const Placement& placement,
                                std::optional<std::int64_t> samples) {
  ScaledStep alone = job_.On(topology, Placement(), samples);
  if (!alone.no_answer.empty() || placement.gpus == 1) return alone;
  ScaledStep exchanging = kind_ == PeriodicKind::kLocalSgd ? WithAverage(topology, placement, alone)
                                                           : job_.On(topology, placement, samples);
  if (!exchanging.no_answer.empty()) return exchanging;
  const auto mean = [&](double rest, double once) {
    return rest + (once - rest) / static_cast<double>(every_);
  };
  ScaledStep step = exchanging;
  step.step_ms = {.low = mean(alone.step_ms.low, exchanging.step_ms.low),
                  .mid = mean(alone.step_ms.mid, exchanging.step_ms.mid),
                  .high = mean(alone.step_ms.high, exchanging.step_ms.high)};
  step.limits.exposed_ms = mean(0, exchanging.limits.exposed_ms);
  step.limits.transfers_ms = mean(0, exchanging.limits.transfers_ms);
  step.without_latency_ms = mean(alone.step_ms.mid, exchanging.without_latency_ms);
  step.without_bytes_ms = mean(alone.step_ms.mid, exchanging.without_bytes_ms);
  step.why = kind_ == PeriodicKind::kLocalSgd
                 ? fmt::format("{:.1f} MB of parameters averaged once in {} steps",
                               parameter_bytes_ / 1e6, every_)
                 : fmt::format("{}, exchanged once in {} steps; every step updates as recorded",
                               exchanging.why, every_);
  return step;
}

}  // namespace headroom
