// Tests the rows of each kind of event, one small trace per case. tests/reader compares every
// column with a second reader; tests/reader/damage_test.cc tests damage.
#include "ingest/kineto/kineto_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "ingest/input/memory_source.h"
#include "ingest/kineto/half_spans.h"
#include "store/trace_formats.h"

namespace headroom::kineto {
namespace kineto_reader_test {

std::unique_ptr<TraceStore> Read(const std::string& text) {
  MemoryByteSource source(text);
  auto store = std::make_unique<TraceStore>();
  const Status status = kineto::Read(source, "file", {}, *store);
  EXPECT_TRUE(status.ok()) << status.message();
  return store;
}

/// A span from 10 us to 15 us with the given category, name, track and args.
std::string Span(const std::string& category, const std::string& name, const std::string& track,
                 const std::string& args) {
  return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}",{},"ts":10.5,"dur":5,"args":{{{}}}}})",
                     category, name, track, args);
}

/// A trace that counts as a profiler's, regardless of its events.
std::string OfProfiler(const std::string& events) {
  return R"({"distributedInfo": {"rank": 0}, "traceEvents": [)" + events + "]}";
}

struct HostKindCase {
  const char* category;
  HostEventKind kind;
};

const HostKindCase kHostKinds[] = {
    {"cpu_op", HostEventKind::kOperator},
    {"Operator", HostEventKind::kOperator},
    {"user_annotation", HostEventKind::kAnnotation},
    {"python_function", HostEventKind::kPythonFrame},
    {"cuda_runtime", HostEventKind::kRuntimeCall},
    {"Runtime", HostEventKind::kRuntimeCall},
    {"hip_runtime", HostEventKind::kRuntimeCall},
    {"xpu_runtime", HostEventKind::kRuntimeCall},
    {"xpu_driver", HostEventKind::kDriverCall},
    {"mtia_runtime", HostEventKind::kRuntimeCall},
    {"hpu_op", HostEventKind::kRuntimeCall},
    {"privateuse1_runtime", HostEventKind::kRuntimeCall},
    {"privateuse1_driver", HostEventKind::kDriverCall},
    {"mlu_runtime", HostEventKind::kRuntimeCall},
    {"cuda_driver", HostEventKind::kDriverCall},
    {"overhead", HostEventKind::kOverhead},
    {"gpu_user_annotation", HostEventKind::kGpuAnnotation},
    {"cuda_profiler_range", HostEventKind::kOther},
};

TEST(KinetoReaderTest, CategoriesOfHostEvents) {
  for (const HostKindCase& c : kHostKinds) {
    const auto store =
        Read(OfProfiler(Span(c.category, "n", R"("pid":1,"tid":2)", R"("correlation":7,"x":[1])")));
    ASSERT_EQ(store->host_events.rows(), 1u) << c.category;
    EXPECT_EQ(store->host_events.kind[0], c.kind) << c.category;
    EXPECT_EQ(store->Text(store->host_events.category[0]), c.category);
    EXPECT_EQ(store->host_events.start[0].ns(), 10'500);
    EXPECT_EQ(store->host_events.duration[0].ns(), 5'000);
    EXPECT_EQ(store->host_events.correlation[0], 7);
    EXPECT_EQ(store->Arg(store->host_events.args[0], "x"), "[1]");
  }
}

// PyTorch 1.8 gives ranges and operators the same category.
TEST(KinetoReaderTest, RangesOfPyTorchAmongOperatorsAreAnnotations) {
  for (const auto& [name, kind] :
       {std::pair("Optimizer.step#Adam.step", HostEventKind::kAnnotation),
        std::pair("ProfilerStep#4", HostEventKind::kAnnotation),
        std::pair("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                  HostEventKind::kAnnotation),
        std::pair("aten::mul_", HostEventKind::kOperator),
        std::pair("Optimizer", HostEventKind::kOperator)}) {
    for (const char* category : {"Operator", "cpu_op"}) {
      const auto store = Read(OfProfiler(Span(category, name, R"("pid":1,"tid":2)", "")));
      EXPECT_EQ(store->host_events.kind[0], kind) << name;
      EXPECT_EQ(store->Text(store->host_events.category[0]), category);
    }
  }
}

/// An event without a category, of `us` microseconds.
std::string Plain(const std::string& name, int process, int thread, int start, int us,
                  const std::string& args) {
  return fmt::format(
      R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":"17600000000{:05}.250","dur":{},"args":{{{}}}}},)",
      name, process, thread, start, us, args);
}

std::string Named(const std::string& what, int process, int thread, const std::string& name) {
  return fmt::format(R"({{"ph":"M","name":"{}_name","pid":{},"tid":{},"args":{{"name":"{}"}}}},)",
                     what, process, thread, name);
}

TEST(KinetoReaderTest, TracksOfAscendsProfiler) {
  const auto store =
      Read("[" + Named("process", 320, 0, "Python") + Named("process", 321, 0, "CANN") +
           Named("process", 322, 0, "Ascend Hardware") + Named("process", 323, 0, "Communication") +
           Named("process", 324, 0, "Overlap Analysis") + Named("thread", 322, 5, "Stream 35") +
           Named("thread", 323, 0, "Group 0 Communication") + Named("thread", 323, 1, "Plane 0") +
           Plain("ProfilerStep#1", 320, 10, 0, 900, "") + Plain("aten::mm", 320, 10, 10, 80, "") +
           Plain("train.py(3): main", 320, 10, 5, 800, "") +
           Plain("Node@launch", 321, 10, 20, 30, R"("connection_id": 7)") +
           Plain("MatMulV2", 322, 5, 100, 200, R"("Task Type": "AI_CORE", "connection_id": 7)") +
           Plain("EVENT_WAIT", 322, 5, 300, 50, R"("Task Type": "EVENT_WAIT")") +
           Plain("MEMCPY_ASYNC", 322, 5, 360, 10, R"("Task Type": "MEMCPY_ASYNC")") +
           Plain("hcom_allReduce__045_0_1", 323, 0, 400, 100, R"("connection_id": 9)") +
           Plain("Reduce_Inline", 323, 1, 420, 10, "") +
           R"({"ph":"X","name":"Computing","pid":324,"tid":0,"ts":1760000000000100,"dur":200}])");
  const auto& tasks = store->gpu_tasks;
  ASSERT_EQ(tasks.rows(), 3u);
  EXPECT_EQ(store->Text(tasks.name[0]), "MatMulV2");
  EXPECT_EQ(store->Text(tasks.name[2]), "hcom_allReduce__045_0_1");
  EXPECT_EQ(tasks.kind[1], GpuTaskKind::kMemcpy);
  EXPECT_EQ(tasks.start[0].ns(), 1'760'000'000'000'100'250);
  EXPECT_EQ(store->streams.number[tasks.stream[0].index()], 35);
  EXPECT_NE(tasks.stream[0], tasks.stream[2]);
  ASSERT_TRUE(tasks.launch[0].valid());
  const HostEventId launch = tasks.launch[0];
  EXPECT_EQ(store->Text(store->host_events.name[launch.index()]), "Node@launch");
  const HostEventId op = store->host_events.parent[launch.index()];
  ASSERT_TRUE(op.valid()) << "calls nest in the operators of their thread";
  EXPECT_EQ(store->Text(store->host_events.name[op.index()]), "aten::mm");
  std::map<HostEventKind, int> kinds;
  for (const HostEventKind kind : store->host_events.kind.values()) ++kinds[kind];
  EXPECT_EQ(kinds, (std::map<HostEventKind, int>{{HostEventKind::kAnnotation, 1},
                                                 {HostEventKind::kPythonFrame, 1},
                                                 {HostEventKind::kOperator, 1},
                                                 {HostEventKind::kRuntimeCall, 1},
                                                 {HostEventKind::kGpuAnnotation, 3}}));
}

struct TaskKindCase {
  const char* category;
  const char* name;
  GpuTaskKind kind;
  CopyKind copy;
};

const TaskKindCase kTaskKinds[] = {
    {"kernel", "gemm", GpuTaskKind::kKernel, CopyKind::kNotACopy},
    {"Kernel", "gemm", GpuTaskKind::kKernel, CopyKind::kNotACopy},
    {"mtia_ccp_events", "job", GpuTaskKind::kKernel, CopyKind::kNotACopy},
    {"gpu_memcpy", "Memcpy M2D (MEMORY(Unknown) -> DEVICE)", GpuTaskKind::kMemcpy,
     CopyKind::kHostToDevice},
    {"gpu_memcpy", "Memcpy D2M", GpuTaskKind::kMemcpy, CopyKind::kDeviceToHost},
    {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", GpuTaskKind::kMemcpy, CopyKind::kHostToDevice},
    {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", GpuTaskKind::kMemcpy, CopyKind::kDeviceToHost},
    {"Memcpy", "Memcpy DtoD (Device -> Device)", GpuTaskKind::kMemcpy, CopyKind::kDeviceToDevice},
    {"gpu_memcpy", "CopyHostToDevice", GpuTaskKind::kMemcpy, CopyKind::kHostToDevice},
    {"gpu_memcpy", "CopyDeviceToHost", GpuTaskKind::kMemcpy, CopyKind::kDeviceToHost},
    {"gpu_memcpy", "Memcpy PtoP (Device -> Device)", GpuTaskKind::kMemcpy, CopyKind::kPeer},
    {"gpu_memcpy", "Memcpy", GpuTaskKind::kMemcpy, CopyKind::kOther},
    {"gpu_memset", "Memset (Device)", GpuTaskKind::kMemset, CopyKind::kNotACopy},
};

TEST(KinetoReaderTest, CategoriesOfGpuTasks) {
  for (const TaskKindCase& c : kTaskKinds) {
    const auto store = Read("[" +
                            Span(c.category, c.name, R"("pid":2,"tid":20)",
                                 R"("stream":20,"device":2,"grid":[4, 5, 6],"bytes":4096)") +
                            "]");
    ASSERT_EQ(store->gpu_tasks.rows(), 1u) << c.name;
    EXPECT_EQ(store->gpu_tasks.kind[0], c.kind) << c.name;
    EXPECT_EQ(store->gpu_tasks.copy[0], c.copy) << c.name;
    EXPECT_EQ(store->gpu_tasks.grid_z[0], 6);
    EXPECT_EQ(store->gpu_tasks.block_x[0], kUnknown32);
    EXPECT_EQ(store->gpu_tasks.bytes[0], 4096);
    EXPECT_EQ(store->streams.number[0], 20);
    EXPECT_EQ(store->devices.ordinal[0], 2);
  }
}

struct KeptCase {
  const char* category;
  const char* args;
  const char* key;   ///< Argument that is expected to stay in `args`.
  const char* text;  ///< Its expected value there; empty if it moved to its column.
};

const KeptCase kKeptArgs[] = {
    {"cpu_op", R"("Record function id": 3000000000)", "Record function id", "3000000000"},
    {"cpu_op", R"("Record function id": 3)", "Record function id", ""},
    {"cpu_op", R"("Python parent id": null)", "Python parent id", ""},
    {"cpu_op", R"("correlation": 7.0)", "correlation", "7.0"},
    {"cpu_op", R"("grid": [4, 5, 6])", "grid", "[4, 5, 6]"},
    {"kernel", R"("correlation": 7.0)", "correlation", "7.0"},
    {"kernel", R"("stream": "abc")", "stream", R"("abc")"},
    {"kernel", R"("stream": "7")", "stream", ""},
    {"kernel", R"("grid": [4, 5])", "grid", "[4, 5]"},
    {"kernel", R"("grid": [8, 16, 5, 9])", "grid", "[8, 16, 5, 9]"},
    {"kernel", R"("block": [8, 16, 5.5])", "block", "[8, 16, 5.5]"},
    {"kernel", R"("block": [8, 16, 5 ])", "block", ""},
    {"kernel", R"("est. achieved occupancy %": "high")", "est. achieved occupancy %", R"("high")"},
    {"kernel", R"("dtype": "Float")", "dtype", R"("Float")"},
    {"kernel", R"("Group size": 8)", "Group size", "8"},
    {"kernel", R"("Process Group Name": "0")", "Process Group Name", R"("0")"},
    {"kernel", R"("dtype": "Float", "Collective name": "allreduce")", "dtype", ""},
    {"kernel", R"("dtype": ["Float"], "Collective name": "x")", "dtype", R"(["Float"])"},
    {"cuda_sync", R"("stream": -1, "device": 1)", "device", "1"},
    {"cuda_sync", R"("stream": 7, "device": 1)", "device", ""},
    {"cuda_sync", R"("cuda_sync_kind": "n")", "cuda_sync_kind", ""},
    {"cuda_sync", R"("cuda_sync_kind": "Other")", "cuda_sync_kind", R"("Other")"},
};

TEST(KinetoReaderTest, ArgumentsThatDoNotFitTheirColumnStayInArgs) {
  for (const KeptCase& c : kKeptArgs) {
    const auto store = Read("[" + Span(c.category, "n", R"("pid":1,"tid":2)", c.args) + "]");
    const StringId args = store->host_events.rows() > 0 ? store->host_events.args[0]
                          : store->gpu_tasks.rows() > 0 ? store->gpu_tasks.args[0]
                                                        : store->syncs.args[0];
    EXPECT_EQ(store->Arg(args, c.key), c.text) << c.category << " " << c.args;
  }
}

TEST(KinetoReaderTest, ANameThatIsNotGivenIsNone) {
  const auto store = Read(R"([{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{}},
      {"ph":"i","name":"i","pid":1,"tid":1,"ts":5}])");
  ASSERT_EQ(store->threads.rows(), 1u);
  EXPECT_FALSE(store->threads.name[0].valid());
}

TEST(KinetoReaderTest, KernelsByWhichHipCopiesAndFillsAreCopiesAndFills) {
  const auto store =
      Read(OfProfiler(Span("kernel", "__amd_rocclr_copyBuffer", R"("pid":0,"tid":7)", "") + "," +
                      Span("kernel", "__amd_rocclr_fillBufferAligned", R"("pid":0,"tid":8)", "")));
  ASSERT_EQ(store->gpu_tasks.rows(), 2u);
  EXPECT_EQ(store->gpu_tasks.kind[0], GpuTaskKind::kMemcpy);
  EXPECT_EQ(store->gpu_tasks.copy[0], CopyKind::kOther);
  EXPECT_EQ(store->gpu_tasks.kind[1], GpuTaskKind::kMemset);
  EXPECT_EQ(store->gpu_tasks.copy[1], CopyKind::kNotACopy);
}

TEST(KinetoReaderTest, ATaskWithoutStreamArgumentsIsOnItsTrack) {
  const auto store = Read("[" + Span("kernel", "k", R"("pid":3,"tid":7)", "") + "]");
  EXPECT_EQ(store->streams.number[0], 7);
  EXPECT_EQ(store->devices.ordinal[0], 3);
}

TEST(KinetoReaderTest, AnExtentPrintedOverLinesIsRead) {
  const auto store = Read(
      "[" + Span("kernel", "k", R"("pid":3,"tid":7)", "\"block\": [\n  32,\n\t1,\r\n 2\n]") + "]");
  EXPECT_EQ(store->gpu_tasks.block_x[0], 32);
  EXPECT_EQ(store->gpu_tasks.block_z[0], 2);
}

TEST(KinetoReaderTest, SynchronizationsNameTheStreamTheyWaitFor) {
  const auto store = Read(
      "[" +
      Span("cuda_sync", "Stream Wait Event", R"("pid":0,"tid":7)",
           R"("stream":7,"device":0,"wait_on_stream":20,"wait_on_cuda_event_record_corr_id":55)") +
      "," +
      Span("cuda_sync", "Context Sync", R"("pid":0,"tid":-1)", R"("stream":-1,"correlation":9)") +
      "]");
  ASSERT_EQ(store->syncs.rows(), 2u);
  EXPECT_EQ(store->syncs.kind[0], SyncKind::kStreamWaitEvent);
  EXPECT_EQ(store->syncs.wait_on_stream[0], 20);
  EXPECT_EQ(store->syncs.wait_on_correlation[0], 55);
  EXPECT_TRUE(store->syncs.stream[0].valid());
  EXPECT_EQ(store->syncs.kind[1], SyncKind::kContext);
  EXPECT_FALSE(store->syncs.stream[1].valid());
}

TEST(KinetoReaderTest, EventRecordsAreInstantsAndWithoutATimeNothing) {
  const auto store =
      Read(R"([{"ph":"X","cat":"cuda_event","name":"e","pid":0,"tid":7,"ts":0,"dur":1},
                              {"ph":"X","cat":"cuda_event","name":"e","pid":0,"tid":7,"ts":5,"dur":1}])");
  EXPECT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->host_events.rows(), 0u);
  EXPECT_EQ(store->log.Count(ImportIssue::kZeroTimeEvents), 1);
}

/// Timestamps of the kept events, tasks first, and the number of events dropped for their
/// timestamps.
struct Kept {
  std::vector<std::int64_t> tasks, spans;
  std::int64_t bad_times;
};
Kept KeptOf(const TraceStore& store) {
  Kept kept{{}, {}, store.log.Count(ImportIssue::kBadTime)};
  for (const TimeNs time : store.gpu_tasks.start.values()) kept.tasks.push_back(time.ns());
  for (const TimeNs time : store.host_events.start.values()) kept.spans.push_back(time.ns());
  return kept;
}

TEST(KinetoReaderTest, ZeroAmongUnixTimesIsNoTime) {
  const auto store = Read(OfProfiler(
      R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":0,"dur":0,"args":{"Collective name":"x"}},
         {"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":1700000000000001,"dur":1,
          "args":{"Collective name":"y"}},
         {"ph":"f","cat":"ac2g","name":"ac2g","id":1,"pid":0,"tid":7,"ts":0},
         {"ph":"X","cat":"kernel","name":"c","pid":0,"tid":7,"ts":0.0,"dur":3},
         {"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":1700000000000000,"dur":9},
         {"ph":"B","cat":"cpu_op","name":"e","pid":1,"tid":1,"ts":0},
         {"ph":"C","name":"power","pid":0,"ts":0,"args":{"a":1,"b":2}},
         {"ph":"i","name":"mark","pid":1,"tid":1,"ts":0})"));
  const Kept kept = KeptOf(*store);
  EXPECT_EQ(kept.tasks, std::vector<std::int64_t>{1'700'000'000'000'001'000});
  EXPECT_EQ(kept.spans, std::vector<std::int64_t>{1'700'000'000'000'000'000});
  EXPECT_EQ(kept.bad_times, 5) << "a, c, e, the counter and the mark";
  EXPECT_EQ(store->log.Count(ImportIssue::kZeroTimeEvents), 1) << "the arrow";
  EXPECT_EQ(store->flows.rows() + store->counters.rows() + store->instants.rows(), 0u);
  ASSERT_EQ(store->collectives.rows(), 1u);
  EXPECT_EQ(store->Text(store->collectives.name[0]), "y");
  EXPECT_EQ(store->collectives.task[0].index(), 0u);
  EXPECT_EQ(store->log.rows()[0].offset, 49) << "where the first of them is";
}

TEST(KinetoReaderTest, TasksYearsFromAllOtherStampsAreDropped) {
  const auto read = [](const std::string& lost, const std::string& base) {
    std::string events;
    for (int i = 0; i < 12; ++i)
      events += R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":)" + base +
                std::to_string(10 + i) + R"(,"dur":1},)";
    return KeptOf(*Read(OfProfiler(
        events + R"({"ph":"X","cat":"kernel","name":"lost","pid":0,"tid":7,"dur":1,"ts":)" + lost +
        "}")));
  };
  for (const char* lost : {"1", "86400000000", "-1700000000000000"}) {
    EXPECT_EQ(read(lost, "17000000000000").bad_times, 1) << lost;
    EXPECT_EQ(read(lost, "17000000000000").tasks.size(), 12u) << lost;
  }
  EXPECT_EQ(read("-1700000000000000", "50").bad_times, 1) << "0, less the base time";
  EXPECT_EQ(read("1700000000000000", "50").bad_times, 1);
  EXPECT_EQ(read("86400000000", "50").bad_times, 0) << "days may be";
}

TEST(KinetoReaderTest, ZeroAmongAsManyOtherTimesStays) {
  const Kept kept = KeptOf(*Read(R"([
      {"ph":"X","cat":"cuda_event","name":"e","pid":1,"tid":1,"ts":1700000000000000,"dur":0},
      {"ph":"i","name":"i","pid":1,"tid":1,"ts":1},
      {"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":0,"dur":1}])"));
  EXPECT_EQ(kept.bad_times, 0) << "an event record counts once";
}

TEST(KinetoReaderTest, ZeroFarBeforeTheTraceIsNoTimeOnAClockWithABase) {
  const auto read = [](const std::string& base, const std::string& zero) {
    return KeptOf(
        *Read("{" + base + R"("schemaVersion":1,"traceEvents":[)" + zero +
              R"(,{"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":5000000000,"dur":9},
        {"ph":"X","cat":"cpu_op","name":"d","pid":1,"tid":1,"ts":5000000100,"dur":9}]})"));
  };
  const std::string base = R"("baseTimeNanoseconds":1727653168000000000,)";
  const std::string task = R"({"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":0,"dur":0})";
  const std::string range =
      R"({"ph":"X","cat":"user_annotation","name":"a","pid":0,"tid":7,"ts":0,"dur":5000000200})";
  EXPECT_EQ(read(base, task).bad_times, 1);
  EXPECT_EQ(read(base, range).bad_times, 0) << "it lasts up to the others";
  EXPECT_EQ(read("", task).bad_times, 0) << "a clock that may begin at 0";
}

TEST(KinetoReaderTest, FlowsOldAndNewCountersMemoryAndNames) {
  const auto store = Read(R"({"traceEvents":[
      {"ph":"s","id":5,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g"},
      {"ph":"f","id":"0x5","pid":0,"tid":7,"ts":2,"name":"async_cpu_to_gpu","bp":"e"},
      {"ph":"C","name":"power","pid":0,"ts":3,"args":{"board":71.5,"core":"12"}},
      {"ph":"i","name":"[memory]","s":"t","pid":1,"tid":1,"ts":4,
       "args":{"Addr":140,"Bytes":-512,"Total Allocated":9,"Total Reserved":10,"Device Type":1,"Device Id":0,"Ev Idx":3}},
      {"ph":"i","name":"mark","pid":1,"tid":1,"ts":5,"args":{"a":1}},
      {"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}},
      {"ph":"M","name":"process_labels","pid":1,"tid":0,"args":{"labels":"CPU"}},
      {"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"main"}},
      {"ph":"M","name":"process_sort_index","pid":1,"tid":0,"args":{"sort_index":5}}]})");
  ASSERT_EQ(store->flows.rows(), 2u);
  EXPECT_EQ(store->flows.id[1], 5);
  EXPECT_EQ(store->flows.phase[1], FlowPhase::kFinish);
  EXPECT_EQ(store->Text(store->flows.category[1]), "async_cpu_to_gpu");
  ASSERT_EQ(store->counters.rows(), 2u);
  EXPECT_EQ(store->Text(store->counters.series[1]), "core");
  EXPECT_EQ(store->counters.value[0], 71.5);
  ASSERT_EQ(store->memory_events.rows(), 1u);
  EXPECT_EQ(store->memory_events.bytes[0], -512);
  EXPECT_EQ(store->memory_events.event_index[0], 3);
  ASSERT_EQ(store->instants.rows(), 1u);
  EXPECT_EQ(store->Text(store->processes.name[0]), "python");
  EXPECT_EQ(store->Text(store->processes.labels[0]), "CPU");
  EXPECT_EQ(store->Text(store->threads.name[0]), "main");
  EXPECT_EQ(store->metadata.events, 9);
}

TEST(KinetoReaderTest, BeginsAndEndsArePaired) {
  const auto store = Read(R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":1,"args":{"correlation":4}},
      {"ph":"B","name":"b","pid":1,"tid":1,"ts":2},{"ph":"E","pid":1,"tid":1,"ts":5},
      {"ph":"B","name":"c","pid":1,"tid":1,"ts":6},
      {"ph":"E","name":"a","pid":1,"tid":1,"ts":9,"args":{"result":5}},
      {"ph":"E","name":"a","pid":1,"tid":1,"ts":10},
      {"ph":"B","name":"d","pid":1,"tid":1,"ts":11},
      {"ph":"i","name":"i","pid":1,"tid":1,"ts":50},
      {"ph":"X","name":"x","pid":1,"tid":2,"ts":12,"dur":8}])");
  std::vector<std::string> spans;
  for (std::size_t i = 0; i < store->host_events.rows(); ++i) {
    spans.push_back(fmt::format("{} {}+{}", store->Text(store->host_events.name[i]),
                                store->host_events.start[i].ns(),
                                store->host_events.duration[i].ns()));
  }
  EXPECT_EQ(spans, (std::vector<std::string>{"x 12000+8000", "a 1000+8000", "b 2000+3000",
                                             "c 6000+3000", "d 11000+9000"}));
  EXPECT_EQ(store->log.Count(ImportIssue::kUnfinishedSpan), 2) << "c ends with a, d with the trace";
  EXPECT_EQ(store->log.Count(ImportIssue::kUnmatchedEnd), 1);
  EXPECT_EQ(store->host_events.correlation[1], 4) << "as of a whole event";
  EXPECT_EQ(store->Arg(store->host_events.args[1], "result"), "5") << "of the end";
}

/// "PID/TID NAME start+duration < PARENT" of each host event, in microseconds.
std::vector<std::string> SpansOf(const TraceStore& store) {
  const auto& events = store.host_events;
  std::vector<std::string> spans;
  for (std::size_t i = 0; i < events.rows(); ++i) {
    const std::size_t thread = events.thread[i].index();
    const HostEventId parent = events.parent[i];
    spans.push_back(fmt::format(
        "{}/{} {} {}+{}{}", store.Text(store.processes.pid[store.threads.process[thread].index()]),
        store.Text(store.threads.tid[thread]), store.Text(events.name[i]),
        events.start[i].ns() / 1000, events.duration[i].ns() / 1000,
        parent.valid() ? fmt::format(" < {}", store.Text(events.name[parent.index()])) : ""));
  }
  return spans;
}

/// A `B` or `E` event of one thread.
std::string Half(char phase, const std::string& name, int time) {
  return fmt::format(R"({{"ph":"{}","name":"{}","pid":1,"tid":1,"ts":{}}})", phase, name, time);
}

TEST(KinetoReaderTest, SpansThatOverlapEndAtTheirOwnEnds) {
  using Spans = std::vector<std::string>;
  const auto read = [](const Spans& events) {
    return Read(fmt::format("[{}]", fmt::join(events, ",")));
  };
  const auto store =
      read({Half('B', "a", 1), Half('B', "b", 2), Half('B', "a", 3), Half('E', "b", 5),
            Half('E', "a", 8), Half('E', "a", 9), Half('B', "c", 20), Half('E', "c", 21)});
  EXPECT_EQ(SpansOf(*store), (Spans{"1/1 a 1+8", "1/1 b 2+3 < a", "1/1 a 3+5 < a", "1/1 c 20+1"}));
  EXPECT_EQ(store->log.Count(ImportIssue::kUnfinishedSpan), 0);
  EXPECT_EQ(store->log.Count(ImportIssue::kUnmatchedEnd), 0);
  // "lost" is inside "b", which outlasts "a"; the end without a name belongs to "c".
  const auto mixed =
      read({Half('B', "a", 1), Half('B', "b", 2), Half('B', "lost", 3), Half('E', "a", 4),
            Half('B', "c", 5), Half('E', "", 6), Half('E', "b", 7), Half('E', "lost", 1)});
  EXPECT_EQ(SpansOf(*mixed),
            (Spans{"1/1 a 1+3", "1/1 b 2+5", "1/1 lost 3+4 < b", "1/1 c 5+1 < lost"}));
  EXPECT_EQ(mixed->log.Count(ImportIssue::kUnfinishedSpan), 1);
  EXPECT_EQ(mixed->log.Count(ImportIssue::kUnmatchedEnd), 1);
}

TEST(KinetoReaderTest, ManySpansThatOverlapTakeLinearTime) {
  std::vector<std::string> events;
  events.reserve(20'000);
  for (int i = 0; i < 20'000; ++i) events.push_back(Half('B', fmt::format("s{}", i), i));
  for (int i = 0; i < 20'000; ++i) events.push_back(Half('E', fmt::format("s{}", i), 30'000 + i));
  const auto store = Read(fmt::format("[{}]", fmt::join(events, ",")));
  EXPECT_EQ(store->host_events.rows(), 20'000u);
  EXPECT_TRUE(std::ranges::all_of(store->host_events.duration.values(),
                                  [](DurationNs d) { return d.ns() == 30'000'000; }));
}

/// An event of an asynchronous operation, of category "c", at a time in microseconds.
std::string Async(char phase, const std::string& name, int time, const std::string& id,
                  const std::string& track = R"("pid":1,"tid":1)") {
  return fmt::format(R"({{"ph":"{}","cat":"c","name":"{}","ts":{},{},{}}})", phase, name, time, id,
                     track);
}

using Lines = std::vector<std::string>;

TEST(KinetoReaderTest, AsynchronousSpansNestInTheirOperationOnTracksOfTheirOwn) {
  const Lines events = {
      R"({"ph":"X","name":"work","pid":1,"tid":1,"ts":0,"dur":20})",
      Async('b', "request", 1, R"("id":1)"),
      Async('b', "request", 5, R"("id":2)"),
      Async('b', "decode", 6, R"("id":1)"),
      Async('e', "decode", 9, R"("id":1)", R"("pid":1,"tid":2)"),
      Async('e', "request", 10, R"("id":1)", R"("pid":1,"tid":2)"),
      Async('b', "request", 12, R"("id":"0x3")"),
      Async('e', "", 13, R"("id":"0x3")"),
      Async('e', "request", 14, R"("id":2)"),
  };
  const auto store = Read(fmt::format("[{}]", fmt::join(events, ",")));
  EXPECT_EQ(SpansOf(*store),
            (Lines{"1/1 work 0+20", "1/async 1 request 1+9", "1/async 1 decode 6+3 < request",
                   "1/async 1 request 12+1", "1/async 2 request 5+9"}));
  EXPECT_EQ(store->host_events.kind[1], HostEventKind::kAnnotation);
  EXPECT_EQ(store->instants.rows(), 0u);
  EXPECT_TRUE(std::ranges::all_of(store->log.rows(), [](const ImportLogRow& row) {
    return row.issue == ImportIssue::kUnprovenTimeUnit;
  }));
}

TEST(KinetoReaderTest, WhatAnAsynchronousIdHoldsInTellsOperationsApart) {
  const char* const other = R"("pid":2,"tid":1)";
  const auto spans = [](const Lines& events) {
    return SpansOf(*Read(fmt::format("[{}]", fmt::join(events, ","))));
  };
  // An id is valid in the whole file, a local id only in its process.
  EXPECT_EQ(spans({Async('b', "a", 1, R"("id":1)"), Async('e', "a", 3, R"("id":1)", other)}),
            (Lines{"1/async 1 a 1+2"}));
  const char* const local = R"("id2":{"local":"1"})";
  EXPECT_EQ(spans({Async('b', "a", 1, local), Async('b', "a", 2, local, other),
                   Async('e', "a", 3, local), Async('e', "a", 9, local, other)}),
            (Lines{"1/async 1 a 1+2", "2/async 1 a 2+7"}));
  const char* const global = R"("id2":{"global":"1"})";
  EXPECT_EQ(spans({Async('b', "a", 1, global), Async('e', "a", 3, global, other)}),
            (Lines{"1/async 1 a 1+2"}));
  EXPECT_EQ(spans({Async('b', "a", 1, R"("id":1,"scope":"s")"), Async('b', "a", 2, R"("id":1)"),
                   Async('e', "a", 3, R"("id":1,"scope":"s")"), Async('e', "a", 5, R"("id":1)")}),
            (Lines{"1/async 1 a 1+2", "1/async 2 a 2+3"}));
  // In the older phases, spans of one id with different names do not nest.
  EXPECT_EQ(spans({Async('S', "a", 1, R"("id":1)"), Async('S', "b", 2, R"("id":1)"),
                   Async('F', "a", 5, R"("id":1)"), Async('F', "b", 9, R"("id":1)")}),
            (Lines{"1/async 1 a 1+4", "1/async 2 b 2+7"}));
}

TEST(KinetoReaderTest, AsynchronousSpansTakeTheFirstTrackThatIsFree) {
  Lines events;
  const std::pair<int, int> spans[] = {{1, 2}, {3, 9}, {5, 6}, {7, 8}};
  for (int i = 0; i < 4; ++i) {
    const std::string id = fmt::format(R"("id":{})", i + 1);
    events.push_back(Async('b', "a", spans[i].first, id));
    events.push_back(Async('e', "a", spans[i].second, id));
  }
  EXPECT_EQ(SpansOf(*Read(fmt::format("[{}]", fmt::join(events, ",")))),
            (Lines{"1/async 1 a 1+1", "1/async 1 a 3+6", "1/async 2 a 5+1", "1/async 2 a 7+1"}));
}

TEST(KinetoReaderTest, AsynchronousSpansWithoutTheirOtherHalfAreTold) {
  const auto store =
      Read("[" + Async('b', "a", 1, R"("id":1)") + "," + Async('e', "a", 3, R"("id":2)") + "," +
           R"({"ph":"X","name":"x","pid":1,"tid":1,"ts":4,"dur":5}])");
  EXPECT_EQ(SpansOf(*store), (Lines{"1/1 x 4+5", "1/async 1 a 1+8"}));
  EXPECT_EQ(store->log.Count(ImportIssue::kUnfinishedSpan), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kUnmatchedEnd), 1);
}

TEST(KinetoReaderTest, AsynchronousTracksAreNoThreadsOfTheFile) {
  const Lines events = {R"({"ph":"X","name":"own","pid":1,"tid":"async 1","ts":0,"dur":20})",
                        Async('b', "a", 1, R"("id":1)"), Async('e', "a", 3, R"("id":1)")};
  EXPECT_EQ(SpansOf(*Read(fmt::format("[{}]", fmt::join(events, ",")))),
            (Lines{"1/async 1 own 0+20", "1/async 2 a 1+2"}));
}

TEST(KinetoReaderTest, AsynchronousTracksAreBounded) {
  constexpr int kOperations = static_cast<int>(kMaxAsyncTracks) + 10;
  Lines events;
  for (int i = 0; i < kOperations; ++i) {
    events.push_back(Async('b', "a", 10 * i, fmt::format(R"("id":{})", i)));
    events.push_back(Async('e', "a", 5000 + 10 * i, fmt::format(R"("id":{})", i)));
  }
  const auto store = Read(fmt::format("[{}]", fmt::join(events, ",")));
  EXPECT_EQ(store->host_events.rows(), static_cast<std::size_t>(kOperations));
  EXPECT_EQ(store->threads.rows(), kMaxAsyncTracks + 1) << "and the thread that the events name";
  EXPECT_EQ(store->log.Count(ImportIssue::kOverlapping), 10);
}

TEST(KinetoReaderTest, PhasesWithoutAMeaningArePointsAndTold) {
  for (const char phase : {'N', 'D', 'O', 'P', 'v', '?'}) {
    const auto store = Read("[" + Async(phase, "a", 1, R"("id":1)") + "]");
    EXPECT_EQ(store->instants.rows(), 1u) << phase;
    ASSERT_EQ(store->log.Count(ImportIssue::kOtherPhase), 1) << phase;
    EXPECT_EQ(store->log.rows()[0].detail, std::string("phase ") + phase);
    EXPECT_EQ(store->log.rows()[0].offset, 1);
  }
  for (const char phase : {'i', 'I', 'R', 'n', 'T', 'p'}) {
    const auto store = Read("[" + Async(phase, "a", 1, R"("id":1)") + "]");
    EXPECT_EQ(store->instants.rows(), 1u) << phase;
    EXPECT_TRUE(store->log.empty()) << phase;
  }
}

struct DurationCase {
  const char* member;
  std::int64_t ns;
  ImportIssue issue;
};

const DurationCase kDurations[] = {
    {R"(,"dur":null)", 0, ImportIssue::kBadDuration},
    {R"(,"dur":NaN)", 0, ImportIssue::kBadDuration},
    {R"(,"dur":"x")", 0, ImportIssue::kBadDuration},
    {R"(,"dur":1e300)", 0, ImportIssue::kBadDuration},
    {R"(,"dur":9223372036854775.807)", 0, ImportIssue::kBadDuration},
    {R"(,"dur":-1)", 0, ImportIssue::kNegativeDuration},
    {R"(,"dur":-1e300)", 0, ImportIssue::kNegativeDuration},
    {R"(,"dur":Infinity)", 0, ImportIssue::kBadDuration},
    {"", 0, ImportIssue::kMissingDuration},
};

TEST(KinetoReaderTest, DamagedDurationsAreZeroAndTold) {
  for (const DurationCase& c : kDurations) {
    const auto store =
        Read(fmt::format(R"([{{"ph":"X","name":"a","pid":1,"tid":1,"ts":1{}}}])", c.member));
    ASSERT_EQ(store->host_events.rows(), 1u) << c.member;
    EXPECT_EQ(store->host_events.duration[0].ns(), c.ns) << c.member;
    EXPECT_EQ(store->log.Count(c.issue), 1) << c.member;
  }
}

TEST(KinetoReaderTest, EventsWithoutAUsableTimeAreSkippedAndTold) {
  for (const char* time :
       {"", R"(,"ts":null)", R"(,"ts":NaN)", R"(,"ts":1e300)", R"(,"ts":"noon")"}) {
    const auto store =
        Read(fmt::format(R"([{{"ph":"X","name":"a","pid":1,"tid":1,"dur":1{}}}])", time));
    EXPECT_EQ(store->host_events.rows(), 0u) << time;
    EXPECT_EQ(store->log.Count(ImportIssue::kBadTime), 1) << time;
  }
}

TEST(KinetoReaderTest, ABadStampSaysWhatIsWrongWithIt) {
  const auto detail = [](const std::string& member) {
    const auto store = Read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"dur":1)" + member + "}]");
    return store->log.rows().empty() ? "" : store->log.rows()[0].detail;
  };
  EXPECT_THAT(detail(R"(,"ts":1764000000000000000)"), testing::HasSubstr("time.time_ns() / 1000"));
  EXPECT_EQ(detail(R"(,"ts":17640000000000000000)"), "out of range");
  EXPECT_EQ(detail(R"(,"ts":1e300)"), "out of range");
  EXPECT_EQ(detail(R"(,"ts":"noon")"), "not a number");
  EXPECT_EQ(detail(""), "missing");
}

TEST(KinetoReaderTest, EventsThatDamageJoinsAreCountedEach) {
  const auto event = [](int i) {
    return fmt::format(R"({{"ph":"X","name":"{0}","pid":1,"tid":1,"ts":{0},"dur":1}})", i);
  };
  // The first case overwrites the end of an event, the second also the beginnings of the next two.
  const std::pair<std::string, std::int64_t> cases[] = {
      {event(1).substr(0, 30) + "\1\2[" + event(2) + "," + event(3), 1},
      {event(1).substr(0, 30) + "####" + event(2).substr(1, 40) + "[" + event(3).substr(1) + "," +
           event(4),
       2},
  };
  for (const auto& [text, lost] : cases) {
    const auto store = Read("[" + event(0) + "," + text + "," + event(5) + "]");
    EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), lost) << text;
    EXPECT_EQ(store->metadata.events, lost + static_cast<std::int64_t>(store->host_events.rows()))
        << text;
  }
}

TEST(KinetoReaderTest, AnArgumentCalledPhIsNoEvent) {
  // The quote inside the name damages it; it is read after repair.
  const auto store = Read(R"([{"ph":"X","name":"a"b","pid":1,"tid":1,"ts":1,"dur":1,
      "args":{"ph":"train"}}, {"ph":"X","name":"c","pid":1,"tid":1,"ts":3,"dur":1}])");
  EXPECT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->metadata.events, 2);
  EXPECT_EQ(store->log.Count(ImportIssue::kRepairedEvent), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kLostEvent), 0);
}

TEST(KinetoReaderTest, CounterValuesThatAreNoNumbersAreTold) {
  const auto store = Read(R"([{"ph":"C","name":"loss","pid":1,"tid":1,"ts":1,
      "args":{"train":0.5,"test":NaN,"note":"high"}}])");
  EXPECT_EQ(store->counters.rows(), 1u);
  EXPECT_EQ(store->log.Count(ImportIssue::kCounterValue), 2);
  EXPECT_EQ(store->log.Count(ImportIssue::kNotAnEvent), 0);
}

std::string Kernel(const std::string& time, const std::string& duration, int stream,
                   const std::string& args = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":{2},"ts":{0},"dur":{1},"args":{{"stream":{2}{3}}}}})",
      time, duration, stream, args);
}

TEST(KinetoReaderTest, ATaskFarBeyondTheTraceIsClippedToItsSuccessor) {
  const auto store =
      Read("[" + Kernel("10", "18446744073709551.615", 7) + "," + Kernel("30", "5", 7) + "," +
           Kernel("20", "5", 8) + "," + Kernel("40", "99999999", 8) + "]");
  EXPECT_EQ(store->gpu_tasks.duration[0].ns(), 20'000) << "to the next task of stream 7";
  EXPECT_EQ(store->gpu_tasks.duration[1].ns(), 5'000);
  EXPECT_EQ(store->gpu_tasks.duration[3].ns(), 0) << "the last start of the trace";
  EXPECT_EQ(store->log.Count(ImportIssue::kOverflowingDuration), 2);
}

TEST(KinetoReaderTest, ALongTaskAtTheEndOfAShortTraceIsNoOverflow) {
  const auto store = Read("[" + Kernel("10", "5", 7) + "," + Kernel("20", "30000000", 7) + "]");
  EXPECT_EQ(store->gpu_tasks.duration[1].ns(), 30'000'000'000);
  EXPECT_EQ(store->log.Count(ImportIssue::kOverflowingDuration), 0);
}

TEST(KinetoReaderTest, ASpanFarBeyondTheTraceIsClippedAndNoParentOfWhatFollows) {
  for (const char* category : {"cpu_op", "of no known kind"}) {
    const auto span = [&](const char* name, int tid, const char* times) {
      return fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":1,"tid":{},{}}})", category,
                         name, tid, times);
    };
    const auto store = Read(
        "[" + span("a", 1, R"("ts":10,"dur":2e15)") + "," +
        span("twin", 1, R"("ts":10,"dur":1e15)") + "," + span("b", 1, R"("ts":20.5,"dur":5)") +
        "," + span("c", 2, R"("ts":15,"dur":1e15)") + "," + span("d", 3, R"("ts":40,"dur":1e15)") +
        R"(,{"ph":"B","name":"open","pid":1,"tid":4,"ts":12}])");
    const auto& rows = store->host_events;
    ASSERT_EQ(rows.rows(), 6u);
    EXPECT_EQ(rows.duration[0].ns(), 10'500) << "a: to the next start of its track";
    EXPECT_EQ(rows.duration[1].ns(), 10'500) << "its twin: too";
    EXPECT_FALSE(rows.parent[2].valid()) << "b";
    EXPECT_EQ(rows.duration[3].ns(), 25'000) << "c: to the last start of the trace";
    EXPECT_EQ(rows.duration[4].ns(), 0) << "d: it is the last";
    EXPECT_EQ(rows.duration[5].ns(), 28'000) << "what never ended ends with the trace";
    EXPECT_EQ(store->log.Count(ImportIssue::kOverflowingDuration), 4);
  }
}

TEST(KinetoReaderTest, BeginsAndEndsHaveTheKindOfTheirCategory) {
  for (const HostKindCase& c : kHostKinds) {
    const auto store = Read(OfProfiler(fmt::format(
        R"({{"ph":"B","cat":"{}","name":"n","pid":1,"tid":1,"ts":1}},{{"ph":"E","pid":1,"tid":1,"ts":2}})",
        c.category)));
    ASSERT_EQ(store->host_events.rows(), 1u) << c.category;
    EXPECT_EQ(store->host_events.kind[0], c.kind) << c.category;
  }
}

TEST(KinetoReaderTest, ADoubledEventIsDroppedAndDisorderTold) {
  const std::string launch =
      R"({"ph":"X","cat":"cuda_runtime","name":"l","pid":1,"tid":1,"ts":9,"dur":1,"args":{"correlation":4}})";
  const std::string early =
      R"({"ph":"X","cat":"cuda_runtime","name":"l","pid":1,"tid":1,"ts":3,"dur":1,"args":{"correlation":3}})";
  const std::string op = R"({"ph":"X","cat":"cpu_op","name":"o","pid":1,"tid":1,"ts":1,"dur":1})";
  const auto store = Read("[" + launch + "," + op + "," + early + "," + launch + "]");
  EXPECT_EQ(store->host_events.rows(), 3u);
  EXPECT_EQ(store->log.Count(ImportIssue::kDuplicateEvent), 1);
  EXPECT_EQ(store->log.Count(ImportIssue::kOutOfOrder), 1)
      << "an operator after a call is a run of its own";
}

std::string Copy(const std::string& times, double gigabytes_per_second) {
  return fmt::format(
      R"j([{{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,{},
            "args":{{"stream":7,"bytes":1000000,"memory bandwidth (GB/s)":{}}}}}])j",
      times, gigabytes_per_second);
}

TEST(KinetoReaderTest, TheTimeUnitIsProvenByDecimalsOrCopies) {
  const auto proven = [](const TraceStore& store) {
    return store.log.Count(ImportIssue::kUnprovenTimeUnit) == 0;
  };
  EXPECT_TRUE(proven(*Read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1}])")));
  EXPECT_TRUE(proven(*Read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1.25}])")));
  EXPECT_FALSE(proven(*Read(R"([{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":1}])")));
  EXPECT_FALSE(proven(*Read(R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":1}])")));

  const auto micro = Read(Copy(R"("ts":500,"dur":100)", 10));  // 1 MB in 100 us.
  EXPECT_TRUE(proven(*micro));
  EXPECT_EQ(micro->gpu_tasks.duration[0].ns(), 100'000);

  const auto nano =
      Read(Copy(R"("ts":500000,"dur":100000)", 10));  // The same, written in nanoseconds.
  EXPECT_TRUE(proven(*nano));
  EXPECT_EQ(nano->gpu_tasks.start[0].ns(), 500'000);
  EXPECT_EQ(nano->gpu_tasks.duration[0].ns(), 100'000);
  EXPECT_EQ(nano->log.Count(ImportIssue::kNanosecondStamps), 1);
}

TEST(KinetoReaderTest, TheBareArrayOfOlderPyTorchHoldsOperators) {
  const auto store = Read(
      R"([{"name": "aten::mm", "ph": "X", "ts": 5, "dur": 3, "tid": 1, "pid": "CPU functions", "args": {}},
                              {"name": "other", "ph": "X", "ts": 9, "dur": 3, "tid": 1, "pid": "else", "args": {}}])");
  ASSERT_EQ(store->host_events.rows(), 2u);
  EXPECT_EQ(store->host_events.kind[0], HostEventKind::kOperator);
  EXPECT_EQ(store->host_events.kind[1], HostEventKind::kOther);
  EXPECT_EQ(store->Text(store->processes.pid[0]), "CPU functions");
  EXPECT_TRUE(store->metadata.names_and_times_only);
  EXPECT_FALSE(Read(R"([{"name": "a", "ph": "X", "ts": 5, "dur": 3, "tid": 1, "pid": 1}])")
                   ->metadata.names_and_times_only);
}

TEST(KinetoReaderTest, SpansOfNobodyKnownAreAnnotations) {
  const std::string plain =
      R"({"name": "load", "cat": "mine", "ph": "X", "ts": 5, "dur": 3, "pid": 1, "tid": 1},
                               {"name": "run", "ph": "B", "ts": 9, "pid": 1, "tid": 1},
                               {"name": "run", "ph": "E", "ts": 10, "pid": 1, "tid": 1})";
  const auto store = Read("[" + plain + "]");
  EXPECT_EQ(store->metadata.format, kChromeFormat);
  ASSERT_EQ(store->host_events.rows(), 2u);
  for (std::size_t row = 0; row < 2; ++row)
    EXPECT_EQ(store->host_events.kind[row], HostEventKind::kAnnotation);
  EXPECT_EQ(store->Text(store->host_events.category[0]), "user_annotation");
  EXPECT_EQ(store->Text(store->host_events.args[0]), R"("cat": "mine")");
  // In a trace with a profiler's events, plain spans are details of that profiler.
  const auto known = Read(
      "[" + plain +
      R"(, {"name": "aten::mm", "cat": "cpu_op", "ph": "X", "ts": 20, "dur": 3, "pid": 1, "tid": 1,
            "args": {"External id": 1}}])");
  EXPECT_EQ(known->metadata.format, kKinetoFormat);
  EXPECT_EQ(known->host_events.kind[0], HostEventKind::kOther);
  const std::string list = R"("traceEvents": [)" + plain + "]";
  for (const char* const member :
       {R"("schemaVersion": 1)", R"("deviceProperties": [])", R"("record_shapes": 1)"}) {
    EXPECT_EQ(Read(fmt::format("{{{}, {}}}", member, list))->metadata.format, kKinetoFormat)
        << member;
    EXPECT_EQ(Read(fmt::format("{{{}, {}}}", list, member))->metadata.format, kKinetoFormat)
        << member;
  }
}

TEST(KinetoReaderTest, AFewSpansOfAKnownCategoryMakeNoProfile) {
  const auto span = [](const std::string& category) {
    return Span(category, "a", R"("pid":1,"tid":1)", "");
  };
  const std::string own = span("mine"), known = span("python_function");
  const auto few = Read(fmt::format("[{},{},{}]", own, known, own));
  EXPECT_EQ(few->metadata.format, kChromeFormat);
  for (std::size_t row = 0; row < 3; ++row)
    EXPECT_EQ(few->host_events.kind[row], HostEventKind::kAnnotation);
  EXPECT_EQ(few->log.Count(ImportIssue::kToldByCategory), 0);
  // Half of the spans have a known category, which is logged.
  const auto half = Read(fmt::format("[{},{}]", own, known));
  EXPECT_EQ(half->metadata.format, kKinetoFormat);
  ASSERT_EQ(half->log.Count(ImportIssue::kToldByCategory), 1);
  EXPECT_EQ(half->log.rows().back().detail, R"(1 of 2 spans, first "python_function")");
  // If all are known, or the file names another writer, nothing is logged.
  EXPECT_EQ(Read(fmt::format("[{}]", known))->log.Count(ImportIssue::kToldByCategory), 0);
  EXPECT_EQ(Read(OfProfiler(own + "," + known))->log.Count(ImportIssue::kToldByCategory), 0);
}

TEST(KinetoReaderTest, AListWithoutSpansIsNoOtherFormat) {
  for (const char* text : {"[]", R"({"traceEvents": []})",
                           R"([{"name": "a", "ph": "i", "ts": 5, "pid": 1, "tid": 1}])"})
    EXPECT_EQ(Read(text)->metadata.format, kKinetoFormat) << text;
}

TEST(KinetoReaderTest, TheCategoryOfASpanOfNobodyKnownHasAKeyOfItsOwn) {
  const auto store = Read(
      R"([{"name": "a", "cat": "mine", "ph": "X", "ts": 5, "dur": 3, "pid": 1, "tid": 1, "args": {"cat": "x", "cat_": 7}}])");
  EXPECT_EQ(store->Text(store->host_events.args[0]), R"("cat__": "mine", "cat": "x", "cat_": 7)");
}

TEST(KinetoReaderTest, MetadataIsReadBeforeAndAfterTheListAndNothingElseIsKept) {
  const auto store =
      Read(R"({"SECRET": "token", "baseTimeNanoseconds": 1712345678000000000, "nccl_version": 1,
      "deviceProperties": [{"id": 1, "name": "H200", "totalGlobalMem": 150000000000, "numSms": 132,
                            "computeMajor": 9, "computeMinor": 0}],
      "traceEvents": [], "with_stack": 0,
      "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}})");
  EXPECT_EQ(store->metadata.base_time_ns, 1712345678000000000);
  EXPECT_EQ(store->metadata.rank, 3);
  EXPECT_EQ(store->metadata.world_size, 8);
  EXPECT_EQ(store->Text(store->devices.name[0]), "H200");
  EXPECT_EQ(store->devices.compute_minor[0], 0);
  EXPECT_FALSE(store->strings.Find("token").valid());
  EXPECT_TRUE(store->log.empty());
}

TEST(KinetoReaderTest, AForecastIsToldFromARecording) {
  EXPECT_FALSE(Read(R"({"scenario": "amp", "traceEvents": []})")->metadata.is_forecast);
  EXPECT_TRUE(Read(R"({"headroom_scenario": "amp", "traceEvents": []})")->metadata.is_forecast);
  EXPECT_TRUE(Read(R"({"traceEvents": [], "headroom_scenario": ""})")->metadata.is_forecast);
}

TEST(KinetoReaderTest, MetadataThatCannotBeReadIsToldByItsKey) {
  const std::string large = R"({"rank": 1, "x": ")" + std::string(5 << 20, 'x') + "\"}";
  const std::pair<const char*, std::string> cases[] = {
      {"distributedInfo", R"({"rank": 1 2})"},
      {"distributedInfo", "7"},
      {"distributedInfo", "[3]"},
      {"distributedInfo", large},
      {"deviceProperties", R"({"id": 0})"},
      {"deviceProperties", "[7]"},
      {"deviceProperties", R"([{"name": "GPU"}])"},
      {"deviceProperties", R"([{"id": "first"}])"},
  };
  for (const auto& [key, value] : cases) {
    for (const bool before : {true, false}) {
      const std::string member = fmt::format(R"("{}": {})", key, value);
      const auto store = Read(before ? "{" + member + R"(, "traceEvents": []})"
                                     : R"({"traceEvents": [], )" + member + "}");
      ASSERT_EQ(store->log.Count(ImportIssue::kDamagedMetadata), 1) << member.substr(0, 80);
      if (value != R"({"rank": 1 2})") {
        EXPECT_EQ(store->log.rows()[0].detail, key);
      }
      EXPECT_FALSE(store->metadata.rank.has_value());
      EXPECT_EQ(store->devices.rows(), 0u);
    }
  }
}

TEST(KinetoReaderTest, ACutCompressedStreamKeepsWhatCameBefore) {
  MemoryByteSource source(
      R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1.5,"dur":1},{"ph")",
      "the gzip stream is truncated");
  TraceStore store;
  ASSERT_TRUE(kineto::Read(source, "file", {}, store).ok());
  EXPECT_EQ(store.host_events.rows(), 1u);
  EXPECT_EQ(store.log.Count(ImportIssue::kCutCompression), 1);
  EXPECT_EQ(store.log.Count(ImportIssue::kTruncated), 1);

  MemoryByteSource refused(R"({"traceEv)", "the gzip stream is truncated");
  TraceStore nothing;
  const Status status = kineto::Read(refused, "file", {}, nothing);
  EXPECT_EQ(
      status.message(),
      "file: ends before its event list: it is empty or truncated; copy the file or record the "
      "trace again (the gzip stream is truncated)");
}

/// Fails after some reads, like a failing device.
class FailingSource final : public ByteSource {
 public:
  Result<std::size_t> Read(std::span<char> out) override {
    if (reads_++ > 20) return Status::BadInput("file: cannot read: Input/output error");
    const std::string event = R"({"ph":"i","name":"a","pid":1,"tid":1,"ts":1},)";
    std::string text = reads_ == 1 ? "[" : "";
    while (text.size() < out.size()) text += event;
    text.copy(out.data(), out.size());
    return out.size();
  }
  std::int64_t file_bytes_read() const override { return 0; }
  std::int64_t file_bytes() const override { return 0; }

 private:
  int reads_ = 0;
};

TEST(KinetoReaderTest, AFailingDeviceEndsAllThreads) {
  for (const int threads : {1, 2, 8}) {
    FailingSource source;
    TraceStore store;
    ReadOptions options;
    options.threads = threads;
    options.piece_bytes = 1000;
    EXPECT_EQ(kineto::Read(source, "file", options, store).message(),
              "file: cannot read: Input/output error");
  }
}

/// Throws std::bad_alloc during a read.
class GreedySource final : public ByteSource {
 public:
  Result<std::size_t> Read(std::span<char> out) override {
    if (reads_++ > 20) throw std::bad_alloc();
    std::fill(out.begin(), out.end(), ' ');
    if (reads_ == 1) out[0] = '[';
    return out.size();
  }
  std::int64_t file_bytes_read() const override { return 0; }
  std::int64_t file_bytes() const override { return 0; }

 private:
  int reads_ = 0;
};

TEST(KinetoReaderTest, TooLittleMemoryEndsAllThreadsWithAStatus) {
  for (const int threads : {1, 2, 8}) {
    GreedySource source;
    TraceStore store;
    ReadOptions options;
    options.threads = threads;
    options.piece_bytes = 1000;
    const Status status = kineto::Read(source, "file", options, store);
    EXPECT_EQ(status.code(), StatusCode::kEnvironment);
    EXPECT_TRUE(status.message().starts_with("file: out of memory")) << status.message();
  }
}

TEST(KinetoReaderTest, ARefusalEndsAllThreads) {
  std::string text = R"({"no_list": [{"a":1})";
  for (int i = 0; i < 10'000; ++i) text += R"(,{"a":1})";
  for (const int threads : {1, 2, 8}) {
    MemoryByteSource source(text + "]}");
    TraceStore store;
    ReadOptions options;
    options.threads = threads;
    options.piece_bytes = 5000;
    EXPECT_EQ(kineto::Read(source, "file", options, store).code(), StatusCode::kBadInput);
  }
}

TEST(KinetoReaderTest, ProgressNeverGoesBack) {
  std::string text = "[";
  for (int i = 0; i < 1000; ++i) text += R"({"ph":"i","name":"a","pid":1,"tid":1,"ts":1},)";
  MemoryByteSource source(text + "]");
  TraceStore store;
  ReadOptions options;
  options.threads = 2;
  options.piece_bytes = 1000;
  std::int64_t last = 0;
  options.progress = [&](std::int64_t bytes) {
    EXPECT_GE(bytes, last);
    last = bytes;
  };
  ASSERT_TRUE(kineto::Read(source, "file", options, store).ok());
  EXPECT_EQ(last, source.file_bytes());
}

}  // namespace kineto_reader_test
}  // namespace headroom::kineto
