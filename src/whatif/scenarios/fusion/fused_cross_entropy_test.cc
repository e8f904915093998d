#include <gtest/gtest.h>

#include "whatif/job/operators.h"
#include "whatif/test_job.h"

namespace headroom {
namespace fused_cross_entropy_test {

constexpr const char* kLogits = "[[4096, 50257], [], []]";
constexpr double kCount = 4096.0 * 50257;
/// Bytes per nanosecond: 67 % of an H200's 4.8 TB/s.
constexpr double kBytesPerNs = 0.67 * 4800;

/// Logits of 4,096 tokens over 50,257 words, and their cross entropy.
void AddForward(JobBuilder& b, int s, bool cast) {
  b.Forward("aten::mm", "[[4096, 768], [768, 50257]]", 3000, s + 1, kGemm);
  if (cast) {
    b.Typed(R"(["float", "c10::BFloat16", "Scalar"])")
        .Forward("aten::copy_", "[[4, 1024, 50257], [4, 1024, 50257], []]", 600, s + 2);
  }
  b.Around("aten::cross_entropy_loss", [&](JobBuilder& inside) {
    inside.Forward("aten::_log_softmax", kLogits, 757, s + 3);
    inside.Forward("aten::nll_loss_forward", "[[4096, 50257], [4096], [], [], []]", 18, s + 4);
  });
}

void AddBackward(JobBuilder& b, int s, bool cast) {
  b.Backward("NllLossBackward0", "aten::nll_loss_backward",
             "[[], [4096, 50257], [4096], [], [], [], []]", 186, s + 4);
  b.Backward("LogSoftmaxBackward0", "aten::_log_softmax_backward_data",
             "[[4096, 50257], [4096, 50257], [], []]", 889, s + 3);
  if (cast) {
    b.Typed(R"(["c10::BFloat16", "float", "Scalar"])")
        .Backward("ToCopyBackward0", "aten::copy_", "[[4, 1024, 50257], [4, 1024, 50257], []]", 280,
                  s + 2);
  }
  b.Backward("MmBackward0", "aten::mm", "[[4096, 50257], [50257, 768]]", 2400, s + 1, kGemm);
}

JobBuilder Loss(bool cast, bool backward = true, std::string_view gpu = "NVIDIA H200") {
  JobBuilder b(gpu);
  for (int step = 0; step < 3; ++step) {
    b.Step();
    AddForward(b, 100 * step, cast);
    if (backward) AddBackward(b, 100 * step, cast);
  }
  return b;
}

std::string WhyNot(JobBuilder b) {
  const Applied applied(b.Build(), "fused-cross-entropy");
  EXPECT_FALSE(applied.effect.applies);
  return applied.effect.why;
}

TEST(FusedCrossEntropyTest, OneKernelPassesTwiceOverTheLogits) {
  JobBuilder b = Loss(true);
  const Job& job = b.Build();
  const Applied applied(job, "fused-cross-entropy");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size(), 3u * 3);
  EXPECT_EQ(times[0], 3000);
  // 2 passes of 412 MB take 256 us, plus a start of 1.2 us.
  EXPECT_NEAR(times[1], 1.2 + 2 * 2 * kCount / kBytesPerNs / 1e3, 0.01);
  EXPECT_NEAR(times[1], 257.2, 0.1);
  EXPECT_EQ(times[2], 2400);
  // The float32 copies of logits and log-probabilities, of one step.
  EXPECT_EQ(applied.effect.memory_delta_bytes, -2 * 4 * static_cast<std::int64_t>(kCount));
  EXPECT_EQ(applied.effect.validated, Validity::kNo);
}

TEST(FusedCrossEntropyTest, TheHostLaunchesOnlyTheFusedKernel) {
  JobBuilder b = Loss(true);
  const Job& job = b.Build();
  const Applied applied(job, "fused-cross-entropy");
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    EXPECT_EQ(applied.edit.IsRemoved(job.LaunchOf(task)), applied.edit.IsRemoved(task));
    // The operator and its backward need 60 and 80 us of the host.
    if (NameOfOperator(job, job.ContextOf(task).op) == "aten::_log_softmax") {
      EXPECT_FALSE(applied.edit.IsRemoved(task));
      EXPECT_GE(applied.edit.WorkBefore(job.LaunchOf(task)), Us(140));
    }
  }
}

TEST(FusedCrossEntropyTest, LogitsWithoutACastAreFloat32) {
  JobBuilder b = Loss(false);
  const Applied applied(b.Build(), "fused-cross-entropy");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  EXPECT_NEAR(applied.Times()[1], 1.2 + 2 * 4 * kCount / kBytesPerNs / 1e3, 0.01);
  EXPECT_EQ(applied.effect.memory_delta_bytes, -4 * static_cast<std::int64_t>(kCount));
}

TEST(FusedCrossEntropyTest, WithAmpTheLogitsHave16Bits) {
  JobBuilder b = Loss(false);
  const Job& job = b.Build();
  const auto casts_logits = [&](Applied& applied) {
    const std::span<Edit::NewKernel> casts = applied.edit.inserted();
    return std::any_of(casts.begin(), casts.end(), [&](const Edit::NewKernel& cast) {
      return NameOfOperator(job, job.ContextOf(cast.before_task).op) == "aten::_log_softmax";
    });
  };
  Applied alone(job, "amp"), both(job, "amp+fused-cross-entropy");
  ASSERT_TRUE(both.effect.applies) << both.effect.why;
  EXPECT_NEAR(both.Times()[1], 257.2, 0.1);
  EXPECT_TRUE(casts_logits(alone));
  EXPECT_FALSE(casts_logits(both));
}

TEST(FusedCrossEntropyTest, ALossWithoutBackwardStays) {
  JobBuilder b;
  for (int step = 0; step < 3; ++step) {
    b.Step();
    AddForward(b, 100 * step, false);
    AddForward(b, 100 * step + 50, false);
    AddBackward(b, 100 * step + 50, false);
  }
  const Applied applied(b.Build(), "fused-cross-entropy");
  ASSERT_TRUE(applied.effect.applies) << applied.effect.why;
  const std::vector<double> times = applied.Times();
  ASSERT_EQ(times.size(), 3u * 6);
  EXPECT_EQ(times[1], 757);
  EXPECT_EQ(times[2], 18);
  EXPECT_LT(times[4], 757);
}

TEST(FusedCrossEntropyTest, AbstainsWithTheReason) {
  JobBuilder plain;
  plain.Step().Forward("aten::mm", "[[256, 256], [256, 768]]", 30, 1, kGemm);
  EXPECT_EQ(WhyNot(std::move(plain)), "the job has no cross entropy (log_softmax and nll_loss)");
  JobBuilder shapeless;
  shapeless.Step().Forward("aten::_log_softmax", "", 30, 1);
  EXPECT_TRUE(WhyNot(std::move(shapeless))
                  .starts_with("the shapes of the log_softmax operators were not recorded"));
  // The trace has sequence numbers, but only of other operators.
  JobBuilder other = Loss(true, false);
  other.Backward("MmBackward0", "aten::mm", "[[4096, 50257], [50257, 768]]", 2400, 1, kGemm);
  EXPECT_EQ(WhyNot(std::move(other)),
            "the cross entropy has no backward: the job does not train with it");
  EXPECT_TRUE(WhyNot(Loss(true, true, "")).starts_with("the trace does not name its GPU"));
}

}  // namespace fused_cross_entropy_test
}  // namespace headroom
