// Tests damaged files. tests/integration/test_rocpd.py compares whole databases.
#include "ingest/rocprof/rocpd_reader.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <string>

namespace headroom::rocprof {
namespace rocpd_reader_test {

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
    "CREATE TABLE rocpd_string_1 (id INTEGER PRIMARY KEY, string TEXT);"
    "INSERT INTO rocpd_string_1 VALUES (1, 'HIP_RUNTIME_API'), (2, 'hipLaunchKernel'),"
    "  (3, 'KERNEL_DISPATCH'), (4, 'MARKER_CORE_RANGE_API'), (5, 'roctxThreadRangeA');"
    "CREATE TABLE rocpd_info_process_1 (id INTEGER PRIMARY KEY, pid, command);"
    "INSERT INTO rocpd_info_process_1 VALUES (7, 70, '/bin/train --secret'), (8, 80, NULL);"
    "CREATE TABLE rocpd_info_thread_1 (id INTEGER PRIMARY KEY, pid, tid);"
    "INSERT INTO rocpd_info_thread_1 VALUES (1, 7, 71), (2, 8, 81);"
    "CREATE TABLE rocpd_info_agent_1 (id INTEGER PRIMARY KEY, pid, type, logical_index, extdata);"
    "INSERT INTO rocpd_info_agent_1 VALUES (1, 7, 'GPU', 2, '{\"cu_count\": 304}');"
    "CREATE TABLE rocpd_info_kernel_symbol_1 (id INTEGER PRIMARY KEY, pid, display_name);"
    "INSERT INTO rocpd_info_kernel_symbol_1 VALUES (1, 7, 'gemm'), (2, 8, 'gemm');"
    "CREATE TABLE rocpd_event_1 (id INTEGER PRIMARY KEY, category_id, stack_id, extdata);"
    "INSERT INTO rocpd_event_1 VALUES (1, 1, 5, '{}'), (2, 3, 5, '{}'),"
    "  (3, 4, 6, '{\"message\": \"step 0\"}');"
    "CREATE TABLE rocpd_region_1 (id INTEGER PRIMARY KEY, pid, tid, start, end, name_id, event_id);"
    "CREATE TABLE rocpd_kernel_dispatch_1 (id INTEGER PRIMARY KEY, pid, tid, agent_id, kernel_id,"
    "  queue_id, stream_id, start, end, event_id);";

struct Reading {
  Status status;
  TraceStore store;
};

/// Returns null if the bytes are not a database of rocprofv3.
std::unique_ptr<Reading> ReadBytes(const std::string& bytes) {
  const Result<sqlite::Database> database = sqlite::Database::OpenBytes(bytes, "made", 1 << 20);
  if (!database.ok() || !IsRocpd(database.value())) return nullptr;
  auto reading = std::make_unique<Reading>();
  reading->status = ReadRocpd(database.value(), "made", {}, reading->store);
  return reading;
}

std::unique_ptr<Reading> ReadMade(const std::string& sql) {
  return ReadBytes(MakeDatabase(kSchema + sql));
}

constexpr char kRows[] =
    "INSERT INTO rocpd_region_1 VALUES (1, 7, 1, 10, 20, 2, 1), (2, 7, 1, 5, 90, 5, 3);"
    "INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 7, 1, 1, 1, 3, 4, 30, 80, 2);";

TEST(RocpdReader, JoinsATaskWithItsCall) {
  const auto made = ReadMade(kRows);
  ASSERT_NE(made, nullptr);
  ASSERT_TRUE(made->status.ok());
  const TraceStore& store = made->store;
  ASSERT_EQ(store.gpu_tasks.rows(), 1u);
  EXPECT_EQ(store.Text(store.gpu_tasks.name[0]), "gemm");
  EXPECT_EQ(store.gpu_tasks.duration[0], DurationNs(50));
  const HostEventId launch = store.gpu_tasks.launch[0];
  ASSERT_TRUE(launch.valid());
  EXPECT_EQ(store.Text(store.host_events.name[launch.index()]), "hipLaunchKernel");
  EXPECT_EQ(store.Text(store.host_events.name[0]), "step 0");
  EXPECT_EQ(store.Text(store.processes.pid[0]), "70");
  EXPECT_EQ(store.Text(store.processes.name[0]), "train");
  EXPECT_EQ(store.Text(store.threads.tid[0]), "71");
  EXPECT_EQ(store.streams.number[0], 4);
  EXPECT_EQ(store.devices.ordinal[0], 2);
  EXPECT_EQ(store.devices.sm_count[0], 304);
}

TEST(RocpdReader, CountersAreOfTheFirstDispatchOfTheirEvent) {
  const auto made = ReadMade(
      "CREATE TABLE rocpd_info_pmc_1 (id INTEGER PRIMARY KEY, pid, name, symbol);"
      "INSERT INTO rocpd_info_pmc_1 VALUES (1, 7, 'MfmaUtil', 'MfmaUtil');"
      "CREATE TABLE rocpd_pmc_event_1 (id INTEGER PRIMARY KEY, event_id, pmc_id, value);"
      // Two parts, a missing value, an unknown counter, and an event without a dispatch.
      "INSERT INTO rocpd_pmc_event_1 VALUES (1, 2, 1, 20.5), (2, 2, 1, 1), (3, 2, 1, NULL),"
      "  (4, 2, 9, 7), (5, 1, 1, 7), (6, NULL, 1, 7);"
      "INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 7, 1, 1, 1, 3, 4, 30, 80, 2),"
      "  (2, 7, 1, 1, 1, 3, 4, 90, 99, 2);");
  ASSERT_NE(made, nullptr);
  const auto& counters = made->store.counters;
  ASSERT_EQ(counters.rows(), 4u);
  EXPECT_EQ(counters.value[1], 21.5);
  EXPECT_EQ(counters.time[2].ns(), 80);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kUnreadData), 4);
}

TEST(RocpdReader, ACallOfAnotherProcessIsNoLaunch) {
  const auto made = ReadMade(
      "INSERT INTO rocpd_region_1 VALUES (1, 7, 1, 10, 20, 2, 1);"
      "INSERT INTO rocpd_kernel_dispatch_1 VALUES (1, 8, 2, 1, 2, 3, 4, 30, 80, 2);");
  ASSERT_EQ(made->store.gpu_tasks.rows(), 1u);
  EXPECT_FALSE(made->store.gpu_tasks.launch[0].valid());
}

TEST(RocpdReader, DatabasesOfSomethingElse) {
  EXPECT_EQ(ReadBytes(MakeDatabase("CREATE TABLE rocpd_string (id, string);")), nullptr);
  EXPECT_EQ(ReadBytes(MakeDatabase("CREATE TABLE rocpd_regions (id);")), nullptr);
  // A view is not evaluated, regardless of its name.
  EXPECT_EQ(ReadBytes(MakeDatabase("CREATE VIEW rocpd_region AS SELECT 1 AS start;")), nullptr);
}

TEST(RocpdReader, ColumnsThatAreNotThere) {
  const auto made = ReadBytes(MakeDatabase(
      "CREATE TABLE rocpd_region (id, start);"
      "INSERT INTO rocpd_region VALUES (1, 5);"
      "CREATE TABLE rocpd_kernel_dispatch (start, \"end\", kernel_id);"
      "INSERT INTO rocpd_kernel_dispatch VALUES (10, 20, 3), ('x', 20, 3), (10, -1, NULL);"));
  ASSERT_NE(made, nullptr);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kDamagedTable),
            1);  // The table has no column `end`.
  EXPECT_EQ(made->store.log.Count(ImportIssue::kBadTime), 1);
  EXPECT_EQ(made->store.log.Count(ImportIssue::kMissingDuration), 1);
  ASSERT_EQ(made->store.gpu_tasks.rows(), 2u);
  EXPECT_EQ(made->store.Text(made->store.gpu_tasks.name[0]), "(kernel 3)");
}

TEST(RocpdReader, AnyByteMayBeWrong) {
  const std::string whole = MakeDatabase(std::string(kSchema) + kRows);
  for (std::size_t at = 0; at < whole.size(); at += 97) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    for (const std::string& bytes : {damaged, whole.substr(0, at)}) {
      const auto made = ReadBytes(bytes);
      EXPECT_TRUE(made == nullptr || made->status.ok()) << at;
    }
  }
}

}  // namespace rocpd_reader_test
}  // namespace headroom::rocprof
