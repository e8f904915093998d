#include "answers/predict/operator_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/test_devices.h"

namespace headroom {
namespace operator_table_test {

constexpr const char* kHead = "op,b,m,k,n,rows,cols,note,device,latency_ms\n";
constexpr const char* kBmm = "bmm,96,512,64,512,,,\"a, b\",V100,0.9\n";
constexpr const char* kAdd = "add,,,,,32768,1024,,V100,0.5\n";
constexpr const char* kElsewhere = "add,,,,,32768,1024,,T4,0.9\n";

Result<PredictedTable> Predict(const std::string& text, const std::string& to = "T4") {
  const auto models = GpuModels::Load({}, std::nullopt);
  EXPECT_TRUE(models.ok()) << models.status().message();
  const auto source = models.value().RatesNamed("V100"), target = models.value().RatesNamed(to);
  EXPECT_TRUE(source.ok() && target.ok());
  const Result<CsvTable> table = ParseCsv(text, "t.csv");
  EXPECT_TRUE(table.ok()) << table.status().message();
  return PredictOperatorTable(table.value(), "t.csv", source.value(), target.value(),
                              models.value());
}

CsvTable TableOf(const std::string& csv) { return ParseCsv(csv, "out.csv").value(); }

double Number(const CsvTable& table, std::size_t row, const char* column) {
  return std::stod(table.rows[row][*table.Column(column)]);
}

TEST(PredictOperatorTable, KeepsTheTableAndAddsItsColumns) {
  const auto predicted = Predict(std::string(kHead) + kBmm + kAdd);
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  const CsvTable table = TableOf(predicted.value().csv);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][*table.Column("note")], "a, b");
  for (std::size_t row = 0; row < 2; ++row) {
    const double mid = Number(table, row, "predicted_ms");
    EXPECT_GT(mid, Number(table, row, "latency_ms")) << "a T4 is slower";
    EXPECT_LT(Number(table, row, "predicted_low_ms"), mid);
    EXPECT_GT(Number(table, row, "predicted_high_ms"), mid);
  }
}

TEST(PredictOperatorTable, OnTheGpuItselfIsWhatWasMeasured) {
  const auto predicted = Predict(std::string(kHead) + kBmm, "V100");
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  const CsvTable table = TableOf(predicted.value().csv);
  for (const char* column : {"predicted_ms", "predicted_low_ms", "predicted_high_ms"})
    EXPECT_DOUBLE_EQ(Number(table, 0, column), 0.9) << column;
}

TEST(PredictOperatorTable, RowsOfOtherGpusStayEmptyAndAreToldOnce) {
  const auto predicted = Predict(std::string(kHead) + kElsewhere + kBmm + kElsewhere);
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  const CsvTable table = TableOf(predicted.value().csv);
  for (const std::size_t row : {0u, 2u}) EXPECT_EQ(table.rows[row].back(), "") << row;
  EXPECT_NE(table.rows[1].back(), "");
  const std::vector<std::string>& remarks = predicted.value().remarks;
  EXPECT_EQ(
      std::count_if(remarks.begin(), remarks.end(),
                    [](const auto& remark) {
                      return remark.starts_with("2 rows without a prediction: not measured on ");
                    }),
      1);
}

TEST(PredictOperatorTable, AnImpossibleTimeIsNamedByItsLine) {
  const auto predicted =
      Predict(std::string(kHead) + kBmm + "bmm,96,512,64,512,,,,V100,0.000001\n");
  ASSERT_TRUE(predicted.ok()) << predicted.status().message();
  const std::vector<std::string>& remarks = predicted.value().remarks;
  EXPECT_TRUE(std::any_of(remarks.begin(), remarks.end(), [](const auto& remark) {
    return remark.starts_with("t.csv, line 3: the time in the row is shorter than ");
  }));
}

TEST(PredictOperatorTable, RefusesWhatHasNoAnswer) {
  const struct {
    std::string text;
    StatusCode code;
    const char* words;
  } kCases[] = {
      {kHead, StatusCode::kNoAnswer, "t.csv: has a header but no row"},
      {std::string(kHead) + kElsewhere, StatusCode::kNoAnswer, "t.csv: no row can be predicted"},
      {"op,rows,cols,device,latency_ms,predicted_ms\nadd,32768,1024,V100,0.5,1\n",
       StatusCode::kBadInput, "t.csv: already has a column predicted_ms"}};
  for (const auto& c : kCases) {
    const auto predicted = Predict(c.text);
    ASSERT_FALSE(predicted.ok()) << c.words;
    EXPECT_EQ(predicted.status().code(), c.code) << c.words;
    EXPECT_EQ(predicted.status().message().rfind(c.words, 0), 0u) << predicted.status().message();
  }
}

}  // namespace operator_table_test
}  // namespace headroom
