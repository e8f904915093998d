#include "predict/list_change.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <variant>

#include "kernels/test_devices.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace list_change_test {

const std::string kColumns = "op,name,mode,fw,bw,acc,inputs,output,dtype,layout";

OperatorList Read(const std::string& rows, const std::string& columns = kColumns) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("list_change_" + std::to_string(::getpid()) + ".csv");
  std::ofstream(path) << columns << "\n" << rows;
  auto lists = ReadOperatorLists(path.string());
  std::filesystem::remove(path);
  EXPECT_TRUE(lists.ok()) << lists.status().message();
  return lists.ok() ? lists.value().front() : OperatorList();
}

OperatorList With(const char* change, const std::string& rows,
                  const std::string& columns = kColumns) {
  std::vector<OperatorList> lists = {Read(rows, columns)};
  const Status status = ApplyToLists(change, lists);
  EXPECT_TRUE(status.ok()) << status.message();
  return lists.front();
}

double BytesOf(const ListedWork& listed) {
  return std::get<PointwiseWork>(listed.work.shape).bytes;
}

const char* const kLayer =
    "Linear,,inf,\"[['Linear', (64, 256, 512)]]\",,,\"[[64, 256]]\",\"[64, 512]\",,\n"
    "VECrelu,,inf,\"[['VECrelu', (64, 512)]]\",,,\"[[64, 512]]\",\"[64, 512]\",,\n"
    "VECsoftmax,,inf,\"[['VECsoftmax', (64, 512)]]\",,,\"[[64, 512]]\",\"[64, 512]\",,\n";

TEST(ListChange, AutocastRunsEachOperatorInItsTypeAndAddsCasts) {
  const OperatorList list = With("amp:dtype=fp16", kLayer);
  // Casts of activation and weight, the product, relu in its input's type, a cast back, softmax.
  ASSERT_EQ(list.works.size(), 6u);
  EXPECT_EQ(BytesOf(list.works[0]), 64 * 256 * 6);
  EXPECT_EQ(BytesOf(list.works[1]), 256 * 512 * 6);
  EXPECT_EQ(list.works[2].work.dtype, DType::kF16);
  EXPECT_EQ(BytesOf(list.works[3]), 64 * 512 * 2 * 2);
  EXPECT_EQ(BytesOf(list.works[4]), 64 * 512 * 6);
  EXPECT_EQ(list.works[5].work.dtype, DType::kF32);
}

TEST(ListChange, ARowThatStatesItsTypeKeepsIt) {
  const OperatorList list =
      With("amp:dtype=bf16+tf32",
           "Linear,,inf,\"[['Linear', (64, 256, 512)]]\",,,\"[[64, 256]]\",\"[64, 512]\",fp32,\n");
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(list.works[0].work.dtype, DType::kF32);
  EXPECT_FALSE(list.works[0].allows_tf32);
}

TEST(ListChange, TheListsOwnAutocastTypesGoBeforeThoseOfPyTorch) {
  const OperatorList list =
      With("amp",
           "Linear,,inf,\"[['Linear', (64, 256, 512)]]\",,,\"[[64, 256]]\",\"[64, 512]\",,,fp32\n",
           kColumns + ",dtype_amp");
  ASSERT_EQ(list.works.size(), 1u);
  EXPECT_EQ(list.works[0].work.dtype, DType::kF32);
}

TEST(ListChange, ConvolutionsRunInTf32ByDefaultAndProductsOnRequest) {
  const std::string rows =
      "CONV2D,,inf,\"[['CONV2D', (32, 64, 64, 3, 56, 1, 1)]]\",,,,,,\n"
      "Linear,,inf,\"[['Linear', (64, 256, 512)]]\",,,,,,\n";
  const OperatorList before = Read(rows), after = With("tf32", rows);
  EXPECT_TRUE(before.works[0].allows_tf32);
  EXPECT_FALSE(before.works[1].allows_tf32);
  EXPECT_TRUE(after.works[1].allows_tf32);
}

TEST(ListChange, ChannelsLastSavesTheReordering) {
  const std::string rows = "CONV2D,,inf,\"[['CONV2D', (64, 256, 256, 3, 56, 1, 1)]]\",,,,,,\n";
  const auto ms = [](const OperatorList& list) {
    return EstimateStep(list, RatesOfGpu("A100-80"), ShippedConstants(), HostModel::None())
        .value()
        .step.mid;
  };
  EXPECT_LT(ms(With("amp:dtype=fp16+channels-last", rows)), ms(With("amp:dtype=fp16", rows)));
}

TEST(ListChange, OtherChangesAreRefusedWithTheKnownOnes) {
  std::vector<OperatorList> lists = {Read(kLayer)};
  for (const char* change :
       {"", "amp:dtype=fp8", "quantize", "compile:mode=fast", "tf32:x=1", "amp+"}) {
    const Status status = ApplyToLists(change, lists);
    EXPECT_EQ(status.code(), StatusCode::kUsage) << change;
    EXPECT_NE(status.message().find("channels-last"), std::string::npos);
  }
}

TEST(ListChange, UnfusedAttentionHasTheSameProductsAndASoftmaxInFloat32) {
  const std::string rows =
      "SDPA,,train,\"[['SDPA', (2, 4, 50, 60, 16)]]\",,,,,,\n"
      "SDPA,,train,[],\"[['SDPA', (2, 4, 50, 60, 16)]]\",,,,,\n";
  const OperatorList fused = With("amp:dtype=fp16", rows);
  const OperatorList list = With("amp:dtype=fp16+unfused-attention", rows);
  double products = 0, softmaxes = 0;
  for (const ListedWork& listed : list.works) {
    if (std::holds_alternative<ProductWork>(listed.work.shape)) {
      products += Operations(listed.work);
      EXPECT_EQ(listed.work.dtype, DType::kF16);
    }
    if (std::holds_alternative<RowwiseWork>(listed.work.shape)) {
      ++softmaxes;
      EXPECT_EQ(listed.work.dtype, DType::kF32);
    }
  }
  // Two products in the forward, four in the backward, which the fused one recomputes to five.
  EXPECT_DOUBLE_EQ(products, 6 * 2 * 8.0 * 50 * 60 * 16);
  EXPECT_EQ(softmaxes, 1);
  EXPECT_DOUBLE_EQ(Operations(fused.works[0].work), 2 * 2 * 8.0 * 50 * 60 * 16);
  EXPECT_DOUBLE_EQ(Operations(fused.works[1].work), 5 * 2 * 8.0 * 50 * 60 * 16);
}

TEST(ListChange, EightBitsAreForLayersIn16BitsOfWholeTiles) {
  const std::string rows =
      "Linear,,train,\"[['Linear', (64, 256, 512)]]\",\"[['Linear', (64, 512, 256)]]\",,,,,\n"
      "Linear,,train,\"[['Linear', (64, 256, 500)]]\",[],,,,,\n"
      "BMM,,train,\"[['BMM', (8, 64, 64, 64)]]\",[],,,,,\n";
  const OperatorList list = With("fp8+half", rows);
  ASSERT_EQ(list.works.size(), 5U);
  EXPECT_EQ(BytesOf(list.works[0]), 3 * 256 * 512) << "the weight's conversion";
  for (const std::size_t layer : {1U, 2U}) {
    EXPECT_EQ(list.works[layer].work.dtype, DType::kF8);
    EXPECT_TRUE(std::get<ProductWork>(list.works[layer].work.shape).quantizes);
  }
  EXPECT_EQ(list.works[3].work.dtype, DType::kBF16) << "500 is no multiple of 16";
  EXPECT_EQ(list.works[4].work.dtype, DType::kBF16) << "attention";
  std::vector<OperatorList> lists = {Read(rows)};
  EXPECT_NE(ApplyToLists("fp8", lists).message().find("amp+fp8"), std::string::npos);
}

}  // namespace list_change_test
}  // namespace headroom
