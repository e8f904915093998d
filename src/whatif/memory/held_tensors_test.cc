#include "whatif/memory/held_tensors.h"

#include <gtest/gtest.h>

namespace headroom {
namespace held_tensors_test {

TensorArg Tensor(std::vector<std::int64_t> strides, DType dtype = DType::kF32) {
  return {.dims = {8, 4}, .strides = std::move(strides), .dtype = dtype};
}

std::optional<std::size_t> Read(HeldTensors& held, const TensorArg& tensor) {
  Taken taken;
  return held.Take(tensor, true, taken);
}

TEST(HeldTensorsTest, StridesDistinguishTensorsOfOneShape) {
  HeldTensors held;
  held.Write(Tensor({4, 1}), 0);
  held.Write(Tensor({1, 8}), 1);
  EXPECT_EQ(Read(held, Tensor({4, 1})), 0u);
  EXPECT_EQ(Read(held, Tensor({1, 8})), 1u);
  // Unknown strides, and strides that nothing has, take the most recent tensor.
  EXPECT_EQ(Read(held, Tensor({})), 1u);
  EXPECT_EQ(Read(held, Tensor({12, 1})), 1u);
  held.Write(Tensor({}), 2);
  EXPECT_EQ(Read(held, Tensor({4, 1})), 2u);
}

TEST(HeldTensorsTest, UnknownTypesAreFloatingPointIfPossible) {
  HeldTensors held;
  EXPECT_EQ(held.TypeOf(Tensor({})), DType::kF32);
  held.Write(Tensor({}, DType::kBF16), 0);
  held.Write(Tensor({}, DType::kI64), 1);
  EXPECT_EQ(held.TypeOf(Tensor({})), DType::kBF16);
  HeldTensors indices;
  indices.Write(Tensor({}, DType::kI64), 0);
  EXPECT_EQ(indices.TypeOf(Tensor({})), DType::kI64);
}

}  // namespace held_tensors_test
}  // namespace headroom
