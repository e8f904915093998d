// `headroom calibrate --gpu`: measures operators on this machine's GPU, and writes a table with
// which `headroom predict --gpu-calibration` corrects its models.
#pragma once

#include <string>

#include "base/status.h"

namespace headroom::cli {

/// Measures, writes the table to `path` atomically, and prints the error of the models.
Status MeasureGpu(const std::string& python, double seconds, const std::string& path);

}  // namespace headroom::cli
