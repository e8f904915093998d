// `headroom calibrate --gpu`: a table of operators timed on this machine's GPU, which
// `headroom predict --gpu-calibration` corrects its models by.
#pragma once

#include <string>

#include "base/status.h"

namespace headroom::cli {

/// Measures, writes the table to `path`, whole or not at all, and prints how far the models are.
Status MeasureGpu(const std::string& python, double seconds, const std::string& path);

}  // namespace headroom::cli
