#include "ingest/kineto/event_scanner.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom::kineto {
namespace event_scanner_test {

constexpr std::size_t kNowhere = std::string_view::npos;

/// Text in a separate allocation with exactly the promised padding: a sanitizer detects any read
/// past it.
class Padded {
 public:
  explicit Padded(std::string_view text)
      : size_(text.size()), bytes_(new char[text.size() + kPadding]()) {
    text.copy(bytes_.get(), text.size());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<char[]> bytes_;
};

struct Scanned {
  ScanResult result;
  std::size_t next;
};

Scanned Scan(const Padded& text, RawEvent& event) {
  Scanned scanned = {};
  scanned.result = ScanEvent(text.view(), 0, event, scanned.next);
  return scanned;
}

ScanResult ResultOf(std::string_view text) {
  RawEvent event;
  return Scan(Padded(text), event).result;
}

TEST(ScanEventTest, TakesSpaceBetweenAnyTokens) {
  const std::vector<std::string> tokens = {"{", "\"name\"",   ":", "\"a\"", ",", "\"args\"", ":",
                                           "{", "\"stream\"", ":", "7",     ",", "\"note\"", ":",
                                           "[", "1",          ",", "{",     "}", "]",        "}",
                                           ",", "\"dur\"",    ":", "6",     "}"};
  for (std::size_t gap = 1; gap < tokens.size(); ++gap) {
    for (const char* const space : {" ", "\t", "\r\n", "   "}) {
      std::string text;
      for (std::size_t i = 0; i < tokens.size(); ++i) text += (i == gap ? space : "") + tokens[i];
      const Padded padded(text);
      RawEvent event;
      ASSERT_EQ(Scan(padded, event).result, ScanResult::kEvent) << text;
      EXPECT_EQ(event.text, text);
      EXPECT_EQ(event.name.text, "a") << text;
      EXPECT_EQ(event.duration.text, "6") << text;
      ASSERT_EQ(event.args.size(), 2u) << text;
      EXPECT_EQ(event.args[0].value.text, "7") << text;
      EXPECT_EQ(event.args[1].key_text, "note") << text;
    }
  }
}

TEST(ScanEventTest, MarksTheFieldsOfAnEvent) {
  const Padded text(R"({"ph": "X", "cat": "kernel", "name": "a\"b", "pid": 0, "tid": 7,
    "ts": 12.345, "dur": 6, "id": "0x7",
    "args": {"stream": 7, "correlation": 123, "grid": [1, 2, 3], "note": {"x": [1]}, "External id": 9}}, )");
  RawEvent event;
  const Scanned scanned = Scan(text, event);
  ASSERT_EQ(scanned.result, ScanResult::kEvent);
  EXPECT_EQ(scanned.next, text.view().rfind('}') + 1);
  EXPECT_EQ(event.text, text.view().substr(0, scanned.next));
  EXPECT_EQ(event.phase.text, "X");
  EXPECT_TRUE(event.phase.quoted);
  EXPECT_EQ(event.name.text, "a\\\"b");
  EXPECT_TRUE(event.name.escaped);
  EXPECT_FALSE(event.category.escaped);
  EXPECT_EQ(event.time.text, "12.345");
  EXPECT_FALSE(event.time.quoted);
  EXPECT_EQ(event.duration.text, "6");
  EXPECT_EQ(event.id.text, "0x7");
  EXPECT_EQ(event.Arg(KinetoArg::kStream).text, "7");
  EXPECT_EQ(event.Arg(KinetoArg::kCorrelation).text, "123");
  EXPECT_EQ(event.Arg(KinetoArg::kGrid).text, "[1, 2, 3]");
  EXPECT_EQ(event.Arg(KinetoArg::kExternalId).text, "9");
  EXPECT_FALSE(event.Arg(KinetoArg::kBlock).present());
  ASSERT_EQ(event.args.size(), 5u);
  EXPECT_EQ(event.args[3].key_text, "note");
  EXPECT_EQ(event.args[3].whole, R"("note": {"x": [1]})");
}

TEST(ScanEventTest, AnEventBeforeLeavesNothingBehind) {
  RawEvent event;
  const Padded first(R"({"ph":"X","name":"n","args":{"stream":7}})");
  const Padded second(R"({"ph":"i"})");
  ASSERT_EQ(Scan(first, event).result, ScanResult::kEvent);
  ASSERT_EQ(Scan(second, event).result, ScanResult::kEvent);
  EXPECT_FALSE(event.name.present());
  EXPECT_FALSE(event.Arg(KinetoArg::kStream).present());
  EXPECT_TRUE(event.args.empty());
}

struct ResultCase {
  const char* name;
  std::string text;
  ScanResult result;
};

std::string Nested(std::size_t depth, const char* open, const char* close) {
  std::string text = R"({"args":{"a":)";
  for (std::size_t i = 0; i < depth; ++i) text += open;
  for (std::size_t i = 0; i < depth; ++i) text += close;
  return text + "}}";
}

TEST(ScanEventTest, TellsWholeFromCutFromDamaged) {
  const ResultCase cases[] = {
      {"empty object", "{}", ScanResult::kEvent},
      {"empty args", R"({"args":{}})", ScanResult::kEvent},
      {"args that are no object", R"({"args":null,"ph":"X"})", ScanResult::kEvent},
      {"NaN and infinity", R"({"ts":NaN,"dur":-Infinity})", ScanResult::kEvent},
      {"doubled commas", R"({"ph":"X",, "ts":1})", ScanResult::kEvent},
      {"no comma", R"({"ph":"X" "ts":1})", ScanResult::kDamaged},
      {"no colon", R"({"ph" "X"})", ScanResult::kDamaged},
      {"no value", R"({"ph":,"ts":1})", ScanResult::kDamaged},
      {"no value at the end", R"({"ph":})", ScanResult::kDamaged},
      {"a key without quotes", R"({ph:"X"})", ScanResult::kDamaged},
      {"brackets that do not match", R"({"args":{"a":[1,2}}})", ScanResult::kDamaged},
      {"a line break in a string", "{\"name\":\"a\nb\"}", ScanResult::kDamaged},
      {"a zero in a string", std::string("{\"name\":\"a\0b\"}", 14), ScanResult::kDamaged},
      {"a zero between members", std::string("{\"a\":1\0}", 8), ScanResult::kDamaged},
      {"a zero in a list", std::string("{\"a\":[1\0]}", 10), ScanResult::kDamaged},
      {"the deepest nesting", Nested(kMaxDepth, "[", "]"), ScanResult::kEvent},
      {"deeper nesting", Nested(kMaxDepth + 1, "[", "]"), ScanResult::kDamaged},
      {"a million brackets", Nested(1'000'000, "[", ""), ScanResult::kDamaged},
      {"a million braces", Nested(1'000'000, "{\"a\":", ""), ScanResult::kDamaged},
  };
  for (const ResultCase& c : cases) EXPECT_EQ(ResultOf(c.text), c.result) << c.name;
}

TEST(ScanEventTest, EveryProperPrefixIsIncompleteWherePaddingBegins) {
  const std::string text =
      R"({"ph": "X", "name": "a long name with \"escapes\" \\", "args": {"a": [1, {"b": "]"}], "c": "d"}, "ts": 1.5})";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    RawEvent event;
    const Padded prefix(text.substr(0, cut));
    const Scanned scanned = Scan(prefix, event);
    EXPECT_EQ(scanned.result, ScanResult::kIncomplete) << cut;
    EXPECT_LE(scanned.next, cut) << cut;
  }
}

TEST(ScanEventTest, EveryProperPrefixIsIncompleteWhereMoreTextFollows) {
  const Padded text(R"({"ph": "X", "args": {"a": [1, {"b": "c"}], "d": "e\"f"}, "ts": 1})");
  RawEvent event;
  for (std::size_t size = 1; size < text.view().size(); ++size) {
    std::size_t next = 0;
    EXPECT_EQ(ScanEvent(text.view().substr(0, size), 0, event, next), ScanResult::kIncomplete)
        << size;
    EXPECT_EQ(next, size);
  }
}

TEST(ScanEventTest, NestedEventStartsCostBoundedWork) {
  std::string nested = R"({"ph":"X","args":{"a":[)";
  for (int i = 0; i < 10'000; ++i) nested += R"({},{"a":[)";
  const Padded text(nested);
  RawEvent event;
  std::size_t work = 0;
  for (std::size_t at = 0; at != kNowhere; at = FindEventStart(text.view(), at + 1)) {
    std::size_t next = 0;
    ScanEvent(text.view(), at, event, next);
    work += next - at;
  }
  EXPECT_LT(work, kMaxDepth * nested.size());
}

TEST(ScanEventTest, StringsOfAnyLengthAtAnyPlaceInTheStride) {
  for (std::size_t lead = 0; lead < 20; ++lead) {
    for (std::size_t length = 0; length < 50; ++length) {
      for (const char* special : {"", "\\\"", "\\\\", "\xc3\xa9", "]}", "\\u0041"}) {
        const std::string name = std::string(length, 'n') + special;
        const Padded text("{" + std::string(lead, ' ') + R"("name":")" + name + R"("})");
        RawEvent event;
        ASSERT_EQ(Scan(text, event).result, ScanResult::kEvent) << lead << " " << length << special;
        ASSERT_EQ(event.name.text, name) << lead << " " << length << special;
        ASSERT_EQ(event.name.escaped, special[0] == '\\') << lead << " " << length << special;
      }
    }
  }
}

TEST(ScanEventTest, TheLastOfEqualKeysWins) {
  const Padded text(R"({"ts":1,"ts":2,"args":{"stream":1,"stream":2}})");
  RawEvent event;
  ASSERT_EQ(Scan(text, event).result, ScanResult::kEvent);
  EXPECT_EQ(event.time.text, "2");
  EXPECT_EQ(event.Arg(KinetoArg::kStream).text, "2");
}

TEST(ScanEventTest, MoreArgumentsThanAnIndexHolds) {
  std::string text = R"({"args":{"stream":5)";
  for (int i = 0; i < 70'000; ++i) text += R"(,"k":1)";
  text += R"(,"device":3}})";
  RawEvent event;
  const Padded padded(text);
  ASSERT_EQ(Scan(padded, event).result, ScanResult::kEvent);
  EXPECT_EQ(event.Arg(KinetoArg::kStream).text, "5");
  EXPECT_EQ(event.args.size(), 70'002u);
}

RC_GTEST_PROP(ScanEventProperty, AnyTextIsSurvived, ()) {
  const auto tail = *rc::gen::container<std::string>(
      rc::gen::element('"', '\\', '[', ']', '{', '}', ',', ':', 'a', '1', ' ', '\0', '\n', '\xff'));
  RawEvent event;
  const Padded text("{" + tail);
  const Scanned scanned = Scan(text, event);
  RC_ASSERT(scanned.next <= text.view().size());
  const std::string repaired = RepairStrings(text.view());
  const Padded again(repaired);
  RC_ASSERT(Scan(again, event).next <= repaired.size());
}

struct StartCase {
  const char* name;
  const char* text;
  std::size_t first, last;
};

const StartCase kStartCases[] = {
    {"none", R"({"a":1})", kNowhere, kNowhere},
    {"one", R"({"a":1},{"b":2}])", 8, 8},
    {"two", R"({"a":1},{"b":2},{"c":3})", 8, 16},
    {"spaces and line breaks", "} \n ,\t\r\n { \n\"a\"", 9, 9},
    {"an object in a list of numbers", R"([1,{"a":2}])", kNowhere, kNowhere},
    {"a brace without a member", "},{ }", kNowhere, kNowhere},
    {"inside a string the quote is escaped", R"("},{\"a")", kNowhere, kNowhere},
    {"cut before the quote", "},{", kNowhere, kNowhere},
    {"nothing before", R"({"a")", kNowhere, kNowhere},
    {"no comma", R"(}{"a")", kNowhere, kNowhere},
};

TEST(EventStartTest, IsABraceBehindAnObjectAndAComma) {
  for (const StartCase& c : kStartCases) {
    EXPECT_EQ(FindEventStart(c.text, 0), c.first) << c.name;
    EXPECT_EQ(FindLastEventStart(c.text), c.last) << c.name;
  }
  EXPECT_EQ(FindEventStart(R"({"a":1},{"b":2},{"c":3})", 9), 16u);
}

struct RepairCase {
  const char* name;
  std::string damaged, repaired;
};

TEST(RepairStringsTest, EscapesWhatMustHaveBeenPartOfAString) {
  const RepairCase cases[] = {
      {"nothing to do", R"({"name": "a", "ts": 1})", R"({"name": "a", "ts": 1})"},
      {"quotes in a name", R"j({"name": "f("x")", "ts": 1})j",
       R"j({"name": "f(\"x\")", "ts": 1})j"},
      {"quotes and commas", R"j({"name": "f("x", "y")", "ts": 1})j",
       R"j({"name": "f(\"x\", \"y\")", "ts": 1})j"},
      {"at the end of the event", R"({"ts": 1, "name": "say "hi""})",
       R"({"ts": 1, "name": "say \"hi\""})"},
      {"in args", R"({"args": {"a": "x "y" z", "b": 1}})",
       R"({"args": {"a": "x \"y\" z", "b": 1}})"},
      {"in a list", R"({"args": {"a": ["x "y"", "z"]}})", R"({"args": {"a": ["x \"y\"", "z"]}})"},
      {"control characters", "{\"name\": \"a\nb\tc\"}", R"({"name": "a\u000ab\u0009c"})"},
      {"escapes stay", R"({"name": "a\"b\\c\n"})", R"({"name": "a\"b\\c\n"})"},
      {"a backslash that escapes nothing", R"({"name": "C:\path"})", R"({"name": "C:\\path"})"},
  };
  for (const RepairCase& c : cases) EXPECT_EQ(RepairStrings(c.damaged), c.repaired) << c.name;
}

/// A slow reference: moves the decimal point of the text by three places, then rounds the digits.
std::optional<std::int64_t> ByText(bool negative, const std::string& whole,
                                   const std::string& decimals, int exponent) {
  std::string digits = whole + decimals;
  std::int64_t point = static_cast<std::int64_t>(whole.size()) + 3 + exponent;
  while (point > static_cast<std::int64_t>(digits.size())) digits += '0';
  while (point < 0) {
    digits.insert(0, "0");
    ++point;
  }
  std::uint64_t value = 0;
  for (std::int64_t i = 0; i < point; ++i) {
    if (value > UINT64_MAX / 20) return std::nullopt;  // Ten times this exceeds any int64.
    value = value * 10 + static_cast<unsigned>(digits[static_cast<std::size_t>(i)] - '0');
  }
  if (point < static_cast<std::int64_t>(digits.size()) &&
      digits[static_cast<std::size_t>(point)] >= '5')
    ++value;
  if (value > INT64_MAX) return std::nullopt;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> Parsed(std::string_view text) {
  std::int64_t ns = 0;
  return ParseMicroseconds(text, ns) ? std::optional(ns) : std::nullopt;
}

RC_GTEST_PROP(ParseMicrosecondsProperty, AgreesWithDecimalText, ()) {
  const auto digit = rc::gen::inRange('0', static_cast<char>('9' + 1));
  const auto digits = [&](int most) {
    return *rc::gen::resize(most, rc::gen::container<std::string>(digit));
  };
  const std::string whole = digits(25), decimals = digits(30);
  RC_PRE(!whole.empty() || !decimals.empty());
  const bool negative = *rc::gen::arbitrary<bool>();
  const int exponent = *rc::gen::inRange(-45, 45);
  const std::string sign = negative ? "-" : "";
  RC_ASSERT(Parsed(sign + whole + "." + decimals) == ByText(negative, whole, decimals, 0));
  const std::string with_exponent =
      sign + whole + "." + decimals + (exponent % 2 == 0 ? "e" : "E") +
      (exponent > 0 && exponent % 3 == 0 ? "+" : "") + std::to_string(exponent);
  RC_ASSERT(Parsed(with_exponent) == ByText(negative, whole, decimals, exponent));
}

struct TimeCase {
  const char* text;
  std::optional<std::int64_t> ns;
};

const TimeCase kTimeCases[] = {
    {"0", 0},
    {"1", 1000},
    {"-1", -1000},
    {"0.001", 1},
    {"0.0005", 1},
    {"0.0004999", 0},
    {"-0.0005", -1},
    {"4362613666018.331", 4362613666018331},
    {"1712345678901234.567", 1712345678901234567},  // Nanoseconds since 1970 have 19 digits.
    {"1712345678901234.5675", 1712345678901234568},
    {"1.7e15", 1700000000000000000},
    {"1.695835535123456e+15", 1695835535123456000},
    {"9223372036854775.807", INT64_MAX},
    {"9223372036854775.8074", INT64_MAX},
    {"9223372036854775.8075", std::nullopt},
    {"-9223372036854775.807", -INT64_MAX},
    {"9223372036854775.808", std::nullopt},
    {"18446744073709551615", std::nullopt},
    {"12345678901234567890123e-10", 1234567890123457},
    {"1e400", std::nullopt},
    {"0e400", 0},
    {"1e-400", 0},
    {"1e99999999999", std::nullopt},
    {"1e-99999999999", 0},
    {"00001", 1000},
    {".5", 500},
    {"5.", 5000},
    {"+5", 5000},
    {"", std::nullopt},
    {".", std::nullopt},
    {"-", std::nullopt},
    {"1.2.3", std::nullopt},
    {"1e", std::nullopt},
    {"1e+", std::nullopt},
    {"1e+-5", std::nullopt},
    {"NaN", std::nullopt},
    {"Infinity", std::nullopt},
    {"null", std::nullopt},
    {"1 ", std::nullopt},
    {"0x10", std::nullopt},
};

TEST(ParseMicrosecondsTest, Boundaries) {
  for (const TimeCase& c : kTimeCases) EXPECT_EQ(Parsed(c.text), c.ns) << c.text;
}

TEST(ParseIntegerTest, DecimalAndHexadecimalThatFit) {
  const std::pair<const char*, std::optional<std::int64_t>> cases[] = {
      {"0", 0},
      {"-1", -1},
      {"9223372036854775807", INT64_MAX},
      {"-9223372036854775808", INT64_MIN},
      {"9223372036854775808", std::nullopt},
      {"0x7f", 127},
      {"0x", std::nullopt},
      {"0x-5", std::nullopt},
      {"", std::nullopt},
      {"-", std::nullopt},
      {"1.0", std::nullopt},
      {"1a", std::nullopt},
      {"+1", std::nullopt},
      {"000000000000000000000000000007", 7},
  };
  for (const auto& [text, expected] : cases) {
    std::int64_t value = 0;
    const bool parsed = ParseInteger(text, value);
    EXPECT_EQ(parsed ? std::optional(value) : std::nullopt, expected) << text;
  }
}

}  // namespace event_scanner_test
}  // namespace headroom::kineto
