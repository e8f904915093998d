#include "store/args_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace headroom {
namespace args_text_test {

struct MemberCase {
  const char* name;
  const char* members;
  const char* key;
  const char* value;
};

const MemberCase kMemberCases[] = {
    {"first", R"("a": 1, "b": 2)", "a", "1"},
    {"last", R"("a": 1, "b": 2)", "b", "2"},
    {"absent", R"("a": 1, "b": 2)", "c", ""},
    {"a prefix of a key is another key", R"("ab": 1)", "a", ""},
    {"a list of lists", R"("Input Dims": [[8, 384], []], "x": 1)", "Input Dims", "[[8, 384], []]"},
    {"behind a list of lists", R"("Input Dims": [[8, 384], []], "x": 1)", "x", "1"},
    {"an object", R"("o": {"a": {"b": 3}}, "b": 4)", "b", "4"},
    {"keys inside values do not count", R"("o": {"a": 1}, "b": 2)", "a", ""},
    {"brackets in strings", R"("s": "]},\"", "b": 2)", "b", "2"},
    {"a string keeps its quotes and escapes", R"("s": "a\"b")", "s", R"("a\"b")"},
    {"no spaces", R"("a":1,"b":[2],"c":"3")", "c", R"("3")"},
    {"line breaks and doubled commas", "\"a\": 1\n  ,,\n \"b\": 2 ", "b", "2"},
    {"space after the value is not part of it", "\"a\": 1 \n, \"b\": 2", "a", "1"},
    {"empty", "", "a", ""},
    {"not members", "1, 2", "a", ""},
    {"a key without a value", R"("a")", "a", ""},
    {"a string without an end", R"("a": "b)", "a", R"("b)"},
    {"a list without an end", R"("a": [1, 2)", "a", "[1, 2"},
    {"a closing bracket too many", R"("a": 1], "b": 2)", "b", ""},
};

TEST(ArgsTextTest, FindsTheValueOfAKey) {
  for (const MemberCase& c : kMemberCases)
    EXPECT_EQ(FindMember(c.members, c.key), c.value) << c.name;
}

RC_GTEST_PROP(ArgsTextProperty, DamagedTextIsNeverOverrun, ()) {
  const auto text = *rc::gen::container<std::string>(
      rc::gen::element('"', '\\', '[', ']', '{', '}', ',', ':', 'a', ' '));
  // An exact copy in a separate allocation, so that a sanitizer detects any read past the end.
  const std::string exact(text);  // NOLINT(performance-unnecessary-copy-initialization)
  const std::string_view value = FindMember(exact, "a");
  RC_ASSERT(value.empty() || (value.data() >= exact.data() &&
                              value.data() + value.size() <= exact.data() + exact.size()));
  for (std::size_t at = 0; at <= exact.size(); ++at) {
    const std::size_t end = SkipValue(exact, at);
    RC_ASSERT(end >= at && end <= exact.size());
  }
}

}  // namespace args_text_test
}  // namespace headroom
