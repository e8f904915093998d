#include "cost/dtype.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace dtype_test {

TEST(DType, ReadsTheNamesOfProfilers) {
  EXPECT_EQ(DTypeFromProfiler("float"), DType::kF32);
  EXPECT_EQ(DTypeFromProfiler("c10::Half"), DType::kF16);
  EXPECT_EQ(DTypeFromProfiler("c10::BFloat16"), DType::kBF16);
  EXPECT_EQ(DTypeFromProfiler("c10::Float8_e4m3fn"), DType::kF8);
  EXPECT_EQ(DTypeFromProfiler("long int"), DType::kI64);
  EXPECT_EQ(DTypeFromProfiler("unsigned char"), DType::kI8);
  EXPECT_EQ(DTypeFromProfiler("c10::complex<float>"), DType::kC64);
}

TEST(DType, IsUnknownForWhatIsNoElementType) {
  for (const char* name :
       {"", "Scalar", "TensorList", "GenericList", "Device", "FLOAT", "float "}) {
    EXPECT_EQ(DTypeFromProfiler(name), DType::kUnknown) << name;
  }
  EXPECT_EQ(BytesPerElement(DType::kUnknown), 0);
}

TEST(DType, StoresTf32InFourBytes) { EXPECT_EQ(BytesPerElement(DType::kTF32), 4); }

TEST(DType, NamesReadBackAsTheSameType) {
  for (const DType dtype : {DType::kUnknown, DType::kF64, DType::kF32, DType::kTF32, DType::kBF16,
                            DType::kF16, DType::kF8, DType::kC128, DType::kC64, DType::kI64,
                            DType::kI32, DType::kI16, DType::kI8, DType::kBool}) {
    EXPECT_EQ(DTypeFromName(Name(dtype)), dtype) << Name(dtype);
  }
  EXPECT_FALSE(DTypeFromName("float").has_value());
}

}  // namespace dtype_test
}  // namespace headroom
