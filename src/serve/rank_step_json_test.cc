#include "serve/rank_step_json.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "ranks/test_ranks.h"

namespace headroom {
namespace rank_step_json_test {

using Json = nlohmann::json;

/// Steps of 1 ms in which rank 1 arrives 200 us late, on clocks that are 1 s apart.
JobRanks LateRankOne() {
  RankBuilder job(3);
  for (std::size_t r = 1; r < 3; ++r) job.Clock(r, 1e6 * static_cast<double>(r));
  for (int step = 0; step < 5; ++step) {
    const double at = 1000.0 * step;
    job.Step(step, at, 1000);
    job.AllReduce({at + 500, at + 700, at + 500}, at + 800);
  }
  for (std::size_t r = 0; r < 3; ++r) {
    const TimeNs start = job.rank(r).steps[3].start;
    // The first part begins in the step before.
    job.rank(r).computing = {{start - DurationNs(50'000), start + DurationNs(100'000)},
                             {start + DurationNs(200'000), start + DurationNs(300'000)}};
  }
  return AnalyzeJobRanks(job.ranks());
}

TEST(RankStepJson, HasAllRanksOnOneClock) {
  const Result<std::string> answer = RenderRankStepJson(LateRankOne(), 3);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const Json json = Json::parse(answer.value());
  EXPECT_EQ(json["schema"], "headroom.rank-step/1");
  EXPECT_EQ(json["step"], 3);
  ASSERT_EQ(json["ranks"].size(), 3u);
  for (const Json& rank : json["ranks"]) {
    constexpr double kClockErrorNs = 10;
    EXPECT_TRUE(rank["aligned"]);
    EXPECT_NEAR(rank["start_ns"].get<double>(), 0, kClockErrorNs);
    EXPECT_NEAR(rank["end_ns"].get<double>(), 1e6, kClockErrorNs);
    ASSERT_EQ(rank["collectives"].size(), 1u);
    const Json& collective = rank["collectives"][0];
    EXPECT_NEAR(collective["start_ns"].get<double>(), rank["rank"] == 1 ? 700e3 : 500e3,
                kClockErrorNs);
    EXPECT_NEAR(collective["last_arrival_ns"].get<double>(), 700e3, kClockErrorNs);
    EXPECT_NEAR(collective["end_ns"].get<double>(), 800e3, kClockErrorNs);
    EXPECT_FALSE(collective["neighbours"]);
    ASSERT_EQ(rank["computing"].size(), 4u);
    EXPECT_NEAR(rank["computing"][1].get<double>(), 100e3, kClockErrorNs);
    EXPECT_NEAR(rank["computing"][2].get<double>(), 200e3, kClockErrorNs);
  }
}

TEST(RankStepJson, ARankWithoutASharedClockBeginsAtZero) {
  JobRanks job = LateRankOne();
  job.alignment.clocks[2].aligned = false;
  const Result<std::string> answer = RenderRankStepJson(job, 3);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const Json rank = Json::parse(answer.value())["ranks"][2];
  EXPECT_FALSE(rank["aligned"]);
  EXPECT_EQ(rank["start_ns"], 0);
  EXPECT_EQ(rank["collectives"][0]["start_ns"], 500'000);
  EXPECT_TRUE(rank["collectives"][0]["last_arrival_ns"].is_null());
}

TEST(RankStepJson, AStepThatNoRankHas) {
  const Result<std::string> answer = RenderRankStepJson(LateRankOne(), 99);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().message(), "step 99: no rank has this step");
}

}  // namespace rank_step_json_test
}  // namespace headroom
