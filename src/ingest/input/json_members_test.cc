#include "ingest/input/json_members.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace headroom {
namespace json_members_test {

struct Case {
  std::string text;
  std::string sound;  ///< Expected result of SoundMembers().
};

TEST(JsonMembersTest, WhatIsJsonStaysAndTheRestGoes) {
  const Case cases[] = {
      {R"("a": 1)", R"("a": 1)"},
      {R"("a":[],"b" : {} , "c":{"d":[1,[2.5e-3,-0]]})",
       R"("a":[], "b" : {}, "c":{"d":[1,[2.5e-3,-0]]})"},
      {R"("a": "\u00e9\n\"", "b": null, "c": true)", R"("a": "\u00e9\n\"", "b": null, "c": true)"},
      {R"("a": [[8x 4]], "b": 2)", R"("b": 2)"},
      {R"("a": 01, "b": .5, "c": +3, "d": 1., "e": 1e, "f": -)", ""},
      {R"("a": NaN, "b": -Infinity, "c": nan)", R"("a": null, "b": null, "c": null)"},
      {R"("a": [NaN], "b": {"c" 1}, "d": [1 2], "e": [1,], "f": 7)", R"("f": 7)"},
      {"\"a\": \"x\ty\", \"b\": \"\\x\", \"c\": \"\\u12\"", ""},
      {R"("a": tru, "b": nul)", ""},
      {R"("a": "x, [y", "b": 1)", R"("a": "x, [y", "b": 1)"},
      {R"("a": "x)", ""},
      {"", ""},
  };
  for (const Case& c : cases) {
    const std::string sound = SoundMembers(c.text);
    EXPECT_EQ(sound, c.sound) << c.text;
    EXPECT_EQ(nlohmann::json::accept("{" + c.text + "}"), c.text.empty() || AreJsonMembers(c.text))
        << c.text;
    EXPECT_TRUE(nlohmann::json::accept("{" + sound + "}")) << sound;
  }
}

TEST(JsonMembersTest, NestingHasALimit) {
  const auto nested = [](std::size_t depth) {
    return "\"a\": " + std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(AreJsonMembers(nested(64)));
  EXPECT_FALSE(AreJsonMembers(nested(65)));
  EXPECT_FALSE(AreJsonMembers("\"a\": " + std::string(100'000, '[')));
  EXPECT_EQ(SoundMembers("\"a\": " + std::string(100'000, '[')), "");
}

/// Replaces each byte of valid members with several other bytes. Both parsers must agree on which
/// results are valid.
TEST(JsonMembersTest, AgreesWithAnotherParserOnEveryDamagedByte) {
  const std::string whole =
      R"("In": [[8, 4], []], "t": ["float", "\u0041"], "x": {"y": -1.5e3}, "z": null)";
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char c : std::string_view("\"\\,:[]{}0x. -eN\n")) {
      std::string damaged = whole;
      damaged[at] = c;
      EXPECT_EQ(AreJsonMembers(damaged), nlohmann::json::accept("{" + damaged + "}")) << damaged;
      EXPECT_TRUE(nlohmann::json::accept("{" + SoundMembers(damaged) + "}")) << damaged;
    }
  }
}

}  // namespace json_members_test
}  // namespace headroom
