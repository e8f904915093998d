#include "analysis/names/reference_data.h"

#include <gtest/gtest.h>

#include "analysis/names/host_rules.h"
#include "cost/device_spec.h"
#include "cost/kernel_class.h"

namespace headroom {
namespace reference_data_test {

TEST(ReferenceData, BuiltInDataLoads) {
  const Result<std::unique_ptr<ReferenceData>> loaded = ReferenceData::LoadBuiltIn();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const ReferenceData& reference = *loaded.value();
  EXPECT_NE(reference.devices().Find("NVIDIA H200"), nullptr);
  EXPECT_EQ(reference.devices().Find("no such GPU"), nullptr);
  EXPECT_EQ(reference.kernels().Classify("ampere_sgemm_128x64_nn").family, WorkFamily::kMatmul);
  EXPECT_TRUE(reference.host().RolesOf("cudaLaunchKernel").Has(HostRole::kKernelLaunch));
}

}  // namespace reference_data_test
}  // namespace headroom
