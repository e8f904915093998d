#include "analysis/names/knowledge.h"

#include <gtest/gtest.h>

#include "analysis/names/host_rules.h"
#include "cost/device_spec.h"
#include "cost/kernel_class.h"

namespace headroom {
namespace knowledge_test {

TEST(Knowledge, BuiltInDataLoads) {
  const Result<std::unique_ptr<Knowledge>> loaded = Knowledge::LoadBuiltIn();
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Knowledge& knowledge = *loaded.value();
  EXPECT_NE(knowledge.devices().Find("NVIDIA H200"), nullptr);
  EXPECT_EQ(knowledge.devices().Find("no such GPU"), nullptr);
  EXPECT_EQ(knowledge.kernels().Classify("ampere_sgemm_128x64_nn").family, WorkFamily::kMatmul);
  EXPECT_TRUE(knowledge.host().RolesOf("cudaLaunchKernel").Has(HostRole::kKernelLaunch));
}

}  // namespace knowledge_test
}  // namespace headroom
