#include <gtest/gtest.h>

#include "whatif/test_forecast.h"
#include "whatif/test_job.h"

namespace headroom {
namespace compile_test {

/// Arguments of a layer norm over rows of 1024.
constexpr std::string_view kRows = R"(["", "[1024]", "", "", "1e-05"])";

/// Three steps of a product, an addition, a layer norm, a GELU and another product.
JobBuilder Block(std::int64_t pointwise_us) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int s = 100 * step;
    b.Step();
    b.Forward("aten::mm", "[[1024, 1024], [1024, 1024]]", 30, s + 1, kGemm);
    b.Forward("aten::add", "[[1024, 1024], [1024, 1024], []]", pointwise_us, s + 2);
    b.Forward("aten::native_layer_norm", "[[1024, 1024], [], [1024], [1024], []]", s + 3,
              {{kAdd, pointwise_us}}, kRows);
    b.Forward("aten::gelu", "[[1024, 1024]]", pointwise_us, s + 4);
    b.Forward("aten::mm", "[[1024, 1024], [1024, 1024]]", 31, s + 5, kGemm);
  }
  return b;
}

TEST(CompileTest, ANormTakesInWhatSurroundsIt) {
  JobBuilder b = Block(20);
  const Applied applied(b.Build(), "compile");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size(), 3u * 3) << "product, fused kernel, product";
  EXPECT_EQ(times[0], 30);
  EXPECT_LT(times[1], 60.0 * 4 / 7 + 1.2) << "4 of the 7 tensors stay on the chip";
  EXPECT_GT(times[1], 20);
  const Applied pointwise(applied.job, "fuse-pointwise");
  EXPECT_FALSE(pointwise.effect.applies) << "the norm is between the two";
}

TEST(CompileTest, TwoNormsAreTwoKernels) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    for (int i = 0; i < 2; ++i)
      b.Forward("aten::native_layer_norm", "[[1024, 1024], [], [1024], [1024], []]", 10 * step + i,
                {{kAdd, 10}}, kRows);
  }
  const Applied applied(b.Build(), "compile");
  ASSERT_TRUE(applied.effect.applies);
  EXPECT_EQ(applied.Times().size(), 3u * 2);
}

TEST(CompileTest, TheHostChecksOnceAndCallsFaster) {
  JobBuilder b = Block(20);
  const Applied applied(b.Build(), "compile");
  const Edit before(applied.job.graph(), applied.job.corrected());
  for (TaskIndex task = 0; task < applied.job.graph().tasks.size(); ++task) {
    if (applied.job.graph().tasks[task].kind != TaskKind::kCall || applied.edit.IsRemoved(task))
      continue;
    EXPECT_NEAR(applied.edit.DurationOf(task).us(), 0.75 * before.DurationOf(task).us(), 0.01);
  }
}

TEST(CompileTest, GraphsNeedNoCallsInForwardAndBackward) {
  JobBuilder b = Block(20);
  const Applied applied(b.Build(), "compile:mode=reduce-overhead");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  for (TaskIndex task = 0; task < applied.job.graph().tasks.size(); ++task) {
    if (applied.job.graph().tasks[task].kind != TaskKind::kCall) continue;
    EXPECT_EQ(applied.edit.DurationOf(task).ns(), 0);
  }
}

/// Three steps of 1 ms on the CPU: a product of 200 us, Python for 30 us, and an operator of 102
/// us.
StoreBuilder OnTheCpu(std::string_view op, std::string_view dims) {
  StoreBuilder b;
  for (int step = 0; step < 3; ++step) {
    const int at = 1000 * step;
    b.Step(step, kMain, at, 1000);
    b.Op("aten::mm", kMain, at + 100, 200).Shapes("[[64, 64], [64, 64]]", R"(["float", "float"])");
    b.Op(op, kMain, at + 330, 102).Shapes(dims, R"(["float"])");
    b.Annotation("save", kMain, at + 900, 50);
  }
  return b;
}

TEST(CompileTest, OnTheCpuProductsStayAndOthersBecomeLoops) {
  // Dispatch of 2 us and the Python before the operator go; checks of 40 us come.
  TestForecasts cached(OnTheCpu("aten::relu", "[[64, 64]]"));
  EXPECT_NEAR(cached.StepUs("compile"), 1000 - 30 - 102 + 0.85 * 100 + 40, 0.1);
  TestForecasts large(OnTheCpu("aten::relu", "[[4096, 1024]]"));
  EXPECT_NEAR(large.StepUs("compile"), 1000 - 30 - 102 + 0.4 * 100 + 40, 0.1);
  TestForecasts product(OnTheCpu("aten::unknown", ""));
  EXPECT_NEAR(product.StepUs("compile"), 1000 - 30 - 8 + 40, 0.1) << "a view, or unknown work";
}

TEST(CompileTest, ACompiledJobAbstains) {
  JobBuilder b;
  for (int step = 0; step < 2; ++step)
    b.Step().Forward("triton_poi_fused_relu_0", "", 10, step, "triton_poi_fused_relu_0");
  const Applied applied(b.Build(), "compile");
  EXPECT_FALSE(applied.effect.applies);
  EXPECT_NE(applied.effect.why.find("already: the job is compiled"), std::string::npos)
      << applied.effect.why;
}

}  // namespace compile_test
}  // namespace headroom
