#include "predict/list_gradient.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace headroom {
namespace list_gradient_test {

constexpr StepPhase kForward = StepPhase::kForward, kBackward = StepPhase::kBackward;
constexpr double kRows = 100, kWidth = 64, kWide = 192, kInner = 256;

ListedWork Product(StepPhase phase, double m, double k, double n, double repeats = 1) {
  ListedWork listed;
  listed.phase = phase;
  listed.repeats = repeats;
  listed.work.shape = ProductWork{.batch = 1, .m = m, .k = k, .n = n};
  return listed;
}

ListedWork Attention(StepPhase phase) {
  ListedWork listed;
  listed.phase = phase;
  listed.work.shape = AttentionWork{.batch = 2,
                                    .query_heads = 4,
                                    .key_heads = 4,
                                    .head_size = 16,
                                    .queries = 50,
                                    .keys = 50,
                                    .causal = false,
                                    .backward = phase == kBackward};
  return listed;
}

/// The forward of a transformer's block: query, key and value at once, attention, its projection,
/// two products of the feed-forward part.
std::vector<ListedWork> Forward() {
  return {Product(kForward, kRows, kWidth, kWide), Attention(kForward),
          Product(kForward, kRows, kWidth, kWidth), Product(kForward, kRows, kWidth, kInner),
          Product(kForward, kRows, kInner, kWidth)};
}

/// The gradients that do not pass through the attention.
std::vector<ListedWork> Rest() {
  return {Product(kBackward, kRows, kWidth, kInner), Product(kBackward, kWidth, kRows, kInner),
          Product(kBackward, kRows, kInner, kWidth), Product(kBackward, kInner, kRows, kWidth),
          Product(kBackward, kWidth, kRows, kWidth)};
}

OperatorList Completed(std::vector<ListedWork> forward, const std::vector<ListedWork>& backward) {
  OperatorList list;
  list.works = std::move(forward);
  list.works.insert(list.works.end(), backward.begin(), backward.end());
  list.operators = static_cast<std::int64_t>(list.works.size());
  AddLostGradients(list);
  return list;
}

TEST(ListGradient, AddsWhatAttentionCutOff) {
  const OperatorList list = Completed(Forward(), Rest());
  EXPECT_EQ(list.added, 4);
  EXPECT_EQ(list.operators, 14);
  EXPECT_NE(list.Doubt().find("4 operators were added"), std::string::npos) << list.Doubt();
  double products = 0, attention = 0;
  for (std::size_t i = 10; i < list.works.size(); ++i) {
    const KernelWork& work = list.works[i].work;
    EXPECT_EQ(list.works[i].phase, kBackward);
    const bool fused = std::holds_alternative<AttentionWork>(work.shape);
    (fused ? attention : products) += Operations(work);
  }
  // Both gradients of the product before the attention, one of that behind it.
  EXPECT_DOUBLE_EQ(products, 2 * kRows * kWidth * (2 * kWide + kWidth));
  EXPECT_DOUBLE_EQ(attention, Operations(Attention(kBackward).work));
}

TEST(ListGradient, LeavesWholeBackwardsAndForwardsAlone) {
  std::vector<ListedWork> whole = Rest();
  whole.push_back(Attention(kBackward));
  EXPECT_EQ(Completed(Forward(), whole).added, 0);
  EXPECT_EQ(Completed(Forward(), {}).added, 0);
}

TEST(ListGradient, AFrozenTrunkHasNoGradients) {
  // Only the last product of several is trained.
  EXPECT_EQ(Completed(Forward(), {Product(kBackward, kInner, kRows, kWidth)}).added, 0);
}

TEST(ListGradient, RepeatsCountAsOftenAsTheyAreListed) {
  std::vector<ListedWork> forward = Forward();
  forward.push_back(Product(kForward, 30, 40, 50, 3));
  std::vector<ListedWork> rest = Rest();
  rest.push_back(Product(kBackward, 30, 50, 40, 3));
  rest.push_back(Product(kBackward, 50, 30, 40, 3));
  EXPECT_EQ(Completed(forward, rest).added, 4);
}

}  // namespace list_gradient_test
}  // namespace headroom
