#include "kernels/local_correction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/test_devices.h"

namespace headroom {
namespace local_correction_test {

KernelWork Product(double m, double k, double n, DType dtype = DType::kF32) {
  return {.shape = ProductWork{.m = m, .k = k, .n = n}, .dtype = dtype};
}

LocalCorrection Measured(const std::vector<LocalCorrection::Sample>& samples) {
  return LocalCorrection(samples, ShippedConstants());
}

TEST(LocalCorrection, IsWhatWasMeasuredThereAndNothingFarAway) {
  const LocalCorrection correction = Measured({{Product(1024, 1024, 1024), 0.5}});
  EXPECT_EQ(correction.At(Product(1024, 1024, 1024)).log_factor, 0.5);
  EXPECT_GT(correction.At(Product(1024, 1024, 1024)).evidence, 0.7);
  const Correction far = correction.At(Product(64, 16384, 64));
  EXPECT_EQ(far.log_factor, 0);
  EXPECT_LT(far.evidence, 0.01);
  EXPECT_EQ(correction.size(), 1u);
}

TEST(LocalCorrection, OneWrongMeasurementMovesNothing) {
  const LocalCorrection correction = Measured({{Product(1024, 1024, 1024), 0.1},
                                               {Product(1024, 1024, 1088), 0.12},
                                               {Product(1024, 1088, 1024), 4}});
  EXPECT_EQ(correction.At(Product(1024, 1024, 1024)).log_factor, 0.12);
}

TEST(LocalCorrection, OtherUnitsAndOtherAlignmentAreOthers) {
  const LocalCorrection correction = Measured({{Product(1024, 1024, 1024), 0.5}});
  EXPECT_EQ(correction.At(Product(1024, 1024, 1024, DType::kF16)).evidence, 0);
  EXPECT_EQ(correction.At(Product(1024, 1023, 1024)).log_factor, 0);
  EXPECT_LT(correction.At(Product(1024, 1023, 1024)).evidence, 0.2);
  const KernelWork batched = {.shape =
                                  ProductWork{.m = 1024, .k = 1024, .n = 1024, .batched = true}};
  EXPECT_EQ(correction.At(batched).evidence, 0);
}

TEST(LocalCorrection, OperandsThatLieOtherwiseCountLess) {
  const auto product = [](bool second_along_k, double n = 1024) {
    return KernelWork{
        .shape = ProductWork{.m = 1024, .k = 1024, .n = n, .second_along_k = second_along_k}};
  };
  const LocalCorrection one = Measured({{product(true), 0.5}});
  EXPECT_EQ(one.At(product(false)).log_factor, 0.5);
  EXPECT_LT(one.At(product(false)).evidence, one.At(product(true)).evidence);
  const LocalCorrection both = Measured({{product(true), 0.5}, {product(false), 0.1}});
  EXPECT_EQ(both.At(product(true)).log_factor, 0.5);
  EXPECT_EQ(both.At(product(false)).log_factor, 0.1);
}

// All bytes move at the same rate, independent of the arithmetic.
TEST(LocalCorrection, MemoryBoundWorkGoesByItsBytes) {
  const LocalCorrection correction =
      Measured({{{.shape = PointwiseWork{.bytes = 1e8}}, -0.2},
                {{.shape = RowwiseWork{.rows = 4096, .columns = 1024, .softmax = true}}, 0.3}});
  const KernelWork half = {.shape = PointwiseWork{.bytes = 1e8}, .dtype = DType::kF16};
  EXPECT_EQ(correction.At(half).log_factor, -0.2);
  const KernelWork norm = {.shape = RowwiseWork{.rows = 4096, .columns = 1024}};
  EXPECT_EQ(correction.At(norm).log_factor, 0);
}

}  // namespace local_correction_test
}  // namespace headroom
