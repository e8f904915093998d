#include "ingest/rocprof/json_cursor.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::rocprof {
namespace json_cursor_test {

using State = JsonCursor::State;

std::vector<std::string> KeysOf(JsonCursor& cursor) {
  std::vector<std::string> keys;
  cursor.Enter('{');
  for (std::string_view key; cursor.NextMember(key); cursor.Skip()) keys.emplace_back(key);
  return keys;
}

TEST(JsonCursor, WalksMembersAndPassesOverWhatIsNotWanted) {
  JsonCursor cursor(R"( {"a": 1, "b" : {"a": [1, "}"], "c": null}, "d": [], "e": "x\"y"} , )");
  EXPECT_EQ(KeysOf(cursor), (std::vector<std::string>{"a", "b", "d", "e"}));
  EXPECT_EQ(cursor.state(), State::kFine);
  EXPECT_EQ(cursor.Peek(), ',');
}

TEST(JsonCursor, EveryCutIsToldFromDamage) {
  const std::string whole =
      R"({"a": {"handle": 18446744073709551615}, "b": "t\u00e9xt", "c": [true, -5]})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string cut = whole.substr(0, size);
    JsonCursor cursor(cut);
    KeysOf(cursor);
    EXPECT_EQ(cursor.state(), State::kCut) << cut;
  }
  for (const char* damaged : {"{\"a\" 1}", "{a: 1}", "{\"a\": }", "{\"a\": 1 \"b\": 2}", "[1]",
                              "{\"a\": \"line\nbreak\"}", "{\"a\": 1]", "{\"a\": #}"}) {
    const std::string text = std::string(damaged) + "      ";
    JsonCursor cursor(text);
    KeysOf(cursor);
    EXPECT_EQ(cursor.state(), State::kDamaged) << damaged;
  }
}

TEST(JsonCursor, Integers) {
  const auto integer = [](std::string text) -> std::optional<std::uint64_t> {
    text += ",";
    JsonCursor cursor(text);
    std::uint64_t value = 0;
    const bool is_one = cursor.Integer(value);
    EXPECT_TRUE(cursor.fine()) << text;
    EXPECT_EQ(cursor.Peek(), ',') << text;
    return is_one ? std::optional(value) : std::nullopt;
  };
  EXPECT_EQ(integer("0"), 0u);
  EXPECT_EQ(integer("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(integer("-1"), UINT64_MAX);
  for (const char* none :
       {"18446744073709551616", "1.5", "1e3", "\"7\"", "null", "{\"handle\": 7}", "-"})
    EXPECT_FALSE(integer(none)) << none;
}

TEST(JsonCursor, Numbers) {
  const auto number = [](std::string_view text) {
    double value = 7;
    JsonCursor cursor(text);
    const bool is_one = cursor.Number(value);
    EXPECT_TRUE(cursor.fine()) << text;
    EXPECT_EQ(is_one, value != 7) << text;
    return value;
  };
  EXPECT_EQ(number("-1.5e3,"), -1500);
  EXPECT_EQ(number("42}"), 42);
  for (const char* other : {"-,", "1e999,", "NaN,", "\"5\",", "[1],"}) EXPECT_EQ(number(other), 7);
  double value = 7;
  JsonCursor cut("12");
  EXPECT_FALSE(cut.Number(value));
  EXPECT_EQ(cut.state(), JsonCursor::State::kCut);
}

TEST(JsonCursor, TextsWithEscapes) {
  const auto text = [](const std::string& written) {
    JsonCursor cursor(written);
    std::string_view found;
    std::string scratch;
    return cursor.Text(found, scratch) ? std::string(found) : std::string("none");
  };
  EXPECT_EQ(text(R"("plain")"), "plain");
  EXPECT_EQ(text(R"("a\"b\\c\u00e9\n")"), "a\"b\\c\xC3\xA9\n");
  EXPECT_EQ(text("\"raw\x8D\\/\""), "raw\x8D/");
  EXPECT_EQ(text("17 "), "none");
}

}  // namespace json_cursor_test
}  // namespace headroom::rocprof
