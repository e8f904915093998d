#include "ingest/rocprof/rocprof_reader.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"

namespace headroom::rocprof {
namespace rocprof_reader_test {

constexpr std::string_view kStrings =
    R"("strings": {"buffer_records": [
        {"kind": "NONE", "operations": []},
        {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
        {"kind": "KERNEL_DISPATCH", "operations": ["NONE", "ENQUEUE", "COMPLETE"]},
        {"kind": "MEMORY_COPY", "operations": ["NONE", "HOST_TO_HOST", "HOST_TO_DEVICE"]},
        {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]}],
      "marker_api": [{"key": 90, "value": "step 1"}, {"key": 91, "value": "step 2"}, {"key": 92, "value": "here"}]},
      "kernel_symbols": [{"kernel_id": 7, "kernel_name": "_Z4gemmPf.kd",
        "demangled_kernel_name": "gemm(float*) [clone .kd]", "arch_vgpr_count": 24, "accum_vgpr_count": 8}])";

constexpr std::string_view kAgents =
    R"("metadata": {"pid": 42, "command": ["/bin/train", "--password=x"]},
      "agents": [{"id": {"handle": 18000000000000000001}, "type": 1, "logical_node_id": 0, "name": "CPU"},
        {"id": {"handle": 18000000000000000002}, "type": 2, "logical_node_id": 1, "cu_count": 304,
         "gfx_target_version": 90402, "product_name": "AMD Instinct MI300X", "mem_banks": [{"size_in_bytes": 1024}]}])";

std::string Dispatch(int start, int correlation = 5) {
  return fmt::format(
      R"({{"size": 152, "kind": 2, "operation": 2, "thread_id": 43, "correlation_id": {{"internal": {1}, "external": 0}},
        "start_timestamp": {0}, "end_timestamp": {2}, "dispatch_info": {{"size": 72, "agent_id": {{"handle": 18000000000000000002}},
        "queue_id": {{"handle": 3}}, "kernel_id": 7, "dispatch_id": 1, "private_segment_size": 0, "group_segment_size": 512,
        "workgroup_size": {{"x": 64, "y": 2, "z": 1}}, "grid_size": {{"x": 100, "y": 8, "z": 1}}}}}})",
      start, correlation, start + 50);
}

std::string Records(int first = 100) {
  return fmt::format(
      R"("buffer_records": {{"kernel_dispatch": [{}, {}],
      "hip_api": [{{"size": 80, "kind": 1, "operation": 0, "thread_id": 43, "correlation_id": {{"internal": 5}},
                   "start_timestamp": {}, "end_timestamp": {}}}],
      "marker_api": [{{"size": 80, "kind": 4, "operation": 1, "correlation_id": {{"internal": 90}}, "thread_id": 43,
                      "start_timestamp": 10, "end_timestamp": 300}},
                     {{"size": 80, "kind": 4, "operation": 1, "correlation_id": {{"internal": 91}}, "thread_id": 43,
                      "start_timestamp": 310, "end_timestamp": 500}},
                     {{"size": 80, "kind": 4, "operation": 0, "correlation_id": {{"internal": 92}}, "thread_id": 43,
                      "start_timestamp": 20, "end_timestamp": 20}}],
      "memory_copy": [{{"size": 96, "kind": 3, "operation": 2, "thread_id": 43, "correlation_id": {{"internal": 6}},
                       "start_timestamp": 60, "end_timestamp": 70, "dst_agent_id": {{"handle": 18000000000000000002}},
                       "src_agent_id": {{"handle": 18000000000000000001}}, "bytes": 4096, "stream_id": {{"handle": 9}}}}],
      "pc_sample_stochastic": [{{"x": [1, 2]}}, {{"x": []}}]}})",
      Dispatch(first), Dispatch(first + 100, 8), first - 20, first - 10);
}

std::unique_ptr<TraceStore> ReadText(std::string text, std::size_t chunk_bytes = 1 << 20,
                                     std::int64_t max_event_bytes = 1 << 20) {
  MemoryByteSource source(std::move(text));
  ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.max_event_bytes = max_event_bytes;
  auto store = std::make_unique<TraceStore>();
  EXPECT_TRUE(Read(source, "test.json", options, *store).ok());
  CheckInvariants(*store);
  return store;
}

std::string File(std::string_view processes) {
  return fmt::format(R"({{"rocprofiler-sdk-tool": {}}})", processes);
}
std::string Process(std::string_view records = Records()) {
  return fmt::format("{{{}, {}, {}}}", kAgents, kStrings, records);
}

constexpr std::string_view kCounters =
    R"("counters": [{"id": {"handle": 4096}, "name": "MfmaUtil", "is_derived": 1}])";

/// The counters of both dispatches, the later dispatch first. The GPU has two parts with a value
/// each.
std::string Callbacks() {
  const auto of = [](int start, double value) {
    return fmt::format(
        R"({{"thread_id": 43, "dispatch_data": {{"size": 128, "start_timestamp": {}, "end_timestamp": {},
          "dispatch_info": {{"size": 72, "agent_id": {{"handle": 18000000000000000002}}, "dispatch_id": 1}}}},
          "records": [{{"counter_id": {{"handle": 4096}}, "value": {}}}, {{"counter_id": {{"handle": 4096}}, "value": 1}},
                      {{"counter_id": {{"handle": 4097}}, "value": 5}}, {{"counter_id": {{"handle": 4096}}, "value": NaN}}]}})",
        start, start + 50, value);
  };
  return fmt::format(R"("callback_records": {{"counter_collection": [{}, {}]}})", of(200, 30),
                     of(100, 20.5));
}

TEST(RocprofReader, CountersHoldFromStartToEnd) {
  for (const std::string& members :
       {fmt::format("{}, {}, {}, {}, {}", kAgents, kCounters, kStrings, Callbacks(), Records()),
        fmt::format("{}, {}, {}, {}, {}", kAgents, Callbacks(), Records(), kStrings, kCounters)}) {
    const auto store = ReadText(File("[{" + members + "}]"));
    EXPECT_EQ(store->gpu_tasks.rows(), 3u);
    EXPECT_EQ(store->devices.rows(), 1u);
    const auto& counters = store->counters;
    ASSERT_EQ(counters.rows(), 8u);
    const std::pair<std::int64_t, double> kExpected[] = {
        {100, 0}, {100, 21.5}, {150, 21.5}, {150, 0}, {200, 0}, {200, 31}, {250, 31}, {250, 0}};
    for (std::size_t row = 0; row < counters.rows(); ++row) {
      EXPECT_EQ(counters.time[row].ns(), kExpected[row].first) << row;
      EXPECT_EQ(counters.value[row], kExpected[row].second) << row;
      EXPECT_EQ(store->Text(counters.series[row]), "GPU 1");
    }
  }
}

TEST(RocprofReader, ADamagedCounterCostsNoOtherRecords) {
  const std::string whole =
      fmt::format("{}, {}, {}, {}, {}", kAgents, kCounters, kStrings, Callbacks(), Records());
  for (const auto& [what, with] :
       {std::pair("\"counter_id\": {", "counter_id\": {"),
        std::pair("\"counter_collection\": [", "\"counter_collection\": 5 ["),
        std::pair("\"dispatch_data\"", "\"dispatch_data")}) {
    std::string text = whole;
    text.replace(text.find(what), std::string_view(what).size(), with);
    const auto store = ReadText(File("[{" + text + "}]"));
    EXPECT_EQ(store->gpu_tasks.rows(), 3u) << what;
    EXPECT_EQ(store->steps.rows(), 2u) << what;
  }
  const auto none =
      ReadText(File("[{" +
                    fmt::format(R"({}, {}, "callback_records": {{"counter_collection": null}}, {})",
                                kAgents, kStrings, Records()) +
                    "}]"));
  EXPECT_EQ(none->gpu_tasks.rows(), 3u);
}

TEST(RocprofReader, IsToldByItsFirstKey) {
  EXPECT_TRUE(LooksLikeTrace(File("[")));
  EXPECT_TRUE(LooksLikeTrace("\xEF\xBB\xBF {\n\"rocprofiler-sdk-tool\" :\n{"));
  for (const char* other :
       {"", "{", "[{\"rocprofiler-sdk-tool\": [", "{\"traceEvents\": [",
        "{\"name\": \"rocprofiler-sdk-tool\"", "{\"rocprofiler-sdk-tool\": 5"}) {
    EXPECT_FALSE(LooksLikeTrace(other)) << other;
  }
}

TEST(RocprofReader, RecordsBecomeRows) {
  const auto store = ReadText(File("[" + Process() + "]"));
  const auto& tasks = store->gpu_tasks;
  ASSERT_EQ(tasks.rows(), 3u);
  EXPECT_EQ(store->Text(tasks.name[1]), "gemm(float*)");
  EXPECT_EQ(tasks.duration[1].ns(), 50);
  EXPECT_EQ(tasks.grid_x[1], 2);  // 100 threads are two blocks of 64.
  EXPECT_EQ(tasks.grid_y[1], 4);
  EXPECT_EQ(tasks.block_x[1], 64);
  EXPECT_EQ(tasks.registers[1], 32);
  EXPECT_EQ(tasks.shared_memory[1], 512);
  EXPECT_EQ(store->Text(store->host_events.name[tasks.launch[1].index()]), "hipLaunchKernel");
  EXPECT_FALSE(tasks.launch[2].valid());
  EXPECT_EQ(tasks.kind[0], GpuTaskKind::kMemcpy);
  EXPECT_EQ(tasks.copy[0], CopyKind::kHostToDevice);
  EXPECT_EQ(tasks.bytes[0], 4096);
  EXPECT_EQ(store->streams.number[tasks.stream[0].index()], 9);
  EXPECT_EQ(store->streams.number[tasks.stream[1].index()], 3);  // The number of its queue.
  ASSERT_EQ(store->devices.rows(), 1u);
  EXPECT_EQ(store->devices.ordinal[0], 1);
  EXPECT_EQ(store->Text(store->devices.name[0]), "AMD Instinct MI300X");
  EXPECT_EQ(store->devices.sm_count[0], 304);
  EXPECT_EQ(store->devices.compute_major[0], 9);
  EXPECT_EQ(store->devices.compute_minor[0], 4);
  EXPECT_EQ(store->Text(store->processes.pid[0]), "42");
  EXPECT_EQ(store->Text(store->processes.name[0]), "train");
  ASSERT_EQ(store->steps.rows(), 2u);
  EXPECT_EQ(store->steps.index[1], 2);
  ASSERT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->Text(store->instants.name[0]), "here");
  EXPECT_EQ(store->log.Count(ImportIssue::kUnreadData), 2);
  EXPECT_EQ(store->log.Count(ImportIssue::kMissingName), 0);
}

TEST(RocprofReader, OrderAndFormDoNotMatter) {
  const auto usual = ReadText(File("[" + Process() + "]"));
  const std::string names_last = fmt::format("{{{}, {}, {}}}", kAgents, Records(), kStrings);
  for (const std::string& text :
       {File(Process()), File("[" + names_last + "]"), File("[" + Process() + "]") + "\n"}) {
    const auto other = ReadText(text);
    EXPECT_EQ(other->steps.rows(), 2u);
    EXPECT_EQ(other->log.Count(ImportIssue::kMissingName), 0);
    EXPECT_EQ(RowTexts(*other).Sorted(other->gpu_tasks), RowTexts(*usual).Sorted(usual->gpu_tasks));
  }
}

TEST(RocprofReader, ProcessesKeepTheirNamesApart) {
  std::string other = Process(Records(1000));
  for (const auto& [from, to] : {std::pair("\"pid\": 42", "\"pid\": 77"),
                                 std::pair("gemm(float*) [clone .kd]", "relu(float*)")})
    other.replace(other.find(from), std::string_view(from).size(), to);
  const auto store = ReadText(File("[" + Process() + ", " + other + "]"));
  ASSERT_EQ(store->processes.rows(), 2u);
  EXPECT_EQ(store->Text(store->processes.pid[1]), "77");
  EXPECT_EQ(store->Text(store->gpu_tasks.name[store->gpu_tasks.rows() - 1]), "relu(float*)");
  EXPECT_EQ(store->devices.rows(), 1u);
}

TEST(RocprofReader, PiecesOfAnySizeGiveTheSame) {
  std::string damaged = File("[" + Process() + ", " + Process(Records(1000)) + "]");
  damaged[damaged.find("\"kind\": 2, \"operation\": 2") + 7] = '#';
  for (const std::string& text :
       {File("[" + Process() + "]"), damaged, damaged.substr(0, damaged.size() - 300)}) {
    const auto whole = ReadText(text);
    for (const std::size_t chunk : {1, 2, 3, 7, 64, 1000})
      CheckEqual(*whole, *ReadText(text, chunk));
  }
}

TEST(RocprofReader, DamageCostsTheRecordThatItIsIn) {
  const std::string whole = File("[" + Process() + "]");
  // A lost quote, a lost brace, and a lost colon.
  for (const auto& [what, with] : {std::pair("\"dispatch_info\"", "dispatch_info\""),
                                   std::pair("{\"size\": 152", " \"size\": 152"),
                                   std::pair("\"internal\": 5", "\"internal\" 5")}) {
    std::string text = whole;
    text.replace(text.find(what), std::string_view(what).size(), with);
    const auto store = ReadText(text);
    EXPECT_EQ(store->gpu_tasks.rows(), 2u) << what;
    EXPECT_EQ(store->host_events.rows(), 3u) << what;
    EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 1) << what;
  }
  // A zero byte does not end the file.
  std::string text = whole;
  text[text.find("{\"size\": 152")] = '\0';
  EXPECT_EQ(ReadText(text)->gpu_tasks.rows(), 2u);
  // After damage between lists, the next list is found.
  text = whole;
  text[text.find("\"hip_api\"") + 10] = 'x';
  const auto store = ReadText(text);
  EXPECT_EQ(store->gpu_tasks.rows(), 3u);
  EXPECT_EQ(store->steps.rows(), 2u);
  EXPECT_GT(store->log.Count(ImportIssue::kLostEvent), 0);
}

TEST(RocprofReader, DamageBeforeTheRecordsCostsWhatItIsIn) {
  const std::string whole = File("[" + Process() + "]");
  // Without the names of operations, a mark becomes a range.
  for (const char* what :
       {"\"metadata\": {\"pid\"", "{\"kind\": \"NONE\"", "{\"key\": 90", "\"type\": 1"}) {
    for (const char with : {'\0', '#', '"', '}'}) {
      std::string text = whole;
      text[text.find(what) + 1] = with;
      const auto store = ReadText(text);
      EXPECT_EQ(store->gpu_tasks.rows(), 3u) << what << " " << with;
      EXPECT_EQ(store->host_events.rows() + store->instants.rows(), 4u) << what << " " << with;
      EXPECT_EQ(store->log.Count(ImportIssue::kBadTime), 0) << what << " " << with;
      EXPECT_FALSE(store->log.empty());
    }
  }
}

TEST(RocprofReader, ACutKeepsWhatIsBeforeIt) {
  const std::string whole = File("[" + Process() + "]");
  const std::size_t second = whole.find("{\"size\": 152", whole.find("{\"size\": 152") + 1);
  const auto store = ReadText(whole.substr(0, second + 40));
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
  EXPECT_EQ(store->Text(store->gpu_tasks.name[0]), "gemm(float*)");
  EXPECT_EQ(store->log.Count(ImportIssue::kTruncated), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 0);
  EXPECT_EQ(ReadText(whole.substr(0, whole.size() - 1))->log.Count(ImportIssue::kUnclosed), 1);
  EXPECT_EQ(ReadText(whole + " more")->log.Count(ImportIssue::kTrailingGarbage), 1);
}

TEST(RocprofReader, OddStampsAndMissingNames) {
  std::string text = File("[" + Process() + "]");
  const auto replace = [&](std::string_view what, std::string_view with) {
    text.replace(text.find(what), what.size(), with);
  };
  replace("\"end_timestamp\": 150", "\"end_timestamp\": 90");
  replace("\"start_timestamp\": 200", "\"start_timestamp\": 18446744073709551615");
  replace("\"operation\": 0", "\"operation\": 99");
  const auto store = ReadText(text);
  EXPECT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->gpu_tasks.duration[1].ns(), 0);
  EXPECT_EQ(store->log.Count(ImportIssue::kNegativeDuration), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kBadTime), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kMissingName), 1);
}

TEST(RocprofReader, LargeElementsAreSkipped) {
  const std::string big = Process(fmt::format(
      R"("buffer_records": {{"kernel_dispatch": [{{"size": 1, "kind": 2, "text": "{}"}}, {}]}})",
      std::string(1 << 16, 'x'), Dispatch(100)));
  const auto store = ReadText(File("[" + big + "]"), 256, 4096);
  EXPECT_EQ(store->log.Count(ImportIssue::kOversizedEvent), 1);
  EXPECT_EQ(store->gpu_tasks.rows(), 1u);
}

}  // namespace rocprof_reader_test
}  // namespace headroom::rocprof
