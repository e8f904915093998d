// For tests: a job of three linear layers, with nodes that accumulate their gradients.
#pragma once

#include <string_view>

#include "whatif/test_job.h"

namespace headroom {

/// Three linear layers A, B, C (64 x 256, 256 x 512, 512 x 64) on 32 rows, with a ReLU after A.
/// Each backward has the weight's and the input's gradient; A's has only the weight's. A weight's
/// gradient is added to an older one (3 us). The update takes 100 us.
class LinearLayers {
 public:
  /// @param clipping_us  a kernel that clips the gradients before the update; 0: none
  explicit LinearLayers(bool shapes = true, int clipping_us = 0) {
    for (int step = 0; step < 3; ++step) {
      const int s = 100 * step;
      b_.Step();
      const auto layer = [&](std::string_view name, std::string_view dims, int us, int sequence) {
        b_.Around(name,
                  [&](JobBuilder& b) { b.Forward("aten::mm", dims, us, s + sequence, kGemm); });
      };
      layer("layer::A", "[[32, 64], [64, 256]]", 10, 1);
      b_.Forward("aten::relu", "[[32, 256]]", 2, s + 2);
      layer("layer::B", "[[32, 256], [256, 512]]", 20, 3);
      layer("layer::C", "[[32, 512], [512, 64]]", 30, 4);
      Product("[[512, 32], [32, 64]]", 31, s + 4);
      Accumulate(shapes ? "[[512, 64]]" : "");
      Product("[[32, 64], [64, 512]]", 32, s + 4);
      Product("[[256, 32], [32, 512]]", 21, s + 3);
      Accumulate(shapes ? "[[256, 512]]" : "");
      Product("[[32, 512], [512, 256]]", 22, s + 3);
      b_.Backward("ReluBackward0", "aten::threshold_backward", "[[32, 256], [32, 256], []]", 4,
                  s + 2);
      Product("[[64, 32], [32, 256]]", 11, s + 1);
      Accumulate(shapes ? "[[64, 256]]" : "");
      if (clipping_us > 0) b_.Forward("aten::_foreach_norm", "", clipping_us, -1);
      b_.Update("Optimizer.step#SGD.step", "aten::add_", "[[32, 256], [32, 256], []]", 100);
    }
  }

  const Job& Build() { return b_.Build(); }

 private:
  void Product(std::string_view dims, int us, int sequence) {
    b_.Backward("MmBackward0", "aten::mm", dims, us, sequence, kGemm);
  }
  void Accumulate(std::string_view dims) { b_.Accumulate(dims, 3); }

  JobBuilder b_;
};

}  // namespace headroom
