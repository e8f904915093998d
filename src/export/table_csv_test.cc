#include "export/table_csv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "store/store_builder.h"

namespace headroom {
namespace table_csv_test {

std::string Csv(const TraceStore& store, std::string_view table) {
  std::string text;
  WriteTableCsv(store, table, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST(TableCsv, ARowEndsAsTheRfcSaysAndIdsReferToRows) {
  StoreBuilder b;
  b.Counter("load", "cpu", "%", 3, 0.5);
  b.Op("plain", 1, 0, 10);
  EXPECT_EQ(Csv(*b.Build(), "counters"),
            "id,time_ns,name,series,unit,thread,value\r\n0,3000,load,cpu,%,1,0.5\r\n");
  EXPECT_EQ(Csv(*b.Build(), "steps"), "id,index,start_ns,duration_ns,thread,event\r\n");
}

TEST(TableCsv, TextsAreQuotedAndNoSpreadsheetRunsThem) {
  StoreBuilder b;
  b.Instant("c", "a,\"b\"", 1);
  b.Instant("c", "=1+1", 2);
  const std::string text = Csv(*b.Build(), "instants");
  EXPECT_NE(text.find("\"a,\"\"b\"\"\""), std::string::npos) << text;
  EXPECT_NE(text.find(",'=1+1,"), std::string::npos) << text;
}

TEST(TableCsv, WhatIsNotRecordedIsEmpty) {
  StoreBuilder b;
  b.Kernel("k", 7, 0, 1);
  const std::string text = Csv(*b.Build(), "gpu_tasks");
  const std::string row = text.substr(text.find("\r\n") + 2);
  EXPECT_TRUE(row.starts_with("0,0,1000,k,")) << row;
  EXPECT_TRUE(row.ends_with(",,,\r\n")) << row;  // Bytes, arguments and launch are empty.
}

TEST(TableCsv, EveryTableHasAHeader) {
  const std::unique_ptr<TraceStore> store = StoreBuilder().Build();
  EXPECT_EQ(TableNames().size(), 13u);
  for (const std::string_view table : TableNames())
    EXPECT_TRUE(Csv(*store, table).starts_with("id,")) << table;
}

TEST(TableCsv, LongTablesComeInPieces) {
  StoreBuilder b;
  for (int i = 0; i < 60'000; ++i) b.Instant("category", "name", i);
  std::size_t pieces = 0, rows = 0;
  WriteTableCsv(*b.Build(), "instants", [&](std::string_view piece) {
    ++pieces;
    EXPECT_TRUE(piece.empty() || piece.ends_with("\r\n"));
    rows += static_cast<std::size_t>(std::count(piece.begin(), piece.end(), '\n'));
  });
  EXPECT_GT(pieces, 1u);
  EXPECT_EQ(rows, 60'001u);
}

}  // namespace table_csv_test
}  // namespace headroom
