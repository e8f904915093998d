// A link's latency and bandwidth from measured all-reduces.
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
  double mean_error = 0;   ///< Of the measured times, as a share; no sign.
  double worst_error = 0;  ///< The same of the one that is fitted worst.
};

/// The ring's latency and bandwidth (TimeOf()) between `members`, one a machine, that come closest
/// to all times, by least squares of relative errors. Fails (kNoAnswer) for fewer than three sizes
/// or times that no such link explains.
Result<NetworkFit> FitNetwork(std::span<const MeasuredAllReduce> measured, std::int64_t members);

/// A cluster file of machines with one GPU and that link, as ReadTopology() reads it.
///
/// @param source  where it comes from: one line without quotes or backslashes
std::string RenderCluster(const std::string& name, const NetworkFit& fit,
                          const std::string& source);

}  // namespace headroom
