// Tests that the fast reader agrees with the slow one: on real traces, on generated ones, in pieces
// of any size and on any number of threads.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/sanitizer.h"
#include "ingest/input/byte_source.h"
#include "ingest/input/memory_source.h"
#include "ingest/kineto/kineto_reader.h"
#include "slow_reader.h"

namespace headroom::testing {
namespace {

const std::size_t kDefaultPiece = kineto::ReadOptions().piece_bytes;
/// Reading in pieces of a few bytes takes quadratic time, so only small traces are read this way.
constexpr std::size_t kSmallTrace = 100'000;

std::unique_ptr<TraceStore> FastRead(const std::string& json, std::size_t piece_bytes,
                                     int threads) {
  MemoryByteSource source(json);
  auto store = std::make_unique<TraceStore>();
  kineto::ReadOptions options;
  options.piece_bytes = piece_bytes;
  options.threads = threads;
  return kineto::Read(source, "memory", options, *store).ok() ? std::move(store) : nullptr;
}

TraceDump FastDump(const std::string& json, std::size_t piece_bytes, int threads) {
  const std::unique_ptr<TraceStore> store = FastRead(json, piece_bytes, threads);
  return store == nullptr ? TraceDump() : Dump(*store);
}

/// Returns true if two stores hold the same bytes: rows in the same order, the same ids.
bool Identical(const TraceStore& a, const TraceStore& b) {
  bool same = a.strings.size() == b.strings.size();
  for (std::size_t i = 0; same && i < a.strings.size(); ++i) {
    same = a.strings.Get(StringId(i)) == b.strings.Get(StringId(i));
  }
  const auto compare = [&](const auto& x, const auto& y) {
    same = same && std::ranges::equal(x.values(), y.values());
  };
#define T(Name, member, sentence)                                 \
  const_cast<Name##Columns<Column>&>(a.member).ForEachColumnPair( \
      const_cast<Name##Columns<Column>&>(b.member), compare);
  HEADROOM_TABLES(T)
#undef T
  same = same && a.log.rows().size() == b.log.rows().size();
  for (std::size_t i = 0; same && i < a.log.rows().size(); ++i) {
    same = a.log.rows()[i].issue == b.log.rows()[i].issue &&
           a.log.rows()[i].offset == b.log.rows()[i].offset;
  }
  return same;
}

std::string ReadWholeFile(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, {});
  EXPECT_TRUE(source.ok()) << source.status().message();
  std::string text;
  for (std::size_t n = 1 << 24; source.ok() && n == 1 << 24;) {
    const std::size_t size = text.size();
    text.resize(size + (1 << 24));
    n = source.value()->Read(std::span(text).subspan(size)).value();
    text.resize(size + n);
  }
  return text;
}

std::vector<std::string> TraceFiles() {
  const char* source_dir = std::getenv("HEADROOM_SOURCE_DIR");
  const char* data = std::getenv("HEADROOM_DATA");
  const std::filesystem::path root = source_dir == nullptr ? "." : source_dir;
  const std::filesystem::path shared =
      data == nullptr ? root / ".." / "shared" : std::filesystem::path(data);
  std::vector<std::string> files;
  for (const auto& folder :
       {shared / "public-traces", shared / "h200" / "traces", root / "data" / "samples"}) {
    std::error_code error;
    std::vector<std::string> here;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().string().ends_with(".json.gz")) here.push_back(entry.path());
    }
    if (here.empty()) std::cerr << "SKIPPED: no traces in " << folder << " (set HEADROOM_DATA)\n";
    std::sort(here.begin(), here.end());
    files.insert(files.end(), here.begin(), here.end());
  }
  return files;
}

TEST(ReaderAgreementTest, OnEveryRealTrace) {
  const bool full =
      std::getenv("HEADROOM_FULL") != nullptr && std::getenv("HEADROOM_FULL") == std::string("1");
  const std::vector<std::string> files = TraceFiles();
  if (files.empty()) GTEST_SKIP() << "no trace files found";
  int read = 0;
  for (const std::string& path : files) {
    const std::string json = ReadWholeFile(path);
    // The slow reader takes seconds per large trace, and minutes under a sanitizer.
    if (!full && json.size() > (kSanitized ? 3'000'000 : 15'000'000)) continue;
    ++read;
    const TraceDump slow = SlowRead(json);
    const std::unique_ptr<TraceStore> one = FastRead(json, kDefaultPiece, 1);
    ASSERT_EQ(Difference(slow, one == nullptr ? TraceDump() : Dump(*one)), "") << path;
    if (one == nullptr) continue;
    for (const int threads : {2, 8}) {
      const std::unique_ptr<TraceStore> other = FastRead(json, kDefaultPiece, threads);
      ASSERT_TRUE(other != nullptr && Identical(*one, *other))
          << path << " with " << threads << " threads";
    }
    std::vector<std::size_t> sizes;
    if (json.size() <= kSmallTrace) sizes = {1, 7, 100};
    if (full) sizes.insert(sizes.end(), {10'000, 100'000});
    for (const std::size_t piece : sizes) {
      ASSERT_EQ(Difference(slow, FastDump(json, piece, 2)), "")
          << path << " in pieces of " << piece;
    }
  }
  std::cerr << "compared " << read << " of " << files.size() << " traces\n";
}

// ---- Generated traces
// -------------------------------------------------------------------------------------------------

using Text = std::string;

Text OneOf(std::vector<Text> choices) { return *rc::gen::elementOf(choices); }
int UpTo(int most) { return *rc::gen::inRange(0, most + 1); }

/// Returns a timestamp: mostly a normal value, sometimes one from a faulty writer; always valid
/// JSON. If `epoch` is positive, nine in ten timestamps are 0 or lie after `epoch`, in
/// microseconds.
Text AnyTime(std::int64_t epoch) {
  if (epoch > 0 && UpTo(9) > 0)
    return OneOf({fmt::format("{}", epoch + UpTo(300)),
                  fmt::format("{}.{:03}", epoch + UpTo(300), UpTo(999)), "0"});
  return OneOf({fmt::format("{}", UpTo(300)), fmt::format("{}.{:03}", UpTo(300), UpTo(999)),
                fmt::format("{}.5", UpTo(300)), fmt::format("\"{}.25\"", UpTo(300)), "0", "-3.5",
                "1.5e2", "1e30", "null", "\"NaN\"", "\"\""});
}
Text AnyDuration() {
  return OneOf({fmt::format("{}", UpTo(80)), fmt::format("{}.{:03}", UpTo(80), UpTo(999)), "0",
                "-1", "1e12", "1e20", "null", "\"5\"", "9223372036854775.807"});
}
Text AnyName() {
  return OneOf({"aten::mm",
                "cudaLaunchKernel",
                "ProfilerStep#3",
                "ProfilerStep#4",
                "ProfilerStep#",
                "Memcpy HtoD (Pinned -> Device)",
                "[memory]",
                "a \\\"quoted\\\" name",
                "tab\\tand \\u00e9\\ud83d\\ude00",
                "},{\\\"ph\\\"",
                "process_name",
                "thread_name",
                "process_labels",
                "Stream Sync",
                "__amd_rocclr_copyBuffer",
                "__amd_rocclr_fillBufferAligned",
                "step 1",
                "Training_Step:2",
                "batch 7",
                "batch 8",
                "",
                "name\xc3\xa9"});
}
Text AnyCategory() {
  return OneOf({"cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "kernel",
                "gpu_memcpy", "gpu_memset", "cuda_sync", "cuda_event", "python_function",
                "gpu_user_annotation", "overhead", "Operator", "Kernel", "hip_runtime", "ac2g",
                "something else", ""});
}
Text AnyArg() {
  const int n = UpTo(5);
  return OneOf(
      {fmt::format(R"("correlation": {})", n),
       fmt::format(R"("External id": {})", n),
       fmt::format(R"("stream": {})", n - 1),
       fmt::format(R"("device": {})", n % 2),
       R"("grid": [4, 5, 6], "block": [1, 2, 3])",
       R"("grid": [4, 5])",
       R"("Input Dims": [[8, 384], []])",
       R"("nested": [{"a": 1}, {"b": "},{"}, {"c": []}])",
       fmt::format(R"("Ev Idx": {})", n),
       fmt::format(R"("Python id": {}, "Python parent id": null)", n),
       R"("Sequence number": 77)",
       R"("bytes": 1024)",
       R"("est. achieved occupancy %": 12.7)",
       R"("registers per thread": 99999999999)",
       R"("Record function id": 3000000000, "correlation": 7.0)",
       R"("stream": "abc", "device": null, "grid": [1, 2, 3, 4])",
       R"("dtype": ["a"], "Group size": 2, "Process Group Name": null)",
       R"("Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 10, "Group size": 8)",
       R"("name": "python", "labels": "GPU 0")",
       R"("Total Allocated": 5, "Addr": 140, "Bytes": -8)",
       R"("value": 0.5, "other": "2.5")",
       R"("odd \"key\"": "odd\nvalue")",
       R"("graph node id": 3)",
       R"("cuda_sync_kind": "Stream Sync", "wait_on_stream": 7)",
       R"("cat": "of the event's own")",
       R"("empty": {}, "text": "")"});
}

Text AnyEvent(bool of_profiler, std::int64_t epoch) {
  const Text phase = OneOf({"X", "X", "X", "X", "X", "X", "s", "f", "t", "B", "E", "i", "C", "M",
                            "n", "b", "b", "e", "e", "S", "F", "T", "N", "O", "R", "",  "??"});
  std::vector<Text> members = {fmt::format(R"("ph": "{}")", phase)};
  const auto sometimes = [&](int percent, const Text& member) {
    if (UpTo(99) < percent) members.push_back(member);
  };
  const Text name = of_profiler || UpTo(2) == 0
                        ? AnyName()
                        : OneOf({"step 1", "step 2", "Train_Step:3", "iter=4", "iteration 5",
                                 "global-batch #6", "batch 7", "batch 8", "load", "stepping 9"});
  const Text category =
      of_profiler ? AnyCategory() : OneOf({"mine", "something else", "", "Operator"});
  sometimes(90, fmt::format(R"("cat": "{}")", category));
  sometimes(95, fmt::format(R"("name": "{}")", name));
  sometimes(95, OneOf({R"("pid": 0)", R"("pid": 1)", R"("pid": "Spans")",
                       of_profiler ? R"("pid": "CPU functions")" : R"("pid": "program")"}));
  sometimes(95, OneOf({R"("tid": 7)", R"("tid": 8)", R"("tid": "stream 7")"}));
  sometimes(95, fmt::format(R"("ts": {})", AnyTime(epoch)));
  sometimes(90, fmt::format(R"("dur": {})", AnyDuration()));
  sometimes(40, OneOf({R"("id": 5)", R"("id": "0x1f")", R"("id": "none")", R"("id2": 7)",
                       R"("id2": {"local": "5"})", R"("id2": {"global": "5"}, "scope": "s")"}));
  std::vector<Text> args;
  for (int n = UpTo(4); n > 0; --n) args.push_back(AnyArg());
  sometimes(80, fmt::format(R"("args": {{{}}})", fmt::join(args, ", ")));
  return fmt::format("{{{}}}", fmt::join(members, OneOf({",", ", ", ",\n    "})));
}

Text AnyTrace() {
  std::vector<Text> events;
  const bool of_profiler = UpTo(5) > 0;
  // Microseconds since 1970, or since a base time one hour earlier; 0 if the clock starts with the
  // trace.
  const std::int64_t epoch = std::vector<std::int64_t>{
      0, 0, 1'700'000'000'000'000, 3'600'000'000}[static_cast<std::size_t>(UpTo(3))];
  for (int n = UpTo(30); n > 0; --n) {
    events.push_back(AnyEvent(of_profiler, epoch));
    if (UpTo(9) == 0)
      events.push_back(events[static_cast<std::size_t>(UpTo(static_cast<int>(events.size()) - 1))]);
    if (UpTo(40) == 0) events.push_back(OneOf({"null", "7", "\"text\"", "[1]", "{}"}));
  }
  if (!events.empty() && events[0][0] != '{') events.erase(events.begin());
  Text list = fmt::format("[{}]", fmt::join(events, OneOf({",", ",\n  ", " , "})));
  if (UpTo(4) == 0) return list;
  std::vector<Text> members = {R"("baseTimeNanoseconds": 1712345678000000000)",
                               R"("with_stack": false)"};
  const Text of_profilers[] = {
      R"("schemaVersion": 1)", R"("record_shapes": 1)",
      R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg": [{"a":1},{"b":2}]})",
      R"("deviceProperties": [{"id": 0, "name": "GPU \"A\"", "numSms": 132},{"id": 1, "totalGlobalMem": 85899345920}])"};
  if (of_profiler) members.insert(members.end(), std::begin(of_profilers), std::end(of_profilers));
  std::vector<Text> before, after;
  for (const Text& member : members) {
    if (const int where = UpTo(2); where > 0) (where == 1 ? before : after).push_back(member);
  }
  before.push_back("\"traceEvents\": " + list);
  before.insert(before.end(), after.begin(), after.end());
  return fmt::format("{{{}}}\n", fmt::join(before, ",\n"));
}

RC_GTEST_PROP(ReaderAgreementProperty, OnGeneratedTraces, ()) {
  const Text json = AnyTrace();
  RC_LOG(json);
  const TraceDump slow = SlowRead(json);
  RC_ASSERT(slow.readable);
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{100}, kDefaultPiece}) {
    for (const int threads : {1, 2, 8}) {
      if (threads == 8 && piece > 100) continue;
      const Text difference = Difference(slow, FastDump(json, piece, threads));
      if (!difference.empty())
        RC_LOG(fmt::format("pieces of {}, {} threads:\n{}", piece, threads, difference));
      RC_ASSERT(difference.empty());
    }
  }
}

}  // namespace
}  // namespace headroom::testing
