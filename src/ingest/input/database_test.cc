#include "ingest/input/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <string>
#include <utility>

namespace headroom::sqlite {
namespace database_test {

constexpr std::size_t kPage = 512;
constexpr std::int64_t kMaxText = 1 << 16;

/// Returns the bytes of a database with pages of kPage bytes. The first table begins on page 2.
std::string DatabaseOf(const std::string& sql) {
  sqlite3* db = nullptr;
  EXPECT_EQ(sqlite3_open(":memory:", &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, ("PRAGMA page_size = 512; " + sql).c_str(), nullptr, nullptr, nullptr),
            SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_int64 size = 0;
  unsigned char* const bytes = sqlite3_serialize(db, "main", &size, 0);
  std::string text(static_cast<std::size_t>(size), '\0');
  std::memcpy(text.data(), bytes, text.size());
  sqlite3_free(bytes);
  sqlite3_close(db);
  return text;
}

/// Returns the number of rows before the end of the table, and why they end early.
std::pair<int, std::string> RowsOf(const Database& database, const DatabaseTable& table) {
  constexpr std::string_view kColumns[] = {"value"};
  RowScan scan = database.Scan(table, kColumns);
  int rows = 0;
  while (scan.Next()) ++rows;
  return {rows, scan.damage()};
}

TEST(Database, ADamagedPageIsDamageEachTimeItIsRead) {
  std::string bytes =
      DatabaseOf("CREATE TABLE numbers (value); INSERT INTO numbers VALUES (1), (2), (3);");
  // A table page has a header of 8 bytes, then the position of each row. The second row begins in
  // the last byte of the page and so exceeds it.
  constexpr std::size_t kSecondRow = kPage + 8 + 2;
  bytes[kSecondRow] = static_cast<char>((kPage - 1) >> 8);
  bytes[kSecondRow + 1] = static_cast<char>((kPage - 1) & 0xff);
  const Result<Database> database = Database::OpenBytes(bytes, "x", kMaxText);
  ASSERT_TRUE(database.ok());
  const DatabaseTable* const table = database.value().Find("numbers");
  ASSERT_NE(table, nullptr);
  const auto first = RowsOf(database.value(), *table);
  EXPECT_EQ(first.first, 0);
  EXPECT_NE(first.second, "");
  EXPECT_EQ(RowsOf(database.value(), *table), first);
}

TEST(Database, AHealthyTableCanBeReadAgain) {
  const std::string bytes =
      DatabaseOf("CREATE TABLE numbers (value); INSERT INTO numbers VALUES (1), (2), (3);");
  const Result<Database> database = Database::OpenBytes(bytes, "x", kMaxText);
  ASSERT_TRUE(database.ok());
  const DatabaseTable* const table = database.value().Find("NUMBERS");
  ASSERT_NE(table, nullptr);
  for (int time = 0; time < 2; ++time)
    EXPECT_EQ(RowsOf(database.value(), *table), std::make_pair(3, std::string()));
}

}  // namespace database_test
}  // namespace headroom::sqlite
