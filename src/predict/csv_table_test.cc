#include "predict/csv_table.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace csv_table_test {

TEST(CsvTable, ReadsQuotesAndEitherLineEnd) {
  const Result<CsvTable> table =
      ParseCsv("op,kernel\r\nadd,\"f<4, \"\"x\"\">\"\r\nmul,\" y \"\n\nrelu,", "t.csv");
  ASSERT_TRUE(table.ok()) << table.status().message();
  ASSERT_EQ(table.value().rows.size(), 3u);
  EXPECT_EQ(table.value().rows[0][1], "f<4, \"x\">");
  EXPECT_EQ(table.value().rows[1][1], " y ");
  EXPECT_EQ(table.value().rows[2][1], "");
  EXPECT_EQ(table.value().Column("kernel"), 1u);
  EXPECT_FALSE(table.value().Column("Kernel").has_value());
  EXPECT_EQ(table.value().Place(0), "t.csv, line 2");
  EXPECT_EQ(table.value().Place(2), "t.csv, line 5");
}

TEST(CsvTable, SaysWhereItIsNone) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c :
       {Case{"", "no header"}, Case{"a,b\n1,2\n3\n", "line 3: 1 cells"},
        Case{"a,b\n1,2,3\n", "line 2: 3 cells"}, Case{"a,b,a\n", "'a' occurs twice"},
        Case{"a,b\n1,\"2\n", "not closed"}, Case{"a\n\"1\"2\n", "follows a closing quote"}}) {
    const Result<CsvTable> table = ParseCsv(c.text, "t.csv");
    ASSERT_FALSE(table.ok()) << c.text;
    EXPECT_EQ(table.status().code(), StatusCode::kBadInput);
    EXPECT_NE(table.status().message().find("t.csv"), std::string::npos);
    EXPECT_NE(table.status().message().find(c.says), std::string::npos) << table.status().message();
  }
}

RC_GTEST_PROP(CsvTableProperty, WhatIsWrittenIsReadBack, ()) {
  const auto cell = rc::gen::map(
      rc::gen::container<std::string>(rc::gen::element('a', ',', '"', '\n', '\r', ' ', '\'', '(')),
      [](std::string text) { return "x" + std::move(text); });
  const auto width = *rc::gen::inRange<std::size_t>(1, 5);
  const auto rows = *rc::gen::container<std::vector<std::vector<std::string>>>(
      rc::gen::container<std::vector<std::string>>(width, cell));
  std::string text;
  std::vector<std::string> header;
  for (std::size_t i = 0; i < width; ++i) header.push_back("c" + std::to_string(i));
  text += CsvLine(header);
  for (const auto& row : rows) text += CsvLine(row);
  const Result<CsvTable> table = ParseCsv(text, "t.csv");
  RC_ASSERT(table.ok());
  RC_ASSERT(table.value().rows == rows);
}

}  // namespace csv_table_test
}  // namespace headroom
