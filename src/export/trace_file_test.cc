#include "export/trace_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/testing/folder.h"
#include "ingest/open_trace.h"

namespace headroom {
namespace trace_file_test {

using TraceFileTest = TestFolder;

TEST_F(TraceFileTest, IsThereOnceItIsWhole) {
  Result<TraceFile> file = TraceFile::Create(Path("t.json"), R"("schemaVersion":1)");
  ASSERT_TRUE(file.ok());
  file.value().Add(R"({"ph":"M"})");
  file.value().Add(R"({"ph":"X"})");
  EXPECT_FALSE(std::filesystem::exists(Path("t.json")));
  ASSERT_TRUE(file.value().Commit(R"("end":2)").ok());
  std::ifstream in(Path("t.json"));
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["schemaVersion"], 1);
  EXPECT_EQ(json["traceEvents"].size(), 2u);
  EXPECT_EQ(json["end"], 2);
}

TEST_F(TraceFileTest, CanBeReadBeforeItHasItsName) {
  Result<TraceFile> file = TraceFile::Create(Path("t.json"), "");
  ASSERT_TRUE(file.ok());
  file.value().Add(R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":5})");
  Result<AtomicFile> whole = std::move(file).value().Finish("");
  ASSERT_TRUE(whole.ok()) << whole.status().message();
  EXPECT_FALSE(std::filesystem::exists(Path("t.json")));
  const auto store = OpenTrace(whole.value().temporary_path(), OpenOptions());
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store.value()->host_events.rows(), 1u);
  ASSERT_TRUE(whole.value().Commit().ok());
  EXPECT_TRUE(std::filesystem::exists(Path("t.json")));
}

TEST_F(TraceFileTest, LeavesNothingBehindWhenItIsNotCommitted) {
  { ASSERT_TRUE(TraceFile::Create(Path("t.json"), "").ok()); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(TraceFileTest, IsOneCompressedMemberHoweverManyPieces) {
  Result<TraceFile> file = TraceFile::Create(Path("t.json.gz"), "");
  ASSERT_TRUE(file.ok());
  constexpr int kEvents = 60'000;  // Enough for several pieces of a megabyte.
  for (int i = 0; i < kEvents; ++i)
    file.value().Add(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)" +
                     std::to_string(10 * i) + R"(,"dur":5})");
  ASSERT_TRUE(file.value().Commit("").ok());
  const Result<std::unique_ptr<TraceStore>> store = OpenTrace(Path("t.json.gz"), OpenOptions());
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ(store.value()->host_events.rows(), static_cast<std::size_t>(kEvents));
}

TEST_F(TraceFileTest, SaysWhereItCannotWrite) {
  const Result<TraceFile> file = TraceFile::Create(Path("missing/t.json"), "");
  ASSERT_FALSE(file.ok());
  EXPECT_NE(file.status().message().find("missing/t.json"), std::string::npos);
}

}  // namespace trace_file_test
}  // namespace headroom
