// Tests damaged files. tests/integration/test_nsight.py compares whole exports.
#include "ingest/nsight/nsight_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "ingest/input/database_rows.h"

namespace headroom::nsight {
namespace nsight_reader_test {

using testing::HasSubstr;

/// Returns the bytes of a database that the statements in `sql` create.
std::string MakeDatabase(const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  char* error = nullptr;
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string copy(reinterpret_cast<char*>(bytes), static_cast<std::size_t>(size));
  sqlite3_free(bytes);
  sqlite3_close(db);
  return copy;
}

constexpr char kSchema[] =
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel_v7000'), (3, "
    "'cuLaunchKernel');"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
    "  correlationId, globalPid, demangledName);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
    "CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid, domainId);";

struct Reading {
  Status status;
  TraceStore store;
};

std::unique_ptr<Reading> ReadBytes(const std::string& bytes, std::int64_t max_text = 1 << 20) {
  auto reading = std::make_unique<Reading>();
  const Result<sqlite::Database> database = sqlite::Database::OpenBytes(bytes, "made", max_text);
  reading->status =
      database.ok() ? Read(database.value(), "made", {}, reading->store) : database.status();
  return reading;
}

std::unique_ptr<Reading> ReadMade(const std::string& sql) {
  return ReadBytes(MakeDatabase(kSchema + sql));
}

std::string Global(int pid, int tid) {
  return std::to_string((std::int64_t{1} << 56) | (std::int64_t{pid} << 24) | tid);
}

TEST(NsightReader, JoinsATaskWithItsCall) {
  const auto made =
      ReadMade("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 150, 0, 1, 7, 4, " +
               Global(9, 0) + ", 1); INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, " +
               Global(9, 11) + ", 4, 2), (30, 31, " + Global(9, 11) + ", 5, 3);");
  ASSERT_TRUE(made->status.ok());
  const TraceStore& store = made->store;
  ASSERT_EQ(store.gpu_tasks.rows(), 1u);
  EXPECT_EQ(store.Text(store.gpu_tasks.name[0]), "gemm");
  EXPECT_EQ(store.gpu_tasks.duration[0], DurationNs(50));
  const HostEventId launch = store.gpu_tasks.launch[0];
  ASSERT_TRUE(launch.valid());
  EXPECT_EQ(store.Text(store.host_events.name[launch.index()]), "cudaLaunchKernel");
  EXPECT_EQ(store.host_events.kind[1], HostEventKind::kDriverCall);
  EXPECT_EQ(store.Text(store.processes.pid[0]), "9");
  EXPECT_EQ(store.Text(store.threads.tid[0]), "11");
}

std::string Kernel(int start, int device, int correlation, int pid) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (" + std::to_string(start) + ", " +
         std::to_string(start + 5) + ", " + std::to_string(device) + ", 1, 7, " +
         std::to_string(correlation) + ", " + Global(pid, 0) + ", 1);";
}

std::string Call(int start, int correlation, int pid) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (" + std::to_string(start) + ", " +
         std::to_string(start + 2) + ", " + Global(pid, 11) + ", " + std::to_string(correlation) +
         ", 2);";
}

TEST(NsightReader, CallsOfAnotherProcessLaunchNothing) {
  const auto made = ReadMade(Kernel(100, 0, 4, 9) + Kernel(110, 1, 4, 8) + Kernel(120, 1, 5, 8) +
                             Call(10, 4, 9) + Call(20, 5, 8) + Call(30, 6, 9));
  ASSERT_TRUE(made->status.ok());
  const TraceStore& store = made->store;
  ASSERT_EQ(store.gpu_tasks.rows(), 3u);
  const auto start_of_launch = [&](std::size_t task) {
    const HostEventId launch = store.gpu_tasks.launch[task];
    return launch.valid() ? store.host_events.start[launch.index()].ns() : -1;
  };
  EXPECT_EQ(start_of_launch(0), 10);
  EXPECT_EQ(start_of_launch(1), -1) << "the call 4 is of process 9";
  EXPECT_EQ(start_of_launch(2), 20);
  EXPECT_EQ(store.gpu_tasks.correlation[0], 4);
  EXPECT_EQ(store.gpu_tasks.correlation[1] & 0xFFFFFFFF, 4);
}

TEST(NsightReader, TasksThatNameNoProcessJoinByIdAlone) {
  const std::string schema =
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, contextId, streamId,"
      "  correlationId, shortName);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start, end, globalTid, correlationId, nameId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 105, 0, 1, 7, 4, 'a'),"
      "  (110, 115, 1, 1, 7, 6, 'b');";
  const auto made = ReadBytes(MakeDatabase(schema + Call(10, 4, 9) + Call(20, 6, 8)));
  ASSERT_TRUE(made->status.ok());
  EXPECT_TRUE(made->store.gpu_tasks.launch[0].valid());
  EXPECT_TRUE(made->store.gpu_tasks.launch[1].valid());
}

TEST(NsightReader, ValuesOfAnotherTypeAreNotConverted) {
  const auto made = ReadMade(
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ('100', 150, 0, 1, 7, 4, 0, 1),"
      " (x'00ff', 150, 0, 1, 7, 4, 0, 1), (100, 'later', 'gpu', 1.5, NULL, 'x', 'y', 99),"
      " (9223372036854775807, 1, 0, 1, 7, 4, 0, 1), (100, 50, 0, 1, 7, 4, 0, 'by text');");
  ASSERT_TRUE(made->status.ok());
  const ImportLog& log = made->store.log;
  EXPECT_EQ(log.Count(ImportIssue::kBadTime), 3);
  EXPECT_EQ(log.Count(ImportIssue::kMissingDuration), 1);
  EXPECT_EQ(log.Count(ImportIssue::kNegativeDuration), 1);
  EXPECT_EQ(log.Count(ImportIssue::kMissingName), 1);
  ASSERT_EQ(made->store.gpu_tasks.rows(), 2u);
  EXPECT_EQ(made->store.metadata.events, 5);
}

TEST(NsightReader, KernelsWithoutTimesAreLost) {
  const auto made = ReadMade(Kernel(5'000'000, 0, 4, 9) +
                             "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 0, 0, 1, 7, 5, " +
                             Global(9, 0) + ", 1);");
  ASSERT_TRUE(made->status.ok());
  EXPECT_EQ(made->store.gpu_tasks.rows(), 1u);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kBadTime), 1);
}

TEST(NsightReader, DiagnosticsAreToldApart) {
  const auto made = ReadMade(
      Kernel(100, 0, 4, 9) +
      "CREATE TABLE DIAGNOSTIC_EVENT (severity, text);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (2, 'CPU IP/backtrace sampling was throttled.'),"
      " (3, '1200 GPU activities were lost.'), (2, 'Something else.'), (1, 'Begun.');");
  ASSERT_TRUE(made->status.ok());
  const ImportLog& log = made->store.log;
  EXPECT_EQ(log.Count(ImportIssue::kCollectionNote), 1);
  EXPECT_EQ(log.Count(ImportIssue::kDroppedRecords), 1200);
  EXPECT_EQ(log.Count(ImportIssue::kCollectionProblem), 1);
}

TEST(NsightReader, RangesWithoutAnEndGoOn) {
  const auto made = ReadMade("INSERT INTO NVTX_EVENTS VALUES (10, NULL, 59, 'open', " +
                             Global(1, 1) + ", 0), (20, 90, 59, 'whole', " + Global(1, 1) +
                             ", 0), (5, NULL, 75, 'a \"domain\"', " + Global(1, 0) +
                             ", 3), (30, 40, 59, 'inside', " + Global(1, 1) + ", 3);");
  ASSERT_TRUE(made->status.ok());
  const TraceStore& store = made->store;
  ASSERT_EQ(store.host_events.rows(), 3u);
  EXPECT_EQ(store.host_events.duration[0], DurationNs(80));
  EXPECT_EQ(store.log.Count(ImportIssue::kUnfinishedSpan), 1);
  EXPECT_EQ(store.Arg(store.host_events.args[2], "domain"), R"("a \"domain\"")");
}

TEST(NsightReader, StepsAreThoseOfTheBestWord) {
  const auto made = ReadMade(
      "INSERT INTO NVTX_EVENTS VALUES (0, 50, 59, 'step 4', 0, 0), (0, 20, 59, 'batch 0', 0, 0),"
      " (20, 50, 59, 'batch 1', 0, 0), (50, 90, 59, 'step 5', 0, 0);");
  ASSERT_TRUE(made->status.ok());
  ASSERT_EQ(made->store.steps.rows(), 2u);
  EXPECT_EQ(made->store.steps.index[0], 4);
  EXPECT_EQ(made->store.steps.index[1], 5);
}

TEST(NsightReader, OnlyTablesAreRead) {
  const auto made = ReadBytes(MakeDatabase(
      "CREATE TABLE a (start, end, text); INSERT INTO a VALUES (1, 2, 'x');"
      "CREATE VIEW NVTX_EVENTS AS SELECT * FROM a;"
      "CREATE TABLE OSRT_API (start, end GENERATED ALWAYS AS (abs(start)), globalTid, nameId);"
      "INSERT INTO OSRT_API (start) VALUES (1);"));
  ASSERT_TRUE(made->status.ok()) << made->status.message();
  EXPECT_EQ(made->store.host_events.rows(), 0u);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kDamagedTable),
            1);  // The table has no column `end`.
}

TEST(NsightReader, DatabasesOfSomethingElse) {
  EXPECT_THAT(std::string(ReadBytes(MakeDatabase("CREATE TABLE a (b);"))->status.message()),
              HasSubstr("not one of Nsight Systems or rocprofv3"));
  EXPECT_THAT(
      std::string(ReadBytes(MakeDatabase("CREATE TABLE rocpd_event (b);"))->status.message()),
      HasSubstr("rocmProfileData"));
  EXPECT_THAT(
      std::string(ReadBytes(MakeDatabase("CREATE TABLE StringIds (id, value);"))->status.message()),
      HasSubstr("without CUDA or NVTX events"));
  EXPECT_EQ(ReadBytes(std::string("SQLite format 3\0", 16) + std::string(500, '\0'))->status.code(),
            StatusCode::kBadInput);
}

TEST(NamedColumns, AreFoundByNameAlsoBehindOthers) {
  constexpr sqlite::NamedColumns kFirst{"start", "end"};
  constexpr auto kAll = kFirst + sqlite::NamedColumns{"bytes"};
  static_assert(kFirst["end"] == 1 && kAll["end"] == 1 && kAll["bytes"] == 2);
  EXPECT_EQ(kAll.names.size(), 3u);
}

TEST(NsightReader, TextsBeyondTheLimitEndTheirTable) {
  const auto made = ReadBytes(
      MakeDatabase(std::string(kSchema) +
                   "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'small', 0, 0),"
                   " (3, 4, 59, printf('%.*c', 100000, 'x'), 0, 0), (5, 6, 59, 'after', 0, 0);"),
      1 << 16);
  ASSERT_TRUE(made->status.ok());
  EXPECT_EQ(made->store.host_events.rows(), 1u);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kDamagedTable), 1);
}

}  // namespace nsight_reader_test
}  // namespace headroom::nsight
