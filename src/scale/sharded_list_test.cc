#include "scale/sharded_list.h"

#include <gtest/gtest.h>

#include <variant>
#include <vector>

namespace headroom {
namespace sharded_list_test {

constexpr double kTokens = 512, kWidth = 64, kWords = 1000;

class ShardedListTest : public testing::Test {
 protected:
  void Add(StepPhase phase, const KernelWork& work, double gradient_elements = 0) {
    list_.works.push_back({.op = list_.operators,
                           .phase = phase,
                           .work = work,
                           .gradient_bytes = 4 * gradient_elements});
  }
  void Product(double inputs, double outputs) {
    Add(StepPhase::kForward, {.shape = ProductWork{.m = kTokens, .k = inputs, .n = outputs}});
    Add(StepPhase::kBackward, {.shape = ProductWork{.m = kTokens, .k = outputs, .n = inputs}});
    Add(StepPhase::kBackward, {.shape = ProductWork{.m = outputs, .k = kTokens, .n = inputs}});
    Add(StepPhase::kAccumulate, {.shape = PointwiseWork{.bytes = 12 * inputs * outputs}},
        inputs * outputs);
    Add(StepPhase::kAccumulate, {.shape = PointwiseWork{.bytes = 12 * outputs}}, outputs);
    ++list_.operators;
  }
  void Pointwise() {
    Add(StepPhase::kForward, {.shape = PointwiseWork{.bytes = 1e6}});
    ++list_.operators;
  }
  void Batched() {
    Add(StepPhase::kForward,
        {.shape = ProductWork{.batch = 8, .m = 128, .k = 16, .n = 128, .batched = true}});
    ++list_.operators;
  }
  /// A layer after an embedding table; then a head.
  void AddModel() {
    Add(StepPhase::kForward, {.shape = PointwiseWork{.bytes = 2e5}});
    Add(StepPhase::kBackward, {.shape = PointwiseWork{.bytes = 4e5}});
    Add(StepPhase::kAccumulate, {.shape = PointwiseWork{.bytes = 8e5}}, kWords * kWidth);
    ++list_.operators;
    Pointwise();                  // 1: norm.
    Product(kWidth, 3 * kWidth);  // 2
    Batched();                    // 3
    Pointwise();                  // 4
    Batched();                    // 5
    Product(kWidth, kWidth);      // 6
    Pointwise();                  // 7: sum.
    Product(kWidth, 4 * kWidth);  // 8
    Pointwise();                  // 9
    Product(4 * kWidth, kWidth);  // 10
    Product(kWidth, kWords);      // 11
  }
  static std::vector<ListedWork> WorksOf(const OperatorList& list, std::int64_t op) {
    std::vector<ListedWork> works;
    for (const ListedWork& work : list.works) {
      if (work.op == op) works.push_back(work);
    }
    return works;
  }
  static ProductWork ProductOf(const ListedWork& work) {
    return std::get<ProductWork>(work.work.shape);
  }
  static double BytesOf(const ListedWork& work) {
    return std::get<PointwiseWork>(work.work.shape).bytes;
  }

  OperatorList list_;
};

TEST_F(ShardedListTest, ColumnsThenRows) {
  AddModel();
  const Result<ShardedList> shared = ShardList(list_, 4);
  ASSERT_TRUE(shared.ok()) << shared.status().message();
  const OperatorList& list = shared.value().list;
  const auto columns = WorksOf(list, 2);
  EXPECT_EQ(ProductOf(columns[0]).n, 3 * kWidth / 4);
  EXPECT_EQ(ProductOf(columns[0]).k, kWidth);
  EXPECT_EQ(ProductOf(columns[1]).k, 3 * kWidth / 4);
  EXPECT_EQ(ProductOf(columns[2]).m, 3 * kWidth / 4);
  EXPECT_EQ(ProductOf(columns[2]).n, kWidth);
  EXPECT_EQ(columns[3].gradient_bytes, kWidth * 3 * kWidth);
  EXPECT_EQ(columns[4].gradient_bytes, 3 * kWidth);
  const auto rows = WorksOf(list, 6);
  EXPECT_EQ(ProductOf(rows[0]).k, kWidth / 4);
  EXPECT_EQ(ProductOf(rows[0]).n, kWidth);
  EXPECT_EQ(ProductOf(rows[1]).n, kWidth / 4);
  EXPECT_EQ(ProductOf(rows[1]).k, kWidth);
  EXPECT_EQ(ProductOf(rows[2]).n, kWidth / 4);
  EXPECT_EQ(ProductOf(rows[2]).m, kWidth);
  EXPECT_EQ(rows[3].gradient_bytes, kWidth * kWidth);
  EXPECT_EQ(rows[4].gradient_bytes, 4 * kWidth);  // Every GPU has the whole bias.
  EXPECT_EQ(ProductOf(WorksOf(list, 3)[0]).batch, 2);
  EXPECT_EQ(BytesOf(WorksOf(list, 4)[0]), 2.5e5);
  EXPECT_EQ(BytesOf(WorksOf(list, 7)[0]), 1e6);
  EXPECT_EQ(BytesOf(WorksOf(list, 9)[0]), 2.5e5);
  EXPECT_EQ(ProductOf(WorksOf(list, 10)[0]).k, kWidth);
  EXPECT_EQ(ProductOf(WorksOf(list, 11)[0]).n, kWords / 4);
  const auto lookup = WorksOf(list, 0);
  EXPECT_EQ(BytesOf(lookup[0]), 2e5);
  EXPECT_EQ(BytesOf(lookup[1]), 1e5);
  EXPECT_EQ(lookup[2].gradient_bytes, kWords * kWidth);
}

TEST_F(ShardedListTest, SumsBehindRowsAndBehindTheBackwardOfColumns) {
  AddModel();
  const Result<ShardedList> shared = ShardList(list_, 2);
  ASSERT_TRUE(shared.ok());
  constexpr double kSum = 4 * kTokens * kWidth;
  const std::map<std::int64_t, double> forward = {{0, kSum}, {6, kSum}, {10, kSum}};
  const std::map<std::int64_t, double> backward = {{2, kSum}, {8, kSum}, {11, kSum}};
  EXPECT_EQ(shared.value().forward_sums, forward);
  EXPECT_EQ(shared.value().backward_sums, backward);
  EXPECT_EQ(shared.value().layer_begins, std::set<std::int64_t>{2});
  EXPECT_EQ(shared.value().layer_bytes, kSum);
}

TEST_F(ShardedListTest, WhatIsNoTransformerIsNotShared) {
  Product(kWidth, kWidth);
  EXPECT_EQ(ShardList(list_, 2).status().code(), StatusCode::kNoAnswer);
  AddModel();
  EXPECT_EQ(ShardList(list_, 7).status().code(), StatusCode::kNoAnswer);
}

}  // namespace sharded_list_test
}  // namespace headroom
