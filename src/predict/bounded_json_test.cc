#include "predict/bounded_json.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "base/testing/damage.h"

namespace headroom {
namespace bounded_json_test {

using Json = nlohmann::json;

constexpr const char* kText =
    R"([{"a": [1, -2, {"b": null}], "c": "x\"]"}, [], 2.5, true, [[["deep"]], {}]])";

Result<std::vector<Json>> Elements(const std::string& text) {
  std::vector<Json> elements;
  Status status = ForEachJsonElement(text, "file", "row", [&](std::size_t number, Json& element) {
    EXPECT_EQ(number, elements.size() + 1);
    elements.push_back(std::move(element));
    return Status::Ok();
  });
  if (!status.ok()) return status;
  return elements;
}

std::string Nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(BoundedJson, BuildsWhatTheLibraryDoes) {
  const Json whole = Json::parse(kText);
  EXPECT_EQ(ParseBoundedJson(kText), whole);
  const auto elements = Elements(kText);
  ASSERT_TRUE(elements.ok()) << elements.status().message();
  EXPECT_EQ(Json(elements.value()), whole);
  EXPECT_EQ(Elements("[]").value().size(), 0u);
}

TEST(BoundedJson, RefusesWhatIsDeepOrLarge) {
  EXPECT_TRUE(ParseBoundedJson(Nested(16)));
  EXPECT_FALSE(ParseBoundedJson(Nested(17)));
  EXPECT_FALSE(ParseBoundedJson(Nested(1'000'000)));
  std::string many = "[0";
  for (int i = 0; i < 65536; ++i) many += ",0";
  EXPECT_FALSE(ParseBoundedJson(many + "]"));
  EXPECT_EQ(Elements(many + "]").value().size(), 65537u) << "the length of an array is unlimited";
  const auto deep = Elements("[1, " + Nested(17) + "]");
  ASSERT_FALSE(deep.ok());
  EXPECT_NE(deep.status().message().find("file, row 2: is nested deeper than 16"),
            std::string::npos);
}

TEST(BoundedJson, SaysWhereItIsWrong) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c :
       {Case{"[1,\n2", "line 2: not JSON"}, Case{"[1,\n2] 3", "line 2: not JSON"},
        Case{"{\"a\": 1}",
             "one JSON object, not an array; write an array in which each element is one row"},
        Case{"7", "one JSON value"}, Case{"", "line 1: not JSON"},
        Case{"[1e999]", "out of range"}}) {
    const auto elements = Elements(c.text);
    ASSERT_FALSE(elements.ok()) << c.text;
    EXPECT_NE(elements.status().message().find(c.says), std::string::npos)
        << elements.status().message();
  }
}

RC_GTEST_PROP(BoundedJsonProperty, OfADamagedTextItBuildsWhatTheLibraryDoes, ()) {
  const std::string text = Damaged(kText);
  const Json whole = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  const std::optional<Json> parsed = ParseBoundedJson(text);
  RC_ASSERT(parsed.has_value() == !whole.is_discarded());
  if (parsed) RC_ASSERT(*parsed == whole);
  const auto elements = Elements(text);
  RC_ASSERT(elements.ok() == whole.is_array());
  if (elements.ok()) RC_ASSERT(Json(elements.value()) == whole);
}

}  // namespace bounded_json_test
}  // namespace headroom
