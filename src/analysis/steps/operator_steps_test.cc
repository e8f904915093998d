#include "analysis/steps/operator_steps.h"

#include <initializer_list>

#include "analysis/test_trace.h"

namespace headroom {
namespace operator_steps_test {

/// Builds operators of 10 us each, 15 us apart.
StoreBuilder Thread(std::initializer_list<const char*> names, int times = 1,
                    std::initializer_list<const char*> before = {},
                    std::initializer_list<const char*> after = {}) {
  StoreBuilder b;
  std::int64_t at = 0;
  const auto run = [&](std::initializer_list<const char*> operators) {
    for (const char* name : operators) {
      b.Op(name, kMain, at, 10);
      b.Op("aten::addmm", kMain, at + 1, 5);  // Inside the operator `name`.
      at += 15;
    }
  };
  run(before);
  for (int i = 0; i < times; ++i) run(names);
  run(after);
  return b;
}

OperatorSteps Find(const StoreBuilder& builder) { return FindOperatorSteps(*builder.Build()); }

TEST(OperatorSteps, AreWhatRepeats) {
  const OperatorSteps found = Find(Thread({"aten::linear", "aten::relu", "aten::linear"}, 8));
  EXPECT_EQ(found.spans.size(), 8u);
  EXPECT_EQ(found.operators, 3u);
  EXPECT_EQ(found.spans[0].length(), Us(45));
  EXPECT_EQ(found.spans[7].length(), Us(40)) << "to the end of its last operator";
}

TEST(OperatorSteps, MayBeCutAtTheBegin) {
  const OperatorSteps found =
      Find(Thread({"aten::linear", "aten::relu", "aten::add"}, 4, {"aten::add"}));
  EXPECT_EQ(found.spans.size(), 4u);
}

TEST(OperatorSteps, AreNotTheLayersOfAPass) {
  EXPECT_TRUE(Find(Thread({"aten::linear", "aten::relu"}, 8, {"aten::embedding"})).spans.empty());
  EXPECT_TRUE(
      Find(Thread({"aten::linear", "aten::relu"}, 8, {}, {"aten::log_softmax"})).spans.empty());
}

TEST(OperatorSteps, AreNotSoughtBesideGpuWork) {
  StoreBuilder b = Thread({"aten::linear", "aten::relu"}, 8);
  b.Launch("aten::mm", kOtherThread, 0, kGemm, kStream, 10, 90);
  EXPECT_TRUE(Find(b).spans.empty());
  EXPECT_TRUE(Find(StoreBuilder()).spans.empty());
  EXPECT_TRUE(Find(Thread({"aten::linear"}, 2)).spans.empty());
}

TEST(OperatorSteps, AreTheStepsOfTheReport) {
  const TraceReport report = AnalyzeTrace(Thread({"aten::linear", "aten::relu"}, 6));
  EXPECT_EQ(report.steps.list.size(), 6u);
  EXPECT_EQ(report.steps.source, StepSource::kInferred);
  EXPECT_EQ(report.steps.marker, "2 operators in the same order");
}

}  // namespace operator_steps_test
}  // namespace headroom
