#include "ingest/memory_snapshot/pickle_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ingest/input/memory_source.h"

namespace headroom::memory_snapshot {
namespace pickle_parser_test {

using namespace std::string_literals;  // NOLINT(google-build-using-namespace): pickles hold zeros.

/// Returns a value as Python would print it, with "?" for values that are not kept.
std::string Repr(const PickleValues& values, Value value, int depth = 0) {
  if (depth > 4) return "...";
  switch (value.kind()) {
    case Value::Kind::kNone:
      return "None";
    case Value::Kind::kBool:
      return value.payload() != 0 ? "True" : "False";
    case Value::Kind::kInteger:
      return std::to_string(value.payload());
    case Value::Kind::kText:
      return "'" + std::string(values.TextOf(value)) + "'";
    case Value::Kind::kList:
    case Value::Kind::kDict: {
      if (values.IsRecord(value)) return "#" + std::to_string(values.RecordOf(value));
      std::string text = value.is(Value::Kind::kList) ? "[" : "{";
      values.ForEachRun(value, [&](std::span<const Value> run) {
        for (const Value item : run) text += Repr(values, item, depth + 1) + " ";
        return true;
      });
      return text + (value.is(Value::Kind::kList) ? "]" : "}");
    }
    default:
      return "?";
  }
}

struct Parsed {
  PickleResult result;
  std::string repr;
};

Parsed Parse(const std::string& pickle, const PickleOptions& options = {}) {
  MemoryByteSource source(pickle);
  PickleValues values;
  const Result<PickleResult> result = ParsePickle(source, options, values);
  EXPECT_TRUE(result.ok());
  return {result.value(), Repr(values, result.value().root)};
}

TEST(PickleParserTest, ReadsWhatEachProtocolWrites) {
  // The output of CPython's pickle.dumps({'a': [1, -2, 2**40, None, True], 'b': (1.5, b'x')}, N).
  const std::string expected = "{'a' [1 -2 1099511627776 None True ] 'b' [? ? ] }";
  const std::string two =
      "\x80\x02}q\0(X\1\0\0\0aq\1]q\2(K\1J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\1N\x88"
      "eX\1\0\0\0bq\3G?\xf8\0\0\0\0\0\0"
      "C\1x\x86q\4u."s;
  const std::string four =
      "\x80\x04\x95\x3a\0\0\0\0\0\0\0}\x94(\x8c\1a\x94]\x94("
      "K\1J\xfe\xff\xff\xff\x8a\x06\0\0\0\0\0\1"
      "N\x88"
      "e\x8c\1b\x94G?\xf8\0\0\0\0\0\0C\1x\x94\x86\x94u."s;
  for (const std::string& pickle : {two, four}) {
    EXPECT_TRUE(LooksLikePickle(pickle));
    const Parsed parsed = Parse(pickle);
    EXPECT_EQ(parsed.result.end, PickleEnd::kWhole);
    EXPECT_EQ(parsed.repr, expected);
  }
  EXPECT_EQ(Parse("(dp0\nVa\np1\n(lp2\nI1\naI-2\naL1099511627776L\naNaI01\nasVb\np3\n(F1.5\nN"
                  "tp4\ns."s)
                .repr,
            "{'a' [1 -2 1099511627776 None True ] 'b' [? None ] }");
}

TEST(PickleParserTest, ReadsTheSameInPiecesOfAnySize) {
  const std::string pickle = "\x80\x02}(X\3\0\0\0keyM\x39\x30X\4\0\0\0list](K\1K\2K\3eu."s;
  for (std::size_t chunk = 1; chunk < 40; ++chunk) {
    PickleOptions options;
    options.chunk_bytes = chunk;
    const Parsed parsed = Parse(pickle, options);
    EXPECT_EQ(parsed.repr, "{'key' 12345 'list' [1 2 3 ] }") << chunk;
    EXPECT_EQ(parsed.result.offset, static_cast<std::int64_t>(pickle.size()));
  }
}

TEST(PickleParserTest, SharesWhatIsRememberedAlsoWithItself) {
  EXPECT_EQ(Parse("\x80\x04]\x94(K\7\x94h\1h\1e."s).repr, "[7 7 7 ]");
  EXPECT_EQ(Parse("\x80\x04]\x94(h\0h\0e."s).repr.substr(0, 8), "[[[[[..."s);
  // Large memo numbers work, too.
  EXPECT_EQ(Parse("\x80\x02](K\5r\xff\xff\xff\x7fj\xff\xff\xff\x7f"
                  "e."s)
                .repr,
            "[5 5 ]");
}

TEST(PickleParserTest, RunsNoCode) {
  // The bytes import a function of the operating system and call it.
  const Parsed parsed = Parse("\x80\x02](K\1cos\nsystem\n(S'true'\ntRe."s);
  EXPECT_EQ(parsed.result.end, PickleEnd::kCode);
  EXPECT_EQ(parsed.result.opcode, "GLOBAL");
  EXPECT_EQ(parsed.result.offset, 6);
  EXPECT_EQ(parsed.repr, "[1 ]") << "what came before stays";
  for (const char opcode : {'R', 'b', 'i', 'o', 'P', 'Q', '\x81', '\x92', '\x93', '\x97'}) {
    EXPECT_EQ(Parse("\x80\x04)"s + opcode).result.end, PickleEnd::kCode) << opcode;
  }
}

TEST(PickleParserTest, KeepsWhatWasThereBeforeACut) {
  const std::string pickle = "\x80\x02}(X\1\0\0\0aK\1X\1\0\0\0b](K\1K\2K\3eu."s;
  for (std::size_t size = 3; size < pickle.size(); ++size) {
    const Parsed parsed = Parse(pickle.substr(0, size));
    EXPECT_EQ(parsed.result.end, PickleEnd::kCut) << size;
  }
  EXPECT_EQ(Parse(pickle.substr(0, pickle.size() - 4)).repr, "{'a' 1 'b' [1 2 ] }");
  EXPECT_EQ(Parse(pickle.substr(0, 12)).repr, "{'a' 1 }");
  // A list with one list, added by APPEND.
  EXPECT_EQ(Parse("\x80\x02}(X\1\0\0\0aK\1X\1\0\0\0b]](K\1K\2"s).repr, "{'a' 1 'b' [[1 2 ] ] }");
}

TEST(PickleParserTest, EndsAtWhatNoPicklerWrites) {
  for (const std::string& body :
       {"\xff"s, "0"s, "a"s, "K\1a"s, "(e"s, "]K\1s"s, "e"s, "1"s, "\x85"s, "h\7"s, "}(K\1K\2e"s,
        "Iseven\n"s, "(."s, "."s, "(2"s, "](K\1(\x86"s}) {
    EXPECT_EQ(Parse("\x80\x02"s + body + "."s).result.end, PickleEnd::kDamaged) << body;
  }
}

TEST(PickleParserTest, LeavesOutLongTextsAndNumbers) {
  PickleOptions options;
  options.max_string_bytes = 3;
  const Parsed parsed = Parse("\x80\x02](X\3\0\0\0abcX\4\0\0\0abcde."s, options);
  EXPECT_EQ(parsed.repr, "['abc' ? ]");
  EXPECT_EQ(parsed.result.long_strings, 1);
  EXPECT_EQ(Parse("\x80\x02\x8a\x09\1\1\1\1\1\1\1\1\1."s).repr, "?");
  EXPECT_EQ(Parse("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f."s).repr, "?") << "60 bits";
  EXPECT_EQ(Parse("\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\xff."s).repr, "-1");
}

TEST(PickleParserTest, GivesDictionariesAway) {
  PickleOptions options;
  std::uint32_t given = 0;
  options.record = [&](const PickleValues& values,
                       std::span<const Value> items) -> std::optional<std::uint32_t> {
    if (items.size() != 2 || values.TextOf(items[0]) != "x") return std::nullopt;
    return given++;
  };
  const Parsed parsed =
      Parse("\x80\x02](}(X\1\0\0\0xK\1u}(X\1\0\0\0yK\1u}X\1\0\0\0xK\2se."s, options);
  EXPECT_EQ(parsed.repr, "[#0 {'y' 1 } #1 ]");
}

}  // namespace pickle_parser_test
}  // namespace headroom::memory_snapshot
