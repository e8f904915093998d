// For tests: a small network whose memory use can be computed by hand.
#pragma once

#include <string>
#include <string_view>

#include "whatif/test_job.h"

namespace headroom {

inline constexpr double kKiB = 1024;

/// A node of the backward, as PyTorch names its range.
inline std::string Node(std::string_view name) {
  return "autograd::engine::evaluate_function: " + std::string(name);
}

inline JobBuilder& Accumulate(JobBuilder& b, std::string_view dims) {
  return b.Backward(Node("torch::autograd::AccumulateGrad"), "torch::autograd::AccumulateGrad",
                    dims, 1, 900);
}

/// Two layers over 64 rows of 256, with weights [256, 256] and [256, 32] and a ReLU between them.
/// SGD updates them. One row of 256 floats is 1 KiB.
inline JobBuilder Network(std::string_view relu_node = "ReluBackward0",
                          std::string_view update = "aten::add_") {
  JobBuilder b;
  for (int step = 0; step < 2; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mul", "[[64, 256], []]", 5, s);
    b.Forward("aten::mm", "[[64, 256], [256, 256]]", 20, s + 1, kGemm);
    b.Forward("aten::relu", "[[64, 256]]", 5, s + 2);
    b.Forward("aten::mm", "[[64, 256], [256, 32]]", 20, s + 3, kGemm);
    b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 64], [64, 32]]", 30, s + 3, kGemm);
    Accumulate(b, "[[256, 32]]");
    b.Backward(Node(relu_node), "aten::threshold_backward", "[[64, 256], [64, 256], []]", 5, s + 2);
    b.Backward(Node("MmBackward0"), "aten::mm", "[[256, 64], [64, 256]]", 30, s + 1, kGemm);
    Accumulate(b, "[[256, 256]]");
    b.Update("Optimizer.step#SGD.step", update, "[[256, 256], [256, 256], []]", 5);
  }
  return b;
}

}  // namespace headroom
