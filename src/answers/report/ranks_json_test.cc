#include "answers/report/ranks_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "answers/report/report_fixture.h"
#include "render/escape.h"

namespace headroom {
namespace ranks_json_test {

using Json = nlohmann::ordered_json;

Json JsonOf(const JobRanks* job) {
  JsonWriter json;
  json.BeginObject();
  WriteJobRanksJson(job, json);
  json.EndObject();
  return Json::parse(std::move(json).Take())["job_ranks"];
}

TEST(JobRanksJson, HasTheStragglerItsCauseAndTheGroups) {
  JobRanks job = SlowRankOne();
  job.pipeline = TwoStages(0.2);
  const Json json = JsonOf(&job);
  EXPECT_EQ(json["straggler"]["pattern"], "recurrent");
  EXPECT_EQ(json["straggler"]["rank"], 1);
  EXPECT_EQ(json["straggler"]["ranks"], Json::array({1}));
  EXPECT_EQ(json["straggler"]["cause"], "slow-gpu");
  EXPECT_EQ(json["straggler"]["lost_ms"], 30);
  EXPECT_EQ(json["straggler"]["lost_pct"], 25);
  EXPECT_NE(json["sentence"].get<std::string>().find("Rank 1 (on node2)"), std::string::npos);
  EXPECT_EQ(json["waits"].size(), 2u);
  EXPECT_EQ(json["pairs"][0]["rank"], 0);
  EXPECT_EQ(json["pairs"][0]["waited_for"], 1);
  EXPECT_EQ(json["steps"][0]["waited_ms"], 30);
  EXPECT_EQ(json["steps"][1]["wall_ms"], 120);
  EXPECT_EQ(json["steps"][1]["waited_ms"], 0);
  EXPECT_EQ(json["clocks"][1]["offset_ms"], 7'200'000);
  EXPECT_EQ(json["work"]["measure"], "flops");
  EXPECT_TRUE(json["work"]["explained_pct"].is_null());
  EXPECT_EQ(json["groups"][0]["axis_from"], "inferred");
  EXPECT_EQ(json["collectives"][0]["axis"], "data");
  EXPECT_EQ(json["pipeline"]["stages"][1]["computing_ms"], 90);
  EXPECT_EQ(json["unmatched"], 4);
}

TEST(JobRanksJson, UnknownIsNull) {
  EXPECT_TRUE(JsonOf(nullptr).is_null());
  JobRanks job = SlowRankOne();
  job.waits.stragglers = {0, 1};
  job.waits.straggler_host.clear();
  job.waits.lost_share.reset();
  job.work = {};
  job.late = {};
  job.axes[0].axis.reset();
  const Json json = JsonOf(&job);
  for (const char* key : {"rank", "host", "cause", "why", "lost_pct"})
    EXPECT_TRUE(json["straggler"][key].is_null()) << key;
  EXPECT_EQ(json["straggler"]["ranks"], Json::array({0, 1}));
  EXPECT_TRUE(json["work"]["measure"].is_null());
  EXPECT_TRUE(json["groups"][0]["axis"].is_null());
  EXPECT_TRUE(json["groups"][0]["axis_from"].is_null());
  EXPECT_TRUE(json["waits"][0]["work"].is_null());
  EXPECT_TRUE(json["pipeline"].is_null());
  const JobRanks nobody;
  EXPECT_TRUE(JsonOf(&nobody)["waits"].empty());
}

TEST(JobRanksJson, NamesAreValidUtf8) {
  JobRanks job = SlowRankOne();
  job.axes[0].group = "\"<|>\xff";
  EXPECT_EQ(JsonOf(&job)["groups"][0]["group"], ValidUtf8("\"<|>\xff"));
}

}  // namespace ranks_json_test
}  // namespace headroom
