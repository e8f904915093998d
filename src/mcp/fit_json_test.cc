#include "mcp/fit_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom::mcp {
namespace fit_json_test {

using json = nlohmann::ordered_json;

std::size_t Size(const json& value) { return value.dump().size(); }

json Answer(int rows) {
  json answer = {{"schema", "s/1"}, {"kernels", json::array()}};
  for (int i = 0; i < rows; ++i)
    answer["kernels"].push_back({{"name", "kernel " + std::to_string(i)}, {"total_us", i}});
  return answer;
}

TEST(FitJson, WhatFitsStaysAsItIs) { EXPECT_EQ(FitJson(Answer(3), 1000), Answer(3)); }

TEST(FitJson, ALongListLosesItsEndAndSaysHowToSeeIt) {
  const json cut = FitJson(Answer(1000), 2000);
  EXPECT_LE(Size(cut), 2000u);
  const std::size_t rows = cut["kernels"].size();
  EXPECT_GT(rows, 5u);
  EXPECT_EQ(cut["left_out"],
            json::array({{{"select", "/kernels"}, {"from", rows}, {"rows", 1000 - rows}}}));
}

TEST(FitJson, ALongNameLosesItsEndAtACharacter) {
  std::string name;
  for (int i = 0; i < 3000; ++i) name += "\xc3\xa9";
  const json cut = FitJson({{"name", name}}, 1000);
  EXPECT_LE(Size(cut), 1000u);
  EXPECT_EQ(cut["left_out"][0]["select"], "/name");
  EXPECT_NO_THROW((void)cut.dump());  // Strict: throws on an invalid character.
}

RC_GTEST_PROP(FitJson, AlwaysFits, (const std::vector<std::string>& names, bool nest)) {
  json value = json::object();
  for (const std::string& name : names) {
    json row = {{"name", name}, {"rows", json::array({1, 2, 3})}};
    value[name] = nest ? json{{"inner", json::array({row, row, row, row})}} : row;
  }
  RC_ASSERT(FitJson(value, 200).dump(-1, ' ', false, json::error_handler_t::replace).size() <= 200);
}

TEST(SelectJson, PagesShowEveryRowOnce) {
  const json answer = Answer(100);
  json seen = json::array();
  for (std::size_t from = 0;;) {
    const Result<json> part = SelectJson(answer, "/kernels", from, 600);
    ASSERT_TRUE(part.ok());
    EXPECT_LE(Size(part.value()), 600u);
    EXPECT_EQ(part.value()["rows"], 100);
    for (const json& row : part.value()["value"]) seen.push_back(row);
    if (!part.value().contains("next")) break;
    from = part.value()["next"];
  }
  EXPECT_EQ(seen, answer["kernels"]);
}

TEST(SelectJson, ALongStringLosesItsEnd) {
  for (const char* const letter : {"x", "\x01"}) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += letter;
    const Result<json> part = SelectJson({{"name", text}}, "/name", 0, 1000);
    ASSERT_TRUE(part.ok());
    EXPECT_LE(Size(part.value()), 1000u);
    EXPECT_EQ(part.value()["left_out"][0]["select"], "/name");
    const auto& shown = part.value()["value"].get_ref<const std::string&>();
    EXPECT_EQ(shown.size() - 3 + part.value()["left_out"][0]["bytes"].get<std::size_t>(), 3000u);
  }
}

TEST(SelectJson, WhatIsNotThereIsSaid) {
  EXPECT_FALSE(SelectJson(Answer(2), "/layers", 0, 1000).ok());
  EXPECT_FALSE(SelectJson(Answer(2), "kernels", 0, 1000).ok());
  EXPECT_FALSE(SelectJson(Answer(2), "/kernels/x", 0, 1000).ok());
  EXPECT_FALSE(SelectJson(Answer(2), "/kernels", 2, 1000).ok());
  EXPECT_TRUE(SelectJson(json{{"kernels", json::array()}}, "/kernels", 0, 1000).ok());
}

TEST(FitText, EndsWithALine) {
  EXPECT_EQ(FitText("one\ntwo\nthree\n", 100, "[more]"), "one\ntwo\nthree\n");
  EXPECT_EQ(FitText("one\ntwo\nthree\n", 13, "[more]"), "one\n[more]");
  EXPECT_EQ(FitText("a line without an end", 12, "[more]"), "a line[more]");
}

}  // namespace fit_json_test
}  // namespace headroom::mcp
