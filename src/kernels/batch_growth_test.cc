#include "kernels/batch_growth.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/test_files.h"

namespace headroom {
namespace batch_growth_test {

DeviceSpec H200() {
  DeviceSpec spec;
  spec.fp32_tflops = 66.9;
  spec.tf32_tensor_tflops = 494.7;
  spec.fp16_tensor_tflops = spec.bf16_tensor_tflops = 989;
  spec.memory_bandwidth_gbs = 4800;
  return spec;
}

DurationNs Us(double us) { return DurationNs(std::llround(us * 1e3)); }

OperatorCall Call(std::string_view name, std::vector<std::vector<std::int64_t>> shapes) {
  OperatorCall call;
  call.name = name;
  for (std::vector<std::int64_t>& dims : shapes) {
    TensorArg tensor;
    tensor.dims = std::move(dims);
    tensor.dtype = DType::kF32;
    OperatorArg arg;
    arg.kind = OperatorArg::Kind::kTensor;
    arg.tensors.push_back(std::move(tensor));
    call.args.push_back(std::move(arg));
  }
  return call;
}

RanAs Ran(DType dtype, double us, std::optional<double> waves) {
  return {
      .math_dtype = dtype, .tensor_cores = dtype != DType::kF32, .time = Us(us), .waves = waves};
}

/// Returns the time of a call at `ratio` times the batch, in microseconds. The recorded call took
/// `us` microseconds.
double Grown(const OperatorCall& call, double us, double ratio, double waves,
             DType dtype = DType::kF32) {
  const std::optional<double> stays = ShareThatStays(call, Ran(dtype, us, waves), H200());
  EXPECT_TRUE(stays.has_value());
  return us * (*stays + (1 - *stays) * ratio);
}

double Waves(double blocks) { return blocks / (132 * 2); }

OperatorCall Product(std::int64_t m, std::int64_t k, std::int64_t n) {
  return Call("aten::mm", {{m, k}, {k, n}});
}

// Kernels on one H200 in float32: bert_base at batches of 1 and 8, and gpt2 at 1 and 4.
TEST(BatchGrowthTest, ProductsMeasuredOnOneH200) {
  EXPECT_NEAR(Grown(Product(384, 768, 768), 19.5, 8, Waves(360)), 95.0, 0.25 * 95.0);
  EXPECT_NEAR(Grown(Product(768, 384, 768), 21.4, 8, Waves(576)), 82.8, 0.25 * 82.8);
  EXPECT_NEAR(Grown(Product(384, 768, 3072), 66.4, 8, Waves(288)), 382.2, 0.25 * 382.2);
  EXPECT_NEAR(Grown(Product(384, 3072, 768), 132.0, 8, Waves(336)), 432.0, 0.25 * 432.0);
  EXPECT_NEAR(Grown(Product(1024, 3072, 768), 142.8, 4, Waves(160)), 423.8, 0.25 * 423.8);
  EXPECT_NEAR(Grown(Product(1024, 768, 50257), 1603.7, 4, Waves(3152)), 6213.9, 0.05 * 6213.9);
}

// A linear layer of vgg19 reads 0.4 GB of weights, for 8 samples and for 64.
TEST(BatchGrowthTest, WeightsAreReadOnce) {
  EXPECT_NEAR(Grown(Product(8, 25088, 4096), 218.2, 8, Waves(1024)), 546.1, 0.1 * 546.1);
}

// The backward of a resnet50 convolution in float32 on one H200, at batches of 8 and 64.
TEST(BatchGrowthTest, OfConvolutionsOnlyWhatFewBlocksLoseStays) {
  const std::optional<OperatorCall> call = ParseOperatorCall(
      "aten::convolution_backward",
      {"[[8, 256, 56, 56], [8, 64, 56, 56], [256, 64, 1, 1], [], [], [], [], [], [], [], []]",
       R"(["float", "float", "float", "ScalarList", "", "", "", "", "", "", ""])", "",
       R"(["", "", "", "[0]", "[1, 1]", "[0, 0]", "[1, 1]", "False", "[0, 0]", "1", )"
       R"("[True, True, False]"])"});
  ASSERT_TRUE(call.has_value());
  EXPECT_NEAR(Grown(*call, 140.4, 8, Waves(896)), 979.3, 0.05 * 979.3);
  // In another precision, the number of blocks is unknown, so only the start times of the two
  // kernels stay constant.
  EXPECT_NEAR(*ShareThatStays(*call, Ran(DType::kF16, 100, std::nullopt), H200()), 0.08, 1e-9);
}

TEST(BatchGrowthTest, AProductAtItsSustainedRateGrowsInProportion) {
  const OperatorCall call = Product(4096, 4096, 4096);
  const double ideal_us = 2.0 * 4096 * 4096 * 4096 / (66.9e6 * 0.7);
  // Also holds for a product that is faster than the sustained rate.
  EXPECT_DOUBLE_EQ(Grown(call, ideal_us / 1.2, 3, 1), 3 * ideal_us / 1.2);
  EXPECT_NEAR(Grown(call, 2 * ideal_us, 3, 1), 4 * ideal_us, 0.01);
  // With many waves, the whole time of such a slow product grows, except for reading its weights.
  EXPECT_GT(Grown(call, 2 * ideal_us, 3, 100), 5.9 * ideal_us);
}

TEST(BatchGrowthTest, BatchedProductsOfShortSumsGrowWithTheirBytes) {
  // Attention's scores in 16 bits: 64 products of 1024 x 64 x 1024. Their bytes take longer than
  // their FLOPs.
  OperatorCall call = Call("aten::bmm", {{64, 1024, 64}, {64, 64, 1024}});
  for (OperatorArg& arg : call.args) arg.tensors[0].dtype = DType::kBF16;
  const double bytes = 2.0 * 64 * (1024.0 * 1024 + 2 * 1024 * 64);
  const double memory_us = bytes / (4800e3 * SustainedShares().gemm_bytes_16);
  EXPECT_NEAR(Grown(call, 100, 2, 1, DType::kBF16), 100 + memory_us, 0.01);
}

TEST(BatchGrowthTest, WithoutShapesOrPeaksNothingIsSaid) {
  EXPECT_FALSE(ShareThatStays(Product(8, 8, 8), Ran(DType::kF32, 5, 1), DeviceSpec()));
  EXPECT_FALSE(ShareThatStays(Call("aten::mm", {}), Ran(DType::kF32, 5, 1), H200()));
}

std::vector<std::vector<std::string>> ReadCsv(const std::string& text) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // Commas within quotes are part of a kernel's name.
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted) {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    rows.push_back(std::move(cells));
  }
  return rows;
}

/// Mean absolute errors of forecasts, as shares.
struct Errors {
  double ours = 0, in_proportion = 0;
  int count = 0;
};

// Float32 products that were timed at a batch and at 2, 4 and 8 times that batch. No constant was
// fitted to these GPUs.
TEST(BatchGrowthDataTest, ProductsOnOtherGpus) {
  const std::filesystem::path folder = SharedDataDir() / "gpu-latency";
  if (!std::filesystem::exists(folder / "kernels.csv.gz")) {
    GTEST_SKIP() << "no " << folder / "kernels.csv.gz"
                 << "; set HEADROOM_DATA";
  }
  std::map<std::string, DeviceSpec> devices;
  const auto sheet = ReadCsv(ReadWholeFile(folder / "devices.csv"));
  for (std::size_t i = 1; i < sheet.size(); ++i) {
    DeviceSpec& spec = devices[sheet[i][0]];
    spec.sm_count = std::stod(sheet[i][5]);
    spec.fp32_tflops = std::stod(sheet[i][9]) / 1e3;
    spec.memory_bandwidth_gbs = std::stod(sheet[i][11]);
  }
  struct Timed {
    double us = 0, blocks = 0;
  };
  // Keys: the device, operator and constant extents, then the extent that grows.
  std::map<std::vector<std::string>, std::map<std::int64_t, Timed>> products;
  const auto rows = ReadCsv(Gunzip(ReadWholeFile(folder / "kernels.csv.gz")));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const std::vector<std::string>& row = rows[i];
    if ((row[1] != "linear" && row[1] != "bmm") || row[20].empty()) continue;
    const bool batched = row[1] == "bmm";
    // Each recorded time includes this gap, according to the data's description.
    constexpr double kLaunchGapUs = 20;
    products[{row[2], row[1], batched ? row[5] : "", row[6], row[7]}]
            [std::llround(std::stod(row[batched ? 4 : 5]))] = {
                std::stod(row[26]) * 1e3 - kLaunchGapUs,
                std::stod(row[20]) * std::stod(row[21]) * std::stod(row[22])};
  }
  std::map<std::pair<std::string, bool>, Errors>
      errors;  // Keys: the operator, and true for less than one wave.
  for (const auto& [key, timed] : products) {
    const DeviceSpec& device = devices.at(key[0]);
    const bool batched = key[1] == "bmm";
    const std::int64_t k = std::llround(std::stod(key[3])), n = std::llround(std::stod(key[4]));
    for (const auto& [extent, before] : timed) {
      const OperatorCall call =
          batched
              ? Call("aten::bmm", {{extent, std::llround(std::stod(key[2])), k}, {extent, k, n}})
              : Product(extent, k, n);
      const double waves = before.blocks / (2 * *device.sm_count);
      for (const int ratio : {2, 4, 8}) {
        const auto after = timed.find(extent * ratio);
        if (after == timed.end() || before.us < 10 || after->second.us < 80) continue;
        const std::optional<double> stays =
            ShareThatStays(call, Ran(DType::kF32, before.us, waves), device);
        ASSERT_TRUE(stays.has_value());
        Errors& sum = errors[{key[1], waves < 1}];
        const double ours = before.us * (*stays + (1 - *stays) * ratio);
        sum.ours += std::abs(ours / after->second.us - 1);
        sum.in_proportion += std::abs(before.us * ratio / after->second.us - 1);
        ++sum.count;
      }
    }
  }
  for (auto& [key, sum] : errors) {
    ASSERT_GT(sum.count, 50) << key.first;
    sum.ours /= sum.count;
    sum.in_proportion /= sum.count;
    std::cout << key.first << (key.second ? ", few blocks: " : ", many blocks: ") << sum.count
              << " pairs, mean error " << 100 * sum.ours << " %, in proportion "
              << 100 * sum.in_proportion << " %\n";
  }
  EXPECT_LT((errors[{"bmm", true}].ours), 0.25);
  EXPECT_LT((errors[{"bmm", true}].ours), 0.5 * (errors[{"bmm", true}].in_proportion));
  EXPECT_LT((errors[{"linear", true}].ours), 0.15);
  EXPECT_LT((errors[{"bmm", false}].ours), 0.12);
  EXPECT_LT((errors[{"linear", false}].ours), 0.08);
}

}  // namespace batch_growth_test
}  // namespace headroom
