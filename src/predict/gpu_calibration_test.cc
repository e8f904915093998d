#include "predict/gpu_calibration.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>
#include <string>

#include "base/testing/damage.h"
#include "kernels/kernel_model.h"
#include "kernels/test_devices.h"
#include "predict/kernel_table.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace gpu_calibration_test {

CsvTable Table(const std::string& text) {
  Result<CsvTable> table = ParseCsv(text, "here.csv");
  EXPECT_TRUE(table.ok()) << table.status().message();
  return std::move(table).value();
}

/// A linear layer in the table's format.
const KernelWork kProduct = {
    .shape = ProductWork{.m = 4096, .k = 1024, .n = 4096, .second_along_k = true}};

/// Returns a table in which the product takes `factor` times the modelled time.
std::string Slower(double factor, const DeviceRates& rates) {
  const double ms = *KernelNs(kProduct, rates, ShippedConstants()) / 1e6 * factor;
  return "device,op,m,k,n,timing,latency_ms\nV100,linear,4096,1024,4096,stream," +
         std::to_string(ms) + "\n";
}

TEST(GpuCalibration, PredictionsBecomeWhatWasMeasured) {
  DeviceRates rates = RatesOfGpu("V100");
  const double before = *KernelNs(kProduct, rates, ShippedConstants());
  const auto correction =
      ReadCorrection(Table(Slower(1.5, rates)), "V100", rates, ShippedConstants());
  ASSERT_TRUE(correction.ok()) << correction.status().message();
  const OperatorList list{.name = "", .works = {{.work = kProduct}}, .operators = 1};
  const PredictedMs alone =
      EstimateStep(list, rates, ShippedConstants(), HostModel::None()).value().step;
  rates.correction = correction.value();
  EXPECT_NEAR(*KernelNs(kProduct, rates, ShippedConstants()) / before, 1.5, 1e-3);
  const PredictedMs step =
      EstimateStep(list, rates, ShippedConstants(), HostModel::None()).value().step;
  EXPECT_NEAR(step.mid / alone.mid, 1.5, 1e-3);
  // A profile of another GPU shows the same errors, so it has little weight here.
  const DeviceRates source = RatesOfGpu("A100-80");
  const double evidence = CorrectionOf(kProduct, rates).evidence;
  EXPECT_GT(evidence, 0.7);
  EXPECT_LT(ResidualWeight(WorkClass::kProduct, source, rates, evidence, ShippedConstants()), 0.11);
}

TEST(GpuCalibration, ACallHasItsHostsTimeInItAndOneOfManyHasNot) {
  const DeviceRates rates = RatesOfGpu("V100");
  const auto of = [&](const std::string& timing) {
    const auto correction = ReadCorrection(
        Table("device,op,rows,cols,timing,latency_ms\nV100,add,8192,1024," + timing + ",0.2\n"),
        "V100", rates, ShippedConstants());
    EXPECT_TRUE(correction.ok()) << correction.status().message();
    return correction.value()->At({.shape = PointwiseWork{.bytes = 8192.0 * 1024 * 12}}).log_factor;
  };
  EXPECT_GT(of("stream"), of("call"));
  EXPECT_EQ(of("call"), of(""));
}

TEST(GpuCalibration, SaysWhatIsWrongWithATable) {
  const DeviceRates rates = RatesOfGpu("V100");
  const auto why = [&](const std::string& text) {
    return std::string(
        ReadCorrection(Table(text), "V100", rates, ShippedConstants()).status().message());
  };
  EXPECT_NE(DevicesOf(Table("op,latency_ms\nadd,1\n")).status().message().find("'device'"),
            std::string::npos);
  EXPECT_NE(DevicesOf(Table("op,device\nadd,\n")).status().message().find("here.csv, line 2"),
            std::string::npos);
  EXPECT_NE(why("device,op,rows,cols,latency_ms\nV100,add,10,10,0.02\n").find("no row for V100"),
            std::string::npos);
  EXPECT_NE(why("device,op,rows,cols,timing,latency_ms\nV100,add,10,10,warm,1\n")
                .find("neither call nor stream"),
            std::string::npos);
}

RC_GTEST_PROP(GpuCalibrationProperty, ADamagedTableCorrectsByANumberOrIsAnErrorThatNamesIt, ()) {
  const DeviceRates rates = RatesOfGpu("V100");
  const std::string text = Damaged(
      "device,op,m,k,n,rows,cols,dtype,timing,latency_ms\nV100,linear,512,1024,2048,,,fp32,call,0."
      "3\n"
      "V100,add,,,,8192,1024,fp32,stream,0.2\nV100,softmax,,,,8192,1024,,,0.3\n");
  const Result<CsvTable> table = ParseCsv(text, "damaged.csv");
  if (!table.ok()) {
    RC_ASSERT(table.status().message().find("damaged.csv") != std::string::npos);
    return;
  }
  const auto correction = ReadCorrection(table.value(), "V100", rates, ShippedConstants());
  if (!correction.ok()) {
    RC_ASSERT(correction.status().message().find("damaged.csv") != std::string::npos);
    return;
  }
  const KernelWork product = {.shape = ProductWork{.m = 512, .k = 1024, .n = 2048}};
  const Correction at = correction.value()->At(product);
  RC_ASSERT(std::isfinite(at.log_factor) && at.evidence >= 0 && at.evidence <= 1);
}

}  // namespace gpu_calibration_test
}  // namespace headroom
