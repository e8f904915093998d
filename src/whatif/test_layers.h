// For tests: a job of two layers whose gradients get ready one after the other.
#pragma once

#include "analysis/test_trace.h"

namespace headroom {

inline constexpr const char* kNode = "autograd::engine::evaluate_function: AddmmBackward0";

/// Two steps of five consecutive kernels of 100 us: forward A, forward B, backward B, backward A,
/// update. The host is far ahead. Each layer has 100,000 parameters, so its gradient has 400,000
/// bytes.
///
/// @param accumulated  true if AccumulateGrad has shapes; otherwise the matrix products that
/// compute the weights' gradients have them
inline StoreBuilder TwoLayers(bool accumulated = true) {
  StoreBuilder b;
  b.NameDevice(0, "NVIDIA H200");
  for (int step = 0; step < 2; ++step) {
    const int host = 60 * step, gpu = 10 + 500 * step;
    b.Step(step, kMain, host, 60);
    const auto layer = [&](int at, int sequence, int start) {
      b.Op("aten::addmm", kMain, host + at, 4).Sequence(10 * step + sequence);
      b.Launch("aten::fill_", kMain, host + at + 1, kGemm, kStream, start, 100);
    };
    const auto backward = [&](int at, int sequence, int start) {
      b.Op(kNode, kMain, host + at, 4).Sequence(10 * step + sequence).ForwardThread(0);
      StoreBuilder::HostEvent& product = b.Op("aten::mm", kMain, host + at, 4);
      b.Launch("aten::fill_", kMain, host + at + 1, kGemm, kStream, start, 100);
      StoreBuilder::HostEvent& node =
          b.Op("torch::autograd::AccumulateGrad", kMain, host + at + 5, 2);
      if (accumulated) {
        node.Shapes("[[100, 1000]]", R"(["float"])");
      } else {
        product.Args(R"("Input Dims": [[100, 8], [8, 1000]], "Input type": ["float", "float"],)"
                     R"("Input Strides": [[1, 100], [1000, 1]])");
      }
    };
    layer(0, 1, gpu);
    layer(5, 2, gpu + 100);
    backward(10, 2, gpu + 200);
    backward(20, 1, gpu + 300);
    b.Annotation("Optimizer.step#SGD.step", kMain, host + 30, 6);
    b.Launch("aten::add_", kMain, host + 31, kAdd, kStream, gpu + 400, 100);
  }
  return b;
}

}  // namespace headroom
