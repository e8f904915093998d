// Fits a link's latency and bandwidth to measured all-reduces.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "network/topology.h"

namespace headroom {

struct MeasuredAllReduce {
  double bytes = 0;
  double ms = 0;
};

struct NetworkFit {
  Link link;
  double mean_error = 0;   ///< Mean absolute error of the fit, as a share of the measured times.
  double worst_error = 0;  ///< Largest error of the fit, as a share.
};

/// Fits the latency and bandwidth of a ring (TimeOf()) of `members` machines with one GPU each to
/// all times, by least squares of relative errors. Fails (kNoAnswer) if there are fewer than three
/// sizes, or if no link explains the times.
Result<NetworkFit> FitNetwork(std::span<const MeasuredAllReduce> measured, std::int64_t members);

/// Renders a cluster file of machines with one GPU and that link, as ReadTopology() reads it.
///
/// @param source  origin of the data: one line without quotes or backslashes
std::string RenderCluster(const std::string& name, const NetworkFit& fit,
                          const std::string& source);

}  // namespace headroom
