#include "answers/scale/answer.h"

#include <gtest/gtest.h>

namespace headroom {
namespace scale_answer_test {

Result<ScaleAnswer> Asked(ScaleQuestion question) {
  return ScaleAnswer::Make(std::move(question), NetworkChoice::Make({}).value());
}

TEST(ScaleAnswer, RefusesWhatContradictsItself) {
  const struct {
    ScaleQuestion question;
    const char* words;
  } kCases[] = {
      {{.schedule = "no-such"}, "no-such"},
      {{.schedule = "local-sgd"}, "--exchange-every N"},
      {{.schedule = "zero-3", .exchange_every = 4}, "its savings from --exchange-every"},
      {{.split = {.micro_batches = 4}}, "--pipeline-parallel"},
      {{.schedule = "zero-3", .split = {.tensor = 2}}, "require --schedule ddp or per-tensor"},
      {{.changes = "no-such"}, "no-such"},
      {{.changes = "batch-size:n=64", .strong = true}, "--strong"},
  };
  for (const auto& c : kCases) {
    const Result<ScaleAnswer> answer = Asked(c.question);
    ASSERT_FALSE(answer.ok()) << c.words;
    EXPECT_EQ(answer.status().code(), StatusCode::kUsage) << answer.status().message();
    EXPECT_NE(answer.status().message().find(c.words), std::string::npos)
        << answer.status().message();
  }
}

TEST(ScaleAnswer, OnlyBucketsHaveASize) {
  EXPECT_TRUE(Asked({}).value().has_buckets());
  EXPECT_FALSE(Asked({.schedule = "per-tensor"}).value().has_buckets());
}

TEST(ScaleAnswer, WithoutAnAnswerTheQuestionIsToldStill) {
  const ScaleReport report =
      Asked({.changes = "amp", .strong = true}).value().Without("a.json", "it has no GPU work");
  EXPECT_EQ(report.path, "a.json");
  EXPECT_EQ(report.no_answer, "it has no GPU work");
  EXPECT_EQ(report.changes, "amp");
  EXPECT_EQ(report.schedule, "ddp");
  EXPECT_TRUE(report.strong);
}

}  // namespace scale_answer_test
}  // namespace headroom
