#include "ingest/nsight/function_name.h"

#include <gtest/gtest.h>

namespace headroom::nsight {
namespace function_name_test {

TEST(FunctionName, IsWithoutItsVersion) {
  EXPECT_EQ(FunctionName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(FunctionName("cudaLaunchKernel_ptsz_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(FunctionName("cuMemcpyDtoH_v2"), "cuMemcpyDtoH_v2");
  EXPECT_EQ(FunctionName("cuLaunchKernel"), "cuLaunchKernel");
  EXPECT_EQ(FunctionName("_v7000"), "");
}

}  // namespace function_name_test
}  // namespace headroom::nsight
