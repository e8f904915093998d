#include "predict/kernel_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "predict/test_devices.h"

namespace headroom {
namespace kernel_table_test {

constexpr const char* kTable =
    "op,b,m,k,n,rows,cols,cin,cout,ksize,insize,stride,pad,device,latency_ms\n"
    "bmm,96,512,64,512,,,,,,,,,V100,0.9\n"
    "linear,,4096,1024,4096,,,,,,,,,V100,2.6\n"
    "add,,,,,32768,1024,,,,,,,V100,0.5\n"
    "softmax,,,,,32768,1024,,,,,,,T4,0.35\n"
    "conv,8,,,,,,256,256,3,56,1,1,V100,1.3\n";

std::vector<MeasuredOperator> Operators(const std::string& text = kTable) {
  const Result<CsvTable> table = ParseCsv(text, "t.csv");
  EXPECT_TRUE(table.ok()) << table.status().message();
  Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table.value(), [](const std::string& name) { return name == "V100"; });
  EXPECT_TRUE(operators.ok()) << operators.status().message();
  return std::move(operators).value();
}

TEST(KernelTable, PredictsWhatWasMeasuredOnTheSource) {
  const auto predictions =
      PredictOperators(Operators(), RatesOfGpu("V100"), RatesOfGpu("T4"), ShippedConstants());
  ASSERT_EQ(predictions.size(), 5u);
  for (const std::size_t row : {0u, 1u, 2u, 4u}) {
    ASSERT_TRUE(predictions[row].has_value()) << row;
    EXPECT_GT(predictions[row]->mid, 1.2 * Operators()[row].measured_ms) << row;
    EXPECT_LT(predictions[row]->low, predictions[row]->mid);
    EXPECT_GT(predictions[row]->high, predictions[row]->mid);
  }
  EXPECT_FALSE(predictions[3].has_value()) << "measured on another GPU";
}

TEST(KernelTable, ToTheSameGpuIsWhatWasMeasured) {
  const auto predictions =
      PredictOperators(Operators(), RatesOfGpu("V100"), RatesOfGpu("V100"), ShippedConstants());
  EXPECT_EQ(predictions[1]->mid, 2.6);
  EXPECT_EQ(predictions[1]->high, 2.6);
}

TEST(KernelTable, TheResidualOfAProfileIsCarriedOverByItsWeight) {
  std::vector<MeasuredOperator> operators = Operators();
  const DeviceRates source = RatesOfGpu("V100"), target = RatesOfGpu("A100-80");
  KernelConstants constants = ShippedConstants();
  const auto ratio_at = [&](double weight) {
    constants.residual_other.fill(weight);
    operators[1].measured_ms = 2.6;
    const double once = PredictOperators(operators, source, target, constants)[1]->mid;
    operators[1].measured_ms = 5.2;
    return PredictOperators(operators, source, target, constants)[1]->mid / once;
  };
  EXPECT_NEAR(ratio_at(0), 1, 1e-9);
  EXPECT_NEAR(ratio_at(0.5), std::sqrt(2), 1e-9);
  EXPECT_NEAR(ratio_at(1), 2, 1e-9);
}

TEST(KernelTable, NothingIsShorterThanTheShortestCall) {
  const auto predictions =
      PredictOperators(Operators("op,rows,cols,latency_ms\nadd,8,8,0.03\nadd,16,8,0.031\n"),
                       RatesOfGpu("V100"), RatesOfGpu("H200"), ShippedConstants());
  for (const auto& prediction : predictions) EXPECT_EQ(prediction->mid, 0.03);
}

TEST(KernelTable, SaysWhichCellIsWrong) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c :
       {Case{"op,rows\nadd,1\n", "no column 'latency_ms'"},
        Case{"op,rows,cols,latency_ms\nadd,0,8,1\n", "line 2: rows is '0'"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,1\nadd,8,x,1\n", "line 3: cols is 'x'"},
        Case{"op,rows,cols,latency_ms\nadd,8,,1\n", "cols is ''"},
        Case{"op,rows,cols,latency_ms\nadd,1e30,8,1\n", "rows is '1e30'"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,0\n", "latency_ms must be above 0"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,-1\n", "latency_ms"},
        Case{"op,rows,cols,latency_ms\nfly,8,8,1\n", "'fly' is not known"},
        Case{"op,rows,cols,dtype,latency_ms\nadd,8,8,int3,1\n", "dtype 'int3'"},
        Case{"op,b,cin,cout,ksize,insize,stride,pad,latency_ms\nconv,1,3,8,9,4,1,0,1\n",
             "larger than the padded image"}}) {
    const Result<CsvTable> table = ParseCsv(c.text, "t.csv");
    ASSERT_TRUE(table.ok());
    const Result<std::vector<MeasuredOperator>> operators =
        ReadMeasuredOperators(table.value(), [](const std::string&) { return true; });
    ASSERT_FALSE(operators.ok()) << c.text;
    EXPECT_EQ(operators.status().code(), StatusCode::kBadInput);
    EXPECT_NE(operators.status().message().find(c.says), std::string::npos)
        << operators.status().message();
  }
}

}  // namespace kernel_table_test
}  // namespace headroom
