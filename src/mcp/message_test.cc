#include "mcp/message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace headroom::mcp {
namespace message_test {

struct WrongCase {
  const char* name;
  std::string line;
  int code;
  std::string id;  ///< As JSON.
};

TEST(ParseLine, WhatIsWrongHasItsCode) {
  const WrongCase cases[] = {
      {"no JSON", "{", kParseError, "null"},
      {"two values", "{} {}", kParseError, "null"},
      {"no UTF-8", "\"\xff\"", kParseError, "null"},
      {"a number", "1", kInvalidRequest, "null"},
      {"an empty batch", "[]", kInvalidRequest, "null"},
      {"no version", R"({"id":1,"method":"ping"})", kInvalidRequest, "1"},
      {"another version", R"({"jsonrpc":"1.0","id":"a","method":"ping"})", kInvalidRequest,
       "\"a\""},
      {"no method", R"({"jsonrpc":"2.0","id":1})", kInvalidRequest, "1"},
      {"an id that is none", R"({"jsonrpc":"2.0","id":[],"method":"ping"})", kInvalidRequest,
       "null"},
      {"an id that is null", R"({"jsonrpc":"2.0","id":null,"method":"ping"})", kInvalidRequest,
       "null"},
      {"params by position", R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})",
       kInvalidParams, "1"},
      {"very deep", std::string(1'000'000, '['), kInvalidRequest, "null"},
  };
  for (const WrongCase& one : cases) {
    SCOPED_TRACE(one.name);
    const Line line = ParseLine(one.line);
    ASSERT_EQ(line.messages.size(), 1u);
    EXPECT_EQ(line.messages[0].error_code, one.code);
    EXPECT_FALSE(line.messages[0].error.empty());
    EXPECT_EQ(line.messages[0].id.dump(), one.id);
  }
}

TEST(ParseLine, RequestsWantAnAnswerAndNotificationsDoNot) {
  const Line line = ParseLine(
      R"([{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"[[[\"["}},{"jsonrpc":"2.0","method":"b"}])");
  EXPECT_TRUE(line.is_batch);
  ASSERT_EQ(line.messages.size(), 2u);
  EXPECT_TRUE(line.messages[0].is_request);
  EXPECT_EQ(line.messages[0].params["x"], "[[[\"[");
  EXPECT_FALSE(line.messages[1].is_request);
  EXPECT_TRUE(line.messages[1].params.is_object());
}

TEST(ParseLine, AnswersToUsAreLeftOut) {
  EXPECT_TRUE(ParseLine(R"({"jsonrpc":"2.0","id":1,"result":{}})").messages.empty());
}

RC_GTEST_PROP(ParseLine, NeverFails, (const std::string& text)) {
  for (const Message& message : ParseLine(text).messages)
    RC_ASSERT(LineOf(ErrorAnswer(message.id, message.error_code, message.error)).ends_with("\n"));
}

}  // namespace message_test
}  // namespace headroom::mcp
