// `headroom calibrate --network`: times all-reduces between machines, and fits the link that
// explains them.
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
  std::string path;  ///< Path of the cluster file. Only rank 0 writes it.
};

/// Every rank takes part. Rank 0 fits, writes and prints.
Status MeasureNetwork(const NetworkMeasurement& measurement);

}  // namespace headroom::cli
