#include "ranks/rank_of_file.h"

#include <gtest/gtest.h>

namespace headroom {
namespace rank_of_file_test {

TEST(HostOfFileName, IsWhatTensorboardTraceHandlerPutsFirst) {
  EXPECT_EQ(HostOfFileName("a/node7_4711.1700000000000.pt.trace.json.gz"), "node7");
  EXPECT_EQ(HostOfFileName("gpu_node_1_12.1700000000.pt.trace.json"), "gpu_node_1");
  EXPECT_EQ(HostOfFileName("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz"), "");
  EXPECT_EQ(HostOfFileName("_12.1700000000.pt.trace.json"), "");
  EXPECT_EQ(HostOfFileName("node7_4711.17.json"), "");
  EXPECT_EQ(HostOfFileName(""), "");
}

TEST(RankOfFileName, IsTheNumberBehindTheLastRank) {
  EXPECT_EQ(RankOfFileName("trace_rank-34.Jul_15.json.gz"), 34);
  EXPECT_EQ(RankOfFileName("rank0.json"), 0);
  EXPECT_EQ(RankOfFileName("RANK_7.json"), 7);
  EXPECT_EQ(RankOfFileName("rank1_of_8/rank3.json"), 3);
  EXPECT_EQ(RankOfFileName("rank5/trace.json"), std::nullopt) << "folders do not count";
  EXPECT_EQ(RankOfFileName("rank2_ranked.json"), 2);
  EXPECT_EQ(RankOfFileName("frank.json"), std::nullopt);
  EXPECT_EQ(RankOfFileName("jobs/resnet.12.et"), 12) << "as simulators name them";
  EXPECT_EQ(RankOfFileName("rank7.3.et.gz"), 3);
  EXPECT_EQ(RankOfFileName("rank7.et"), 7);
  EXPECT_EQ(RankOfFileName("12.et"), std::nullopt) << "no name and no rank";
  EXPECT_EQ(RankOfFileName("rank12345678901.json"), std::nullopt);
  EXPECT_EQ(RankOfFileName(""), std::nullopt);
}

std::vector<TraceReport> Files(
    const std::vector<std::pair<const char*, std::optional<std::int64_t>>>& inputs) {
  std::vector<TraceReport> files(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    files[i].input.path = inputs[i].first;
    files[i].input.rank = inputs[i].second;
  }
  return files;
}

std::vector<std::optional<std::int64_t>> RanksOf(std::vector<TraceReport> files) {
  EXPECT_TRUE(AssignRanks(files).ok());
  std::vector<std::optional<std::int64_t>> ranks;
  ranks.reserve(files.size());
  for (const TraceReport& file : files) ranks.push_back(file.input.rank);
  return ranks;
}

TEST(AssignRanks, TraceThenNameThenPosition) {
  using Ranks = std::vector<std::optional<std::int64_t>>;
  EXPECT_EQ(RanksOf(Files({{"rank3.json", std::nullopt}})), Ranks{std::nullopt})
      << "one file needs no rank";
  EXPECT_EQ(RanksOf(Files({{"rank3.json", 5}, {"rank7.json", std::nullopt}})), (Ranks{5, 7}));
  EXPECT_EQ(RanksOf(Files({{"a.json", std::nullopt}, {"b.json", std::nullopt}})), (Ranks{0, 1}));
  EXPECT_EQ(RanksOf(Files({{"a.json", std::nullopt}, {"b.json", 0}})), (Ranks{1, 0}));
  EXPECT_EQ(RanksOf(Files({{"rank0.json", std::nullopt}, {"rank0.json", std::nullopt}})),
            (Ranks{0, 1}));
}

TEST(AssignRanks, RefusesTwoFilesOfOneRank) {
  std::vector<TraceReport> files = Files({{"a.json", 2}, {"b.json", 2}});
  const Status status = AssignRanks(files);
  EXPECT_EQ(status.code(), StatusCode::kUsage);
  EXPECT_NE(status.message().find("a.json"), std::string::npos);
  EXPECT_NE(status.message().find("rank 2"), std::string::npos);
}

}  // namespace rank_of_file_test
}  // namespace headroom
