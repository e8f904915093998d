#include "cli/inputs/step_range.h"

#include <gtest/gtest.h>

namespace headroom::cli {
namespace step_range_test {

TEST(ParseStepRange, TakesTwoNumbersOrOne) {
  const struct {
    const char* text;
    std::optional<std::int64_t> first, last;
  } kCases[] = {{"3:5", 3, 5},
                {"3:3", 3, 3},
                {"3:", 3, std::nullopt},
                {":5", std::nullopt, 5},
                {"0:0", 0, 0}};
  for (const auto& c : kCases) {
    const Result<StepRange> range = ParseStepRange(c.text);
    ASSERT_TRUE(range.ok()) << c.text;
    EXPECT_EQ(range.value().first, c.first) << c.text;
    EXPECT_EQ(range.value().last, c.last) << c.text;
  }
  for (const char* text :
       {"", ":", "3", "5:3", "a:b", "1:2:3", "-1:2", "1: 2", "1:2x", "99999999999999999999:"}) {
    const Result<StepRange> range = ParseStepRange(text);
    ASSERT_FALSE(range.ok()) << text;
    EXPECT_EQ(range.status().code(), StatusCode::kUsage);
  }
}

}  // namespace step_range_test
}  // namespace headroom::cli
