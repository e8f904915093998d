#include "redact/key_text.h"

#include <gtest/gtest.h>

#include <string>

#include "redact/public_names.h"
#include "redact/text_redactor.h"

namespace headroom {
namespace key_text_test {

class KeyTextTest : public ::testing::Test {
 protected:
  PublicNames names_ = PublicNames::LoadBuiltIn().value();
  TextRedactor redactor_{names_, {}};
};

TEST_F(KeyTextTest, IssuedKeysGoWhole) {
  EXPECT_EQ(redactor_.Text("AKIAIOSFODNN7EXAMPLE"), "KEYA");
  EXPECT_EQ(redactor_.Text("with xoxb-17653672481-19874698323-StepTrain."), "with keyb.");
  EXPECT_EQ(redactor_.Text("vol-01234567890123456 of i-0123abcd"), "keyc of keyd");
  EXPECT_EQ(redactor_.Text("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTYifQ.train_step-model_max"),
            "namea keye");
}

TEST_F(KeyTextTest, WhatLooksDrawnByLotGoesWhole) {
  for (const std::string text : {"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
                                 "wJalrXUtnFEMIK7MDENGbPxRfiCY", "QJ7XK2PTRAIN9MODEL4Z"})
    EXPECT_EQ(redactor_.Text("of " + text).find_first_of("0123456789_"), std::string::npos) << text;
}

TEST_F(KeyTextTest, ValuesOfSecretsGo) {
  EXPECT_EQ(redactor_.Text("password: train1234, step"), "namea: keya, step");
  EXPECT_EQ(redactor_.Text("API_KEY=max&x"), "API_KEY=keyb&x");
  EXPECT_EQ(redactor_.Text("Bearer model"), "Nameb keyc");
  EXPECT_EQ(redactor_.Text("secret=a:b==; step"), "namec=keyd; step");
  EXPECT_EQ(redactor_.Text("token: 17"), "token: 17");
  EXPECT_EQ(redactor_.Text("token::embedding"), "token::embedding");
  EXPECT_EQ(redactor_.Text("max_tokens=layer"), "max_tokens=layer");
}

TEST_F(KeyTextTest, MachinesGoByTheirNumbers) {
  EXPECT_EQ(redactor_.Text("on node0042 and gpu017, worker-003"), "on hosta and hostb, hostc");
  EXPECT_EQ(redactor_.Text("host gpu-osprey-17"), "host hostd");
  EXPECT_EQ(redactor_.Text("hostname=train"), "namea=hoste");
  EXPECT_EQ(redactor_.Text("rank_10_44_3_23"), "rank_hostf");
  EXPECT_EQ(redactor_.Text("192_168_0_1"), "hostg");
  for (const char* const text : {"gpu0", "worker 3", "0_1_2_3", "10_44_3_23_5", "host to device 3"})
    EXPECT_EQ(redactor_.Text(text), text);
}

TEST_F(KeyTextTest, NamesOfFrameworksStay) {
  for (const char* const text :
       {"MaxPool2DWithIndicesBackward0", "autograd::engine::evaluate_function: AddmmBackward0",
        "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "aten::_scaled_dot_product_flash_attention"})
    EXPECT_EQ(redactor_.Text(text), text);
}

}  // namespace key_text_test
}  // namespace headroom
