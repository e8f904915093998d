#include "answers/report/csv.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "answers/report/json.h"
#include "answers/report/report_fixture.h"
#include "ranks/test_ranks.h"

namespace headroom {
namespace csv_report_test {

/// Parses CSV (RFC 4180).
std::vector<std::vector<std::string>> Parse(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1, std::vector<std::string>(1));
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = rows.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field.push_back(text[i]);
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field.push_back(text[++i]);
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == ',') {
      rows.back().emplace_back();
    } else if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') {
      ++i;
      rows.emplace_back(1);
    } else {
      field.push_back(text[i]);
    }
  }
  rows.pop_back();  // The last line also ends with a newline.
  return rows;
}

/// A job of two ranks, one of which is late.
const JobRanks& TwoRanks() {
  static const JobRanks job = [] {
    RankBuilder b(2);
    b.Step(0, 0, 1000).AllReduce({100, 200}, 300).AllReduce({400, 500}, 600);
    b.AllReduce({700, 800}, 900);
    return AnalyzeJobRanks(b.ranks());
  }();
  return job;
}

std::map<std::string, std::vector<std::vector<std::string>>> Tables(const TraceReport& report) {
  std::map<std::string, std::vector<std::vector<std::string>>> tables;
  ReportOptions options;
  options.ranks = &TwoRanks();
  for (const NamedFile& file : RenderCsv(std::vector{report}, options))
    tables[file.name] = Parse(file.content);
  return tables;
}

TEST(RenderCsv, EveryRowHasTheFieldsOfItsHeader) {
  TraceReport report = DemoReport();
  report.kernels[0].name = "a,\"b\"\r\nc";
  report.findings[0].title = "=HYPERLINK(1)";
  const auto tables = Tables(report);
  EXPECT_EQ(tables.size(), 19u);
  for (const auto& [name, rows] : tables) {
    ASSERT_GE(rows.size(), 2u) << name;
    for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size()) << name;
  }
  EXPECT_EQ(tables.at("kernels.csv")[1][1], "a,\"b\"\r\nc");
  EXPECT_EQ(tables.at("findings.csv")[1][2], "'=HYPERLINK(1)");
  EXPECT_EQ(tables.at("steps.csv")[1][3], "73.9");
  EXPECT_EQ(tables.at("waits.csv")[2][2], "0.3");
}

TEST(RenderCsv, HeadersAreTheKeysOfTheJsonReport) {
  ReportOptions options;
  options.ranks = &TwoRanks();
  const auto json = nlohmann::json::parse(RenderJson(std::vector{DemoReport()}, options));
  for (const auto& [name, rows] : Tables(DemoReport())) {
    const std::string list = name.substr(0, name.find('.'));
    std::set<std::string> keys;
    const auto& json_rows = list == "steps"    ? json["steps"]["list"]
                            : list == "memory" ? json["memory"]["devices"][0]["holders"]
                            : json["job_ranks"].contains(list) ? json["job_ranks"][list]
                                                               : json[list];
    for (const auto& [key, value] : json_rows[0].items()) keys.insert(key);
    if (list == "findings") keys.insert("rank");  // Only a report of several files has this key.
    if (list == "memory")
      keys.insert({"rank", "device", "process"});  // Keys of the entry that holds the list.
    EXPECT_EQ(std::set<std::string>(rows[0].begin(), rows[0].end()), keys) << name;
  }
}

TEST(RenderCsv, MissingIsEmpty) {
  const auto tables = Tables(BareReport());
  EXPECT_EQ(tables.at("steps.csv").size(), 1u) << "only the header";
  const std::vector<std::string>& row = tables.at("operators.csv")[1];
  EXPECT_EQ(row[0], "") << "rank";
  EXPECT_EQ(row[3], "") << "total_us";
  EXPECT_EQ(row[10], "0.001") << "self_host_us";
}

}  // namespace csv_report_test
}  // namespace headroom
