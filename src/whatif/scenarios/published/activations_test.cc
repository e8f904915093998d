// vdnn and gist: activations that are offloaded or encoded until the backward.
#include <gtest/gtest.h>

#include <string>

#include "whatif/test_forecast.h"

namespace headroom {
namespace activations_test {

constexpr const char* kConvolution = "cutlass__5x_cudnn::Kernel";

/// Two steps of consecutive kernels of 100 us; the host is far ahead.
class Steps {
 public:
  explicit Steps(int kernels) : kernels_(kernels) { b_.NameDevice(0, "NVIDIA H200"); }

  void Begin(int step) {
    step_ = step;
    next_ = 0;
    b_.Step(step, kMain, 10 * kernels_ * step, 10 * kernels_);
  }
  /// Adds an operator with its kernel.
  void Op(const char* name, int sequence, const char* dims, const char* types) {
    const int host = 10 * (kernels_ * step_ + next_);
    b_.Op(name, kMain, host, 8).Sequence(100 * step_ + sequence).Shapes(dims, types);
    Kernel(host);
  }
  /// Adds a convolution of one image with one channel by one weight.
  void Convolution(int sequence, const char* image) {
    const int host = 10 * (kernels_ * step_ + next_);
    b_.Op("aten::cudnn_convolution", kMain, host, 8)
        .Sequence(100 * step_ + sequence)
        .Args(
            std::string(R"("Input Dims": [[1, 1, )") + image +
            R"(], [1, 1, 1, 1], [], [], [], [], [], [], []], "Input type": ["float", "float",)"
            R"("ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"],)"
            R"("Concrete Inputs": ["", "", "[0, 0]", "[1, 1]", "[1, 1]", "1", "False", "False", "False"])");
    Kernel(host);
  }
  void Backward(const char* name, int sequence) {
    const int host = 10 * (kernels_ * step_ + next_);
    b_.Op(name, kMain, host, 8).Sequence(100 * step_ + sequence).ForwardThread(0);
    Kernel(host);
  }
  const StoreBuilder& builder() const { return b_; }

 private:
  void Kernel(int host) {
    const int correlation = 1 + kernels_ * step_ + next_;
    b_.Call("cudaLaunchKernel", kMain, host + 1, 1, correlation);
    b_.Kernel(kConvolution, kStream, 10 + 100 * (kernels_ * step_ + next_), 100, correlation);
    ++next_;
  }

  StoreBuilder b_;
  const int kernels_;
  int step_ = 0, next_ = 0;
};

TEST(VdnnTest, CopiesHoldTheNextLayerBack) {
  // Four convolutions and their backwards. Each reads 1 x 1 x 500 x 750 floats: 1.5 MB, which take
  // 150 us at 10 bytes per nanosecond.
  Steps job(8);
  for (int step = 0; step < 2; ++step) {
    job.Begin(step);
    for (int layer = 1; layer <= 4; ++layer) job.Convolution(layer, "500, 750");
    for (int layer = 4; layer >= 1; --layer)
      job.Backward("autograd::engine::evaluate_function: ConvolutionBackward0", layer);
  }
  TestForecasts test(job.builder());
  EXPECT_DOUBLE_EQ(test.StepUs(), 800);
  // The inputs of the first three are copied out while they run, and the next convolution waits 50
  // us for each. They are copied back during the backward of the next convolution, and their own
  // backward waits 50 us for each.
  const Forecast forecast = test.Ask("vdnn:pcie-gbps=80");
  ASSERT_TRUE(forecast.applies) << forecast.why;
  EXPECT_DOUBLE_EQ(forecast.step_ms.mid * 1e3, 800 + 3 * 50 + 3 * 50);
  // Saves three inputs of 1.5 MB, except one in use and one in transfer.
  EXPECT_EQ(forecast.memory_delta_bytes, -1'500'000);
  EXPECT_EQ(forecast.validated, Validity::kNo);
  // Copies that are as fast as the convolutions cost nothing.
  EXPECT_DOUBLE_EQ(test.StepUs("vdnn:pcie-gbps=120"), 800);
}

TEST(VdnnTest, AbstainsWithoutConvolutions) {
  Steps job(1);
  for (int step = 0; step < 2; ++step) {
    job.Begin(step);
    job.Op("aten::mm", 1, "[[8, 8], [8, 8]]", R"(["float", "float"])");
  }
  TestForecasts test(job.builder());
  EXPECT_NE(test.WhyNot("vdnn").find("no convolution"), std::string::npos);
  EXPECT_NE(test.WhyNot("gist").find("no ReLU"), std::string::npos);
}

TEST(GistTest, OneKernelBeforeAPoolingTwoBeforeAConvolution) {
  // ReLU, pooling, ReLU, convolution, their backwards, and an update. The output of both ReLUs is
  // 1000 x 1000 floats: 4 MB.
  Steps job(9);
  for (int step = 0; step < 2; ++step) {
    job.Begin(step);
    job.Op("aten::relu", 1, "[[1, 1, 1000, 1000]]", R"(["float"])");
    job.Op("aten::max_pool2d_with_indices", 2, "[[1, 1, 1000, 1000]]", R"(["float"])");
    job.Op("aten::relu", 3, "[[1, 1, 1000, 1000]]", R"(["float"])");
    job.Convolution(4, "1000, 1000");
    job.Backward("autograd::engine::evaluate_function: ConvolutionBackward0", 4);
    job.Backward("autograd::engine::evaluate_function: ReluBackward0", 3);
    job.Backward("autograd::engine::evaluate_function: MaxPool2DWithIndicesBackward0", 2);
    job.Backward("autograd::engine::evaluate_function: ReluBackward0", 1);
    job.Op("aten::add_", 9, "[[8]]", R"(["float"])");
  }
  TestForecasts test(job.builder());
  EXPECT_DOUBLE_EQ(test.StepUs(), 900);
  // At 0.67 x 4.8 TB/s and 1.2 us per kernel: encoding to one bit moves 4.125 MB in 2.483 us.
  // Encoding half of the elements with five bytes each moves 6.5 MB in 3.221 us, and so does
  // decoding. Each kernel starts 1.5 us after the previous one.
  const Forecast forecast = test.Ask("gist:sparsity=0.5");
  ASSERT_TRUE(forecast.applies) << forecast.why;
  EXPECT_DOUBLE_EQ(forecast.step_ms.mid * 1e3, 900 + 2.483 + 2 * 3.221 + 3 * 1.5);
  // Saves 3.875 and 1.5 MB, but one output of 4 MB is decoded at a time.
  EXPECT_EQ(forecast.memory_delta_bytes, -1'375'000);
  // A GPU of twice the speed also halves the added kernels; the gaps stay unchanged.
  EXPECT_DOUBLE_EQ(test.StepUs("gist+gpu-speed"), 450 + 1.242 + 2 * 1.611 + 3 * 1.5);
  EXPECT_NE(test.WhyNot("gist:sparsity=2").find("share"), std::string::npos);
}

}  // namespace activations_test
}  // namespace headroom
