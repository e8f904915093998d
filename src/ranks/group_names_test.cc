#include "ranks/group_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace group_names_test {

RankTimeline RankWith(const std::string& members) {
  RankTimeline rank;
  rank.groups = {{.name = "tp", .description = "", .axis = {}, .ranks = members},
                 {.name = "world", .description = "", .axis = {}, .ranks = "[0, 1, 2, 3]"}};
  for (const char* group : {"tp", "world"}) rank.collectives.emplace_back().group = group;
  return rank;
}

TEST(GroupNamesTest, OneNameForSeveralGroups) {
  std::vector<RankTimeline> ranks = {RankWith("[0, 1]"), RankWith("[0, 1]"), RankWith("[2, 3]"),
                                     RankWith("")};
  TellGroupsApart(ranks);
  const std::vector<std::string> names = {"tp [0, 1]", "tp [0, 1]", "tp [2, 3]", "tp"};
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].groups[0].name, names[r]);
    EXPECT_EQ(ranks[r].collectives[0].group, names[r]);
    EXPECT_EQ(ranks[r].groups[1].name, "world");
    EXPECT_EQ(ranks[r].collectives[1].group, "world");
  }
}

TEST(GroupNamesTest, ANameOfOneGroupStays) {
  std::vector<RankTimeline> ranks = {RankWith("[0, 1]"), RankWith("[0, 1]")};
  TellGroupsApart(ranks);
  EXPECT_EQ(ranks[0].groups[0].name, "tp");
}

}  // namespace group_names_test
}  // namespace headroom
