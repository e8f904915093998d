// `headroom calibrate --network`: all-reduces between machines, and the link that explains them.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace headroom::cli {

struct NetworkMeasurement {
  std::string python;
  std::string master;  ///< ADDRESS:PORT of rank 0.
  std::int64_t rank = 0, world = 2;
  std::string backend = "gloo";
  double seconds = 20;
  std::string path;  ///< Of the cluster file; rank 0 alone writes it.
};

/// Every rank takes part; rank 0 fits, writes and prints.
Status MeasureNetwork(const NetworkMeasurement& measurement);

}  // namespace headroom::cli
