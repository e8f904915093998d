// Tests the data that must survive when a trace file is cut, flipped, shuffled or badly written.
// Every damaged text must give the same result in pieces of any size.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/testing/growth.h"
#include "base/testing/sanitizer.h"
#include "ingest/input/memory_source.h"
#include "ingest/kineto/kineto_reader.h"
#include "slow_reader.h"

namespace headroom::testing {
namespace {

/// Distance between damaged places. It has no common divisor with the number of tried values, so
/// all of them are used.
constexpr std::size_t kStride = kSanitized ? 4 : 1;

struct Outcome {
  std::unique_ptr<TraceStore> store;  ///< Null if the file was refused.
  std::string error;

  std::int64_t Count(ImportIssue issue) const {
    return store == nullptr ? 0 : store->log.Count(issue);
  }
  /// Names of all spans, tasks and instants.
  std::multiset<std::string> Names() const {
    std::multiset<std::string> names;
    if (store == nullptr) return names;
    for (const StringId id : store->host_events.name.values()) names.emplace(store->Text(id));
    for (const StringId id : store->gpu_tasks.name.values()) names.emplace(store->Text(id));
    for (const StringId id : store->instants.name.values()) names.emplace(store->Text(id));
    return names;
  }
};

Outcome Read(const std::string& text, std::size_t piece_bytes = 1 << 20, int threads = 1,
             std::int64_t max_event_bytes = 1 << 26) {
  MemoryByteSource source(text);
  kineto::ReadOptions options;
  options.piece_bytes = piece_bytes;
  options.threads = threads;
  options.max_event_bytes = max_event_bytes;
  Outcome outcome = {std::make_unique<TraceStore>(), ""};
  if (const Status status = kineto::Read(source, "file", options, *outcome.store); !status.ok()) {
    EXPECT_EQ(status.code(), StatusCode::kBadInput) << status.message();
    outcome = {nullptr, status.message()};
  }
  return outcome;
}

/// Returns all contents of a reading as one text.
std::string Everything(const Outcome& outcome) {
  if (outcome.store == nullptr) return outcome.error;
  std::string out;
  for (const auto& [table, rows] : Dump(*outcome.store).tables)
    out += fmt::format("{}\n{}\n", table, fmt::join(rows, "\n"));
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    if (outcome.Count(issue) > 0)
      out += fmt::format("{} {}\n", DocOf(issue).code, outcome.Count(issue));
  }
  for (const ImportLogRow& row : outcome.store->log.rows()) {
    out += fmt::format("{} at {} {}\n", DocOf(row.issue).code, row.offset, row.detail);
  }
  return out;
}

/// Returns the normal reading, and checks that reading in small pieces gives the same.
Outcome ReadInAllPieces(const std::string& text) {
  Outcome whole = Read(text);
  const std::string expected = Everything(whole);
  for (const std::size_t piece : {1, 64}) {
    EXPECT_EQ(Everything(Read(text, piece)), expected) << "in pieces of " << piece << ":\n" << text;
  }
  return whole;
}

/// A trace in Kineto's form, with a unique name for every event: "#0", "#1", ...
struct SmallTrace {
  std::string text;
  std::vector<std::size_t> begins, ends;  ///< Offsets of each event.
  std::size_t list_key, list;             ///< Offsets of the event list's key, and after its '['.
  std::size_t list_end;                   ///< Offset after its ']'.
};

SmallTrace MakeTrace(bool pretty) {
  const std::string nl = pretty ? "\n" : "", sp = pretty ? " " : "", in = pretty ? "\n  " : "",
                    deep = pretty ? "\n    " : "";
  SmallTrace trace;
  std::string& t = trace.text;
  t = "{" + in + "\"schemaVersion\":" + sp + "1," + in + "\"deviceProperties\":" + sp + "[" + in +
      "{\"id\":" + sp + "0," + sp + "\"name\":" + sp + "\"GPU\"}," + sp + "{\"id\":" + sp + "1," +
      sp + "\"name\":" + sp + "\"GPU\"}" + in + "]," + in + "\"distributedInfo\":" + sp +
      "{\"rank\":" + sp + "3}," + in;
  trace.list_key = t.size();
  t += "\"traceEvents\":" + sp + "[";
  trace.list = t.size();
  const auto event = [&](const char* category, int pid, int ts, const std::string& args) {
    if (!trace.begins.empty()) t += ",";
    t += in;
    trace.begins.push_back(t.size());
    t += fmt::format(
        "{{{1}\"ph\":{0}\"X\",{0}\"cat\":{0}\"{2}\",{0}\"name\":{0}\"#{3}\",{0}\"pid\":{0}{4},{0}"
        "\"tid\":{0}7,{1}"
        "\"ts\":{0}{5}.250,{0}\"dur\":{0}4.500,{1}\"args\":{0}{{{1}{6}{1}}}{7}}}",
        sp, deep, category, trace.begins.size() - 1, pid, ts, args, in);
    trace.ends.push_back(t.size());
  };
  event("cpu_op", 11, 100, R"("External id": 1,"Ev Idx": 1, "Input Dims": [[8, 384], []])");
  event("cuda_runtime", 11, 100, R"("correlation": 5, "External id": 1)");
  event("kernel", 0, 120,
        R"("stream": 7, "correlation": 5, "grid": [1, 2, 3], "note": "a \"b\" c")");
  event("python_function", 11, 90, R"("Python id": 4, "list": [{"a": 1}, {"b": 2}])");
  event("cpu_op", 11, 130, R"("Ev Idx": 2)");
  event("user_annotation", 11, 80, R"("Ev Idx": 3)");
  event("gpu_memcpy", 0, 140, R"("stream": 7, "correlation": 6, "bytes": 4096)");
  t += in + "]";
  trace.list_end = t.size();
  t += "," + in + "\"traceName\":" + sp + "\"x.json\"" + nl + "}" + nl;
  return trace;
}

/// Returns the number of missing events.
int Lost(const SmallTrace& trace, const Outcome& outcome) {
  const std::multiset<std::string> names = outcome.Names();
  int lost = 0;
  for (std::size_t i = 0; i < trace.begins.size(); ++i)
    lost += names.contains(fmt::format("#{}", i)) ? 0 : 1;
  return lost;
}

class DamageTest : public ::testing::TestWithParam<bool> {
 protected:
  const SmallTrace trace_ = MakeTrace(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Layouts, DamageTest, ::testing::Values(true, false),
                         [](const auto& layout) { return layout.param ? "Pretty" : "Minified"; });

TEST_P(DamageTest, TheUndamagedTraceIsRead) {
  const Outcome outcome = ReadInAllPieces(trace_.text);
  EXPECT_EQ(Lost(trace_, outcome), 0);
  EXPECT_TRUE(outcome.store->log.empty());
  EXPECT_EQ(Difference(SlowRead(trace_.text), Dump(*outcome.store)), "");
}

TEST_P(DamageTest, CutAtAnyByteKeepsEveryEventBeforeTheCut) {
  for (std::size_t cut = 0; cut < trace_.text.size(); cut += kStride) {
    const Outcome outcome = ReadInAllPieces(trace_.text.substr(0, cut));
    if (outcome.store == nullptr) {
      EXPECT_LT(cut, trace_.list) << "refused: " << outcome.error;
      continue;
    }
    std::multiset<std::string> complete;
    for (std::size_t i = 0; i < trace_.ends.size(); ++i) {
      if (trace_.ends[i] <= cut) complete.insert(fmt::format("#{}", i));
    }
    EXPECT_EQ(outcome.Names(), complete) << "cut at " << cut;
    EXPECT_EQ(outcome.Count(ImportIssue::kTruncated), cut < trace_.list_end ? 1 : 0)
        << "cut at " << cut;
    if (cut >= trace_.list_end && cut <= trace_.text.rfind('}')) {
      EXPECT_EQ(outcome.Count(ImportIssue::kUnclosed), 1) << "cut at " << cut;
    }
  }
}

TEST_P(DamageTest, AFlippedByteCostsAtMostTwoEvents) {
  // A flip in an event's text loses that event. A flip between two events can lose both. A flip in
  // the file's first brace or in the event list's key may lose all: the file then no longer looks
  // like a trace.
  constexpr char kValues[] = {'"',  '{', '}', '[', ']',  ',',   '\\',
                              '\0', 'x', '7', ' ', '\n', '\x80'};
  for (std::size_t at = 0; at < trace_.text.size(); at += kStride) {
    for (std::size_t k = 0; k < 2; ++k) {
      const char value = kValues[(at * 2 + k) % std::size(kValues)];
      if (value == trace_.text[at]) continue;
      std::string text = trace_.text;
      text[at] = value;
      const Outcome outcome = ReadInAllPieces(text);
      if (at == 0 || (at >= trace_.list_key && at < trace_.list)) continue;
      ASSERT_TRUE(outcome.store != nullptr) << at << " to " << value << ": " << outcome.error;
      const int lost = Lost(trace_, outcome);
      EXPECT_LE(lost, 2) << at << " to " << value << "\n"
                         << text.substr(0, at) << "<<<HERE>>>" << text.substr(at);
      // A missing event is reported. (An event that only has another name is still present.)
      if (outcome.Names().size() < trace_.begins.size() && outcome.store->flows.rows() == 0 &&
          outcome.store->syncs.rows() == 0 && outcome.store->log.empty()) {
        const std::string_view phases = "Mstf";  // The flip may have changed the phase.
        EXPECT_NE(phases.find(value), std::string_view::npos) << at << " to " << value << "\n"
                                                              << text;
      }
    }
  }
}

TEST_P(DamageTest, UnescapedQuotesAndControlCharactersAreRepaired) {
  for (const char* inner : {"f(\"x\")", "say \"hi\"", "a\nb", "tab\there", "\x01", "C:\\path", "\"",
                            "std::map<\"a\", \"b\">"}) {
    std::string text = trace_.text;
    const std::size_t name = text.find("#2");
    text.replace(name, 2, inner);
    const Outcome outcome = ReadInAllPieces(text);
    ASSERT_TRUE(outcome.store != nullptr) << inner;
    EXPECT_TRUE(outcome.Names().contains(inner)) << inner;
    EXPECT_EQ(Lost(trace_, outcome), 1) << "only the one renamed";
    EXPECT_LE(outcome.Count(ImportIssue::kRepairedEvent), 1);
    EXPECT_EQ(outcome.Count(ImportIssue::kLostEvent), 0) << inner;
    ASSERT_EQ(outcome.store->gpu_tasks.rows(), 2u);
    EXPECT_EQ(outcome.store->gpu_tasks.correlation[0], 5) << inner;
  }
}

TEST_P(DamageTest, EventsInAnyOrderAndTwiceAreKeptOnce) {
  const auto piece = [&](std::size_t i) {
    return trace_.text.substr(trace_.begins[i], trace_.ends[i] - trace_.begins[i]);
  };
  std::string text = trace_.text.substr(0, trace_.list);
  for (std::size_t i = trace_.begins.size(); i-- > 0;)
    text += piece(i) + "," + piece(i) + (i > 0 ? "," : "");
  text += "]" + trace_.text.substr(trace_.list_end);
  const Outcome outcome = ReadInAllPieces(text);
  EXPECT_EQ(Lost(trace_, outcome), 0);
  EXPECT_EQ(outcome.Names().size(), trace_.begins.size());
  EXPECT_EQ(outcome.Count(ImportIssue::kDuplicateEvent),
            static_cast<std::int64_t>(trace_.begins.size()));
  EXPECT_EQ(outcome.Count(ImportIssue::kOutOfOrder), 1)
      << "the two operators; other kinds come once";
}

TEST_P(DamageTest, AMissingPieceCostsTheEventsItTouches) {
  for (std::size_t from = trace_.begins[1] + 20; from < trace_.ends[4]; from += 13) {
    for (const std::size_t length : {1, 50, 300}) {
      if (from + length >= trace_.ends[5]) continue;
      std::string text = trace_.text;
      text.erase(from, length);
      const Outcome outcome = ReadInAllPieces(text);
      ASSERT_TRUE(outcome.store != nullptr);
      int touched = 0;
      for (std::size_t i = 0; i < trace_.begins.size(); ++i) {
        touched += trace_.begins[i] < from + length && from < trace_.ends[i] ? 1 : 0;
      }
      EXPECT_LE(Lost(trace_, outcome), touched + 1) << from << "+" << length << "\n" << text;
    }
  }
}

TEST_P(DamageTest, ADoubledPieceCostsTheEventsAtItsSeams) {
  for (std::size_t from = trace_.begins[1]; from < trace_.begins[4]; from += 11) {
    for (const std::size_t length : {30, 200, 400}) {
      if (from + length > trace_.text.size()) continue;
      std::string text = trace_.text;
      text.insert(from + length, text.substr(from, length));
      const Outcome outcome = ReadInAllPieces(text);
      ASSERT_TRUE(outcome.store != nullptr);
      EXPECT_LE(Lost(trace_, outcome), 2) << from << "+" << length << "\n" << text;
    }
  }
}

RC_GTEST_PROP(DamageProperty, AnyMixOfChunksIsReadTheSameInAllPieces, ()) {
  const SmallTrace trace = MakeTrace(*rc::gen::arbitrary<bool>());
  std::string text;
  const int chunks = *rc::gen::inRange(1, 6);
  for (int i = 0; i < chunks; ++i) {
    const auto from = *rc::gen::inRange<std::size_t>(0, trace.text.size());
    const auto size = *rc::gen::inRange<std::size_t>(0, trace.text.size() - from + 1);
    text += i == 0 ? trace.text.substr(0, from) : trace.text.substr(from, size);
  }
  const std::string expected = Everything(Read(text));
  for (const std::size_t piece : {1, 64}) RC_ASSERT(Everything(Read(text, piece, 2)) == expected);
}

struct RefusalCase {
  const char* name;
  std::string text;
  const char* says;
};

TEST(RefusalTest, WhatIsNoTraceIsRefusedWithTheReason) {
  const RefusalCase cases[] = {
      {"nothing", "", "ends before its event list"},
      {"only spaces", " \n ", "ends before its event list"},
      {"text", "hello", "is not a trace"},
      {"a source file", "{ return 1; }", "is not a trace"},
      {"a number", "17", "is not a trace"},
      {"a list of numbers", "[1, 2]", "is not a trace"},
      {"an empty object", "{}", "is not a trace"},
      {"JSON of another kind", R"({"a": [1, 2], "b": {}})", "is JSON without \"traceEvents\""},
      {"a memory timeline", "[[1, 2, 3, 4]]", "memory timeline"},
      {"the list is no list", R"({"traceEvents": {"a": 1}})", "is JSON without \"traceEvents\""},
      {"the list is garbage", R"({"a": 1, "traceEvents": x)", "ends before its event list"},
      {"a key without a value", R"({"traceEvents" : )", "ends before its event list"},
      {"two bytes of UTF-16", std::string("\xff\xfe{\0", 4), "is not a trace"},
      {"deep nesting", "{\"a\": " + std::string(1'000'000, '['), "is not a trace"},
      {"deep nesting at the top", std::string(1'000'000, '['), "memory timeline"},
  };
  for (const RefusalCase& c : cases) {
    for (const std::size_t piece : {1, 64, 1 << 20}) {
      if (c.text.size() > 1000 && piece < 1000) continue;
      const Outcome outcome = Read(c.text, piece);
      ASSERT_TRUE(outcome.store == nullptr) << c.name;
      EXPECT_NE(outcome.error.find(c.says), std::string::npos) << c.name << ": " << outcome.error;
    }
  }
}

struct LogCase {
  const char* name;
  std::string text;
  ImportIssue issue;
  std::int64_t count;
  std::size_t events;  ///< Number of kept events.
};

TEST(ImportIssueTest, EachKindOfDamageIsNamed) {
  const std::string e = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  const std::string open = R"({"traceEvents":[)";
  const LogCase cases[] = {
      {"bytes after the end", open + e + "]} xyz", ImportIssue::kTrailingGarbage, 1, 1},
      {"a second trace after the end", open + e + "]}" + open + e + "]}",
       ImportIssue::kExtraEventList, 1, 1},
      {"a second list", open + e + R"(],"traceEvents":[)" + e + "]}", ImportIssue::kExtraEventList,
       1, 1},
      {"no closing brace", open + e + "]", ImportIssue::kUnclosed, 1, 1},
      {"no closing bracket", open + e, ImportIssue::kTruncated, 1, 1},
      {"a bare list without its bracket is whole", "[" + e, ImportIssue::kTruncated, 0, 1},
      {"a bare list cut in an event", "[" + e + R"(,{"ph":)", ImportIssue::kTruncated, 1, 1},
      {"damage in the metadata before", R"({"a": nonsense nonsense, "traceEvents":[)" + e + "]}",
       ImportIssue::kDamagedMetadata, 1, 1},
      {"a member that swallows the list", R"({"a": {, "traceEvents":[)" + e + "]}",
       ImportIssue::kDamagedMetadata, 1, 1},
      {"damage in the metadata after", open + e + R"(], "a": nonsense nonsense})",
       ImportIssue::kDamagedMetadata, 1, 1},
      {"an element that is no object", open + e + ",null," + e + "]}", ImportIssue::kNotAnEvent, 1,
       2},
      {"elements that are lists", open + e + ",[1,{\"x\":2}],[]," + e + "]}",
       ImportIssue::kNotAnEvent, 2, 2},
      {"an event without a phase", open + R"({"name":"x","ts":1},)" + e + "]}",
       ImportIssue::kNotAnEvent, 1, 1},
      {"an early end of the list", open + e + "]" + e + "]}", ImportIssue::kNotAnEvent, 1, 2},
      {"an event that swallows the next",
       open + R"({"ph":"X","args":{"a":{},)" + e + "," + e + "]}", ImportIssue::kLostEvent, 1, 2},
  };
  for (const LogCase& c : cases) {
    const Outcome outcome = ReadInAllPieces(c.text);
    ASSERT_TRUE(outcome.store != nullptr) << c.name << ": " << outcome.error;
    EXPECT_EQ(outcome.Count(c.issue), c.count) << c.name << "\n" << Everything(outcome);
    EXPECT_EQ(outcome.Names().size(), c.events) << c.name << "\n" << Everything(outcome);
  }
}

TEST(LimitTest, AnEventAboveTheLimitIsSkippedWhateverThePieces) {
  const auto event = [](const std::string& name) {
    return R"({"ph":"X","name":")" + name +
           R"(","pid":1,"tid":1,"ts":1,"dur":1,"args":{"l":[{"a":1},{"b":2}]}})";
  };
  const std::size_t small = event("").size();
  for (const std::size_t size :
       {1000 - small, 1001 - small, std::size_t{1999}, std::size_t{5000}, std::size_t{100'000}}) {
    const std::string text = R"({"traceEvents":[)" + event("a") + "," +
                             event(std::string(size, 'x')) + "," + event("b") + "," + event("c") +
                             "]}";
    for (const std::size_t piece : {1, 64, 999, 10'000, 1 << 20}) {
      const Outcome outcome = Read(text, piece, 2, 1000);
      ASSERT_TRUE(outcome.store != nullptr);
      const bool fits = size + small <= 1000;
      // An event that is too large counts as damaged if text like the start of an event is inside
      // it, within the limit.
      EXPECT_EQ(
          outcome.Count(ImportIssue::kOversizedEvent) + outcome.Count(ImportIssue::kLostEvent),
          fits ? 0 : 1)
          << size << " in pieces of " << piece;
      EXPECT_TRUE(outcome.Names().contains("a") && outcome.Names().contains("c"))
          << size << " in pieces of " << piece;
      EXPECT_TRUE(outcome.Names().contains("b"))
          << size << " in pieces of " << piece << Everything(outcome);
    }
  }
}

TEST(LimitTest, AHugeStringIsSkippedInBoundedMemory) {
  const std::string e = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  constexpr std::size_t kLength = 100'000'000;
  const std::string text = R"({"traceEvents":[)" + e + R"(,{"ph":"X","name":")" +
                           std::string(kLength, 'x') + R"(","ts":1},)" + e + "]}";
  const Outcome outcome = Read(text, 1 << 20, 2, 1 << 22);
  ASSERT_TRUE(outcome.store != nullptr);
  EXPECT_EQ(outcome.Count(ImportIssue::kOversizedEvent), 1);
  EXPECT_EQ(outcome.Names().size(), 2u);
  EXPECT_LT(outcome.store->MemoryBytes(), 1u << 20);
}

TEST(LimitTest, LongTextAfterTheListCostsNoQuadraticTime) {
  const std::string e = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  ExpectNoQuadraticTime(25'000'000, [&](int bytes) {
    return [text = R"({"traceEvents":[)" + e + "]}" + std::string(bytes, '\0'), bytes] {
      const Outcome outcome = Read(text, 1 << 16);
      EXPECT_EQ(outcome.Names().size(), 1u);
      EXPECT_EQ(outcome.Count(ImportIssue::kTrailingGarbage), 1);
      EXPECT_EQ(outcome.store->log.rows().front().detail, fmt::format("{} bytes", bytes));
    };
  });
}

TEST(LimitTest, ManyTracksStreamsAndOpenSpansCostNoQuadraticTime) {
  ExpectNoQuadraticTime(15'000, [](int n) {
    std::string text = "[";
    for (int i = 0; i < n; ++i) {
      text += fmt::format(
          R"({{"ph":"X","cat":"kernel","name":"k","pid":{0},"tid":{0},"ts":{0},"dur":1}},)", i);
      text += fmt::format(R"({{"ph":"B","name":"b{0}","pid":1,"tid":1,"ts":{0}}},)", i);
    }
    for (int i = 0; i < n; ++i) text += R"({"ph":"E","name":"none","pid":1,"tid":1,"ts":90000},)";
    return [text = text + "]", n] {
      const Outcome outcome = Read(text, 1 << 20, 2);
      EXPECT_EQ(outcome.store->streams.rows(), static_cast<std::size_t>(n));
      EXPECT_EQ(outcome.Count(ImportIssue::kUnfinishedSpan), n);
      EXPECT_EQ(outcome.Count(ImportIssue::kUnmatchedEnd), n);
    };
  });
}

TEST(LimitTest, DeviceNumbersChosenToCollideCostNoQuadraticTime) {
  // std::unordered_map uses this prime at this size, so all multiples of it are in one bucket.
  constexpr std::int64_t kBuckets = 712'697;
  ExpectNoQuadraticTime(175'000, [](int n) {
    std::string text = "[";
    for (int i = 0; i < n; ++i) {
      text += fmt::format(
          R"({{"ph":"X","cat":"kernel","name":"k","pid":{0},"tid":{0},"ts":1,"dur":1}},)",
          kBuckets * i);
    }
    return [text = text + "]", n] {
      EXPECT_EQ(Read(text).store->devices.rows(), static_cast<std::size_t>(n));
    };
  });
}

TEST(LimitTest, EventStartsNestedInOneAnotherCostNoQuadraticTime) {
  ExpectNoQuadraticTime(50'000, [](int n) {
    std::string text = R"({"traceEvents":[{"ph":"X","args":{"a":[)";
    for (int i = 0; i < n; ++i) text += R"({},{"a":[)";
    return [text] { EXPECT_GE(Read(text).Count(ImportIssue::kLostEvent), 1); };
  });
}

TEST(LimitTest, DeepNestingInAnEventCostsThatEvent) {
  const std::string e = R"({"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1})";
  for (const char* open : {"[", "{\"a\":"}) {
    std::string deep = R"({"ph":"X","args":{"a":)";
    for (int i = 0; i < 1'000'000; ++i) deep += open;
    const Outcome outcome = Read(fmt::format(R"({{"traceEvents":[{0},{1}}},{0},{0}]}})", e, deep));
    ASSERT_TRUE(outcome.store != nullptr);
    EXPECT_EQ(outcome.Count(ImportIssue::kLostEvent), 1);
    EXPECT_GE(outcome.Names().size(), 2u);
  }
}

}  // namespace
}  // namespace headroom::testing
