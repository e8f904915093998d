#include "whatif/memory/saved_tensors.h"

#include <gtest/gtest.h>

namespace headroom {
namespace saved_tensors_test {

using Dims = std::vector<std::int64_t>;

/// A node of the backward. Each operator inside it launches one kernel.
class NodeBuilder {
 public:
  NodeBuilder(std::string_view name, const std::vector<Dims>& gradients) {
    Add(name, {}, kNowhere);
    step_.nodes = {0};
    Add("function", gradients, 0);
  }

  NodeBuilder& Op(std::string_view name, const std::vector<Dims>& dims) {
    StepOperator& op = Add(name, dims, 1);
    op.call = OperatorCall{.name = std::string(name), .args = {}};
    op.tasks.emplace_back(std::size_t{0});
    return *this;
  }

  SavedTensors Saved(const std::vector<Dims>& arguments, const std::vector<Dims>& results = {}) {
    StepOperator forward;
    forward.tensors = Uses(arguments);
    std::vector<TensorArg> made;
    for (const TensorUse& use : Uses(results)) made.push_back(use.tensor);
    return SavedBy(step_, 0, forward, made);
  }

 private:
  static std::vector<TensorUse> Uses(const std::vector<Dims>& all) {
    std::vector<TensorUse> uses;
    uses.reserve(all.size());
    for (const Dims& dims : all) {
      uses.push_back(
          {.argument = uses.size(), .tensor = {.dims = dims, .strides = {}, .dtype = DType::kF32}});
    }
    return uses;
  }

  StepOperator& Add(std::string_view name, const std::vector<Dims>& dims, std::size_t parent) {
    StepOperator& op = step_.list.emplace_back();
    op.name = name;
    op.tensors = Uses(dims);
    op.parent = parent;
    op.node = 0;
    step_.list.front().last = step_.list.size() - 1;
    return op;
  }

  StepOperators step_;
};

constexpr std::string_view kMulNode = "autograd::engine::evaluate_function: MulBackward0";

TEST(SavedTensorsTest, AProductKeepsOnlyTheFactorsThatItsBackwardReads) {
  const Dims wide = {8, 4}, row = {4};
  // A mask has no gradient, so the other factor is not kept.
  SavedTensors saved =
      NodeBuilder(kMulNode, {wide}).Op("aten::mul", {wide, wide}).Saved({wide, wide});
  EXPECT_EQ(saved.arguments, (std::vector<std::size_t>{1}));
  saved = NodeBuilder(kMulNode, {wide}).Op("aten::mul", {wide, row}).Saved({row, wide});
  EXPECT_EQ(saved.arguments, (std::vector<std::size_t>{0}));
  saved = NodeBuilder(kMulNode, {wide})
              .Op("aten::mul", {wide, wide})
              .Op("aten::mul", {wide, wide})
              .Saved({wide, wide});
  EXPECT_EQ(saved.arguments, (std::vector<std::size_t>{1, 0}));
  saved = NodeBuilder(kMulNode, {wide}).Op("aten::mul", {wide}).Saved({wide});
  EXPECT_TRUE(saved.Nothing());
}

TEST(SavedTensorsTest, ANodeWithoutARuleKeepsTheTensorsThatItReads) {
  constexpr std::string_view kNode = "autograd::engine::evaluate_function: MyBackward";
  const Dims wide = {8, 4}, row = {4}, other = {3};
  SavedTensors saved = NodeBuilder(kNode, {wide})
                           .Op("aten::my_backward", {wide, other})
                           .Saved({wide, row}, {wide, other});
  EXPECT_TRUE(saved.arguments.empty());
  EXPECT_FALSE(saved.first_result);
  EXPECT_TRUE(saved.other_results);
  EXPECT_FALSE(saved.assumed);
  // A split's backward reads only gradients.
  saved = NodeBuilder(kNode, {row, row}).Op("aten::cat", {row, row}).Saved({wide});
  EXPECT_TRUE(saved.Nothing());
  EXPECT_FALSE(saved.assumed);
  // Without operators inside the node, the first argument counts.
  saved = NodeBuilder(kNode, {wide}).Saved({row, wide});
  EXPECT_EQ(saved.arguments, (std::vector<std::size_t>{0}));
  EXPECT_TRUE(saved.assumed);
}

}  // namespace saved_tensors_test
}  // namespace headroom
