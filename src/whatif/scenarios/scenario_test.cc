#include "whatif/scenarios/scenario.h"

#include <gtest/gtest.h>

namespace headroom {
namespace scenario_test {

std::vector<ScenarioCall> Parsed(std::string_view text) {
  Result<std::vector<ScenarioCall>> calls = ParseScenario(text);
  EXPECT_TRUE(calls.ok()) << text << ": " << calls.status().message();
  return calls.ok() ? std::move(calls).value() : std::vector<ScenarioCall>();
}

std::string Refused(std::string_view text) {
  const Result<std::vector<ScenarioCall>> calls = ParseScenario(text);
  EXPECT_FALSE(calls.ok()) << text;
  EXPECT_EQ(calls.status().code(), StatusCode::kUsage);
  return calls.status().message();
}

TEST(ScenarioTextTest, NamesKeysAndDefaults) {
  const std::vector<ScenarioCall> calls = Parsed("gpu-speed");
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0].scenario->name, "gpu-speed");
  EXPECT_EQ(calls[0].arguments.Number("factor"), 2);
  EXPECT_EQ(Parsed("gpu-speed:factor=1.5")[0].arguments.Number("factor"), 1.5);
}

TEST(ScenarioTextTest, PlusJoinsScenariosInTheCataloguesOrder) {
  for (const char* text : {"remove-syncs+host-speed:factor=3+gpu-speed",
                           "gpu-speed+host-speed:factor=3+remove-syncs"}) {
    const std::vector<ScenarioCall> calls = Parsed(text);
    ASSERT_EQ(calls.size(), 3u);
    EXPECT_EQ(calls[0].scenario->name, "remove-syncs");
    EXPECT_EQ(calls[1].scenario->name, "gpu-speed");
    EXPECT_EQ(calls[2].scenario->name, "host-speed");
    EXPECT_EQ(calls[2].arguments.Text("factor"), "3");
  }
}

TEST(ScenarioTextTest, RegularExpressionsNeedNoEscapes) {
  const std::vector<ScenarioCall> calls =
      Parsed("scale:match=a+b{1,2}|c,d:e=f,factor=0.5+remove:match=x+y");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].arguments.Text("match"), "a+b{1,2}|c,d:e=f");
  EXPECT_EQ(calls[0].arguments.Number("factor"), 0.5);
  EXPECT_EQ(calls[1].arguments.Text("match"), "x+y");
}

TEST(ScenarioTextTest, WrongNamesListWhatIsNear) {
  EXPECT_NE(Refused("gpu-sped").find("did you mean gpu-speed"), std::string::npos);
  EXPECT_NE(Refused("gpu-speed+nothing").find("\"nothing\""), std::string::npos);
  EXPECT_NE(Refused("gpu-speed:factor=2+nothing").find("\"nothing\""), std::string::npos);
  EXPECT_NE(Refused("gpu-speed:fact=2").find("it takes factor"), std::string::npos);
  EXPECT_NE(Refused("remove-syncs:x=1").find("takes no keys"), std::string::npos);
  EXPECT_NE(Refused("scale:match=x").find("requires factor"), std::string::npos);
  EXPECT_NE(Refused("").find("a scenario requires a name"), std::string::npos);
}

TEST(ScenarioTextTest, APartWithoutANameIsShownWhereItStands) {
  for (const std::string text : {"amp+", "+amp", "amp++tf32", "+", ":factor=2"})
    EXPECT_NE(Refused(text).find("requires a name, which is missing in \"" + text + "\""),
              std::string::npos)
        << Refused(text);
  EXPECT_NE(Refused("").find("--list"), std::string::npos);
}

TEST(ScenarioTextTest, MissingAndEmptyValuesSayWhatIsAllowed) {
  EXPECT_NE(Refused("batch-size").find("requires n, a whole number from 1 to 1e9"),
            std::string::npos);
  EXPECT_NE(Refused("amp:fp8").find("it takes dtype (one of fp16|bf16)"), std::string::npos);
  EXPECT_NE(Refused("gpu-speed:factor").find("factor is empty; give a number"), std::string::npos);
  // An empty expression would match everything, but an unset shell variable does not mean that.
  EXPECT_NE(Refused("remove:match=").find(".* matches everything"), std::string::npos);
  EXPECT_NE(Refused("scale:match=,factor=2").find(".* matches everything"), std::string::npos);
}

TEST(ScenarioTextTest, WrongValuesSayWhatIsRight) {
  for (const char* value : {"0", "-1", "1e-9", "x", "", "nan", "inf", "2x", "1e10"})
    EXPECT_NE(Refused(std::string("gpu-speed:factor=") + value).find("a number from 1e-6 to 1e9"),
              std::string::npos);
  for (const char* value : {"0", "-1", "1.5", "1e-3", "1e12"})
    EXPECT_NE(Refused(std::string("batch-size:n=") + value).find("a whole number from 1 to 1e9"),
              std::string::npos);
  EXPECT_NE(Refused("gpu-speed:factor=1e300").find("factor=1e300 is not"), std::string::npos);
  EXPECT_NE(Refused("remove:match=(").find("regular expression"), std::string::npos);
  EXPECT_NE(Refused("gpu-speed:factor=2,factor=3").find("twice"), std::string::npos);
  EXPECT_NE(Refused("amp+tf32+amp:dtype=fp16").find("amp is given twice"), std::string::npos);
  EXPECT_EQ(Parsed("scale:match=a,factor=2+scale:match=b,factor=2").size(), 2u);
}

}  // namespace scenario_test
}  // namespace headroom
