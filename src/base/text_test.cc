#include "base/text.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace headroom {
namespace text_test {
namespace {

using Names = std::vector<std::string_view>;

struct NearCase {
  const char* what;
  const char* word;
  Names near;
};

TEST(NearNamesTest, OnlyNamesThatMayHaveBeenMeant) {
  const Names names = {"report",  "repair", "record",  "A100-40",
                       "A100-80", "L4",     "step_ms", "idle_ms"};
  const NearCase cases[] = {
      {"two letters the other way round", "reprot", {"report"}},
      {"a letter too many", "reportt", {"report"}},
      {"the beginning of some", "a100", {"A100-40", "A100-80"}},
      {"another case of letters", "Step_MS", {"step_ms"}},
      {"another end", "step_us", {"step_ms"}},
      {"nothing alike", "zzzz", {}},
      {"as short as it is wrong", "T5", {}},
      {"no word", "", {}},
  };
  for (const NearCase& one : cases) EXPECT_EQ(NearNames(one.word, names), one.near) << one.what;
}

TEST(NearNamesTest, ThreeAtMostTheNearestFirst) {
  EXPECT_EQ(NearNames("scale", {"scabs", "scales", "scald", "stale", "scalpel"}),
            (Names{"scales", "scald", "stale"}));
  EXPECT_TRUE(NearNames("scale", {}).empty());
}

}  // namespace
}  // namespace text_test
}  // namespace headroom
