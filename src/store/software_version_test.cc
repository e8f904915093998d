#include "store/software_version.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headroom {
namespace software_version_test {

TEST(SoftwareVersion, IsKeptByNameOnce) {
  std::vector<SoftwareVersion> versions;
  AddVersion("pytorch", "2.7.1+cu128", versions);
  AddVersion("nccl", "2.27.7", versions);
  AddVersion("pytorch", "1.0", versions);
  EXPECT_EQ(versions,
            (std::vector<SoftwareVersion>{{"nccl", "2.27.7"}, {"pytorch", "2.7.1+cu128"}}));
}

TEST(SoftwareVersion, IsNothingElse) {
  std::vector<SoftwareVersion> versions;
  AddVersion("", "1", versions);
  AddVersion("pytorch", "", versions);
  AddVersion("Py Torch", "1", versions);
  AddVersion("pytorch", "/home/me", versions);
  AddVersion("pytorch", std::string(65, '1'), versions);
  EXPECT_TRUE(versions.empty());
  for (int i = 0; i < 40; ++i) AddVersion("v" + std::to_string(i), "1", versions);
  EXPECT_EQ(versions.size(), 16u);
}

TEST(SoftwareVersion, NumbersOfVendors) {
  EXPECT_EQ(CudaVersionText(12080), "12.8");
  EXPECT_EQ(CudaVersionText(13000), "13.0");
  EXPECT_EQ(HipVersionText(60443483), "6.4.43483");
  EXPECT_EQ(HipVersionText(70226015), "7.2.26015");
}

}  // namespace software_version_test
}  // namespace headroom
