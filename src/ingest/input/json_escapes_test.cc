#include "ingest/input/json_escapes.h"

#include <gtest/gtest.h>

namespace headroom {
namespace json_escapes_test {

struct EscapeCase {
  const char* name;
  const char* text;
  const char* decoded;
};

const EscapeCase kEscapeCases[] = {
    {"none", "plain", "plain"},
    {"short ones", R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
    {"one byte", R"(\u0041)", "A"},
    {"two bytes", R"(\u00e9)", "\xc3\xa9"},
    {"three bytes", R"(\u20AC)", "\xe2\x82\xac"},
    {"a surrogate pair", R"(\ud83d\ude00)", "\xf0\x9f\x98\x80"},
    {"a lone high surrogate", R"(\ud83dx)", "\xef\xbf\xbdx"},
    {"a lone low surrogate", R"(\ude00)", "\xef\xbf\xbd"},
    {"two high surrogates", R"(\ud83d\ud83d)", "\xef\xbf\xbd\xef\xbf\xbd"},
    {"too few digits", R"(\u12)",
     "\xef\xbf\xbd"
     "12"},
    {"no digits", R"(\u-001)", "\xef\xbf\xbd-001"},
    {"no escape at all", R"(\x)", R"(\x)"},
    {"a backslash at the end", "a\\", "a\\"},
    {"bytes that are no UTF-8", "raw\x8D\\/", "raw\x8D/"},
};

TEST(UnescapeTest, DecodesEscapes) {
  for (const EscapeCase& c : kEscapeCases) {
    std::string out;
    Unescape(c.text, out);
    EXPECT_EQ(out, c.decoded) << c.name;
  }
}

TEST(AppendQuotedTest, WhatIsQuotedReadsBack) {
  std::string quoted = "a: ";
  AppendQuoted("tab\t, \"quote\", back\\slash, \xC3\xA4", quoted);
  EXPECT_EQ(quoted, "a: \"tab\\u0009, \\\"quote\\\", back\\\\slash, \xC3\xA4\"");
  std::string plain;
  AppendQuoted("plain", plain);
  EXPECT_EQ(plain, "\"plain\"");
}

}  // namespace json_escapes_test
}  // namespace headroom
