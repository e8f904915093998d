#include "redact/key_text.h"

#include <gtest/gtest.h>

#include <string>

#include "base/testing/growth.h"
#include "redact/host_text.h"
#include "redact/leak_scan.h"
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
  // A key that consists of public parts.
  EXPECT_EQ(redactor_.Text("of Max7Pool2dA3Step9Run4X1 and"), "of keya and");
  EXPECT_EQ(redactor_.Text("QJ7XK2PTRAIN9MODEL4Z"), "KEYB");
  EXPECT_EQ(RandomTextAt("MaxxPoool2ddStepp7Ra", 0), 20u);  // Changes 10 times.
  EXPECT_EQ(RandomTextAt("MaxxPoool2ddStepp7Raa", 0), 0u);  // Also changes 10 times, but is longer.
}

TEST_F(KeyTextTest, ValuesOfSecretsGo) {
  EXPECT_EQ(redactor_.Text("password: train1234, step"), "namea: keya, step");
  EXPECT_EQ(redactor_.Text("API_KEY=max&x"), "API_KEY=keyb&x");
  EXPECT_EQ(redactor_.Text("Bearer model"), "Nameb keyc");
  EXPECT_EQ(redactor_.Text("secret=a:b==; step"), "namec=keyd; step");
  for (const char* const text :
       {"token: 17", "ms per token: 1010.25", "token 17/128", "token=3.5ms"})
    EXPECT_EQ(redactor_.Text(text), text);
  EXPECT_EQ(redactor_.Text("token::embedding"), "token::embedding");
  EXPECT_EQ(redactor_.Text("max_tokens=layer"), "max_tokens=layer");
}

TEST_F(KeyTextTest, ValuesOfSecretsGoInQuotes) {
  EXPECT_EQ(redactor_.Text("load(password='train 1234')"), "load(namea='keya')");
  EXPECT_EQ(redactor_.Text(R"({"token": "model12"})"), R"({"token": "keyb"})");
  EXPECT_EQ(redactor_.Text("token='model data"), "token='keyc") << "a truncated text";
  EXPECT_EQ(redactor_.Text("password=b'48213377'"), "namea=b'keyd'");
  EXPECT_EQ(redactor_.Text(R"(token=f"open model 7788")"), R"(token=f"keye")");
  EXPECT_EQ(redactor_.Text("token='''train batch'''"), "token='''keyf'''");
  EXPECT_EQ(redactor_.Text(R"({\"token\": \"train model 42\"})"), R"({\"token\": \"keyg\"})");
  EXPECT_EQ(redactor_.Text(R"("token": "a\"b model 42", step)"), R"("token": "keyh", step)");
  EXPECT_EQ(redactor_.Text("token='it''s model 42'"), "token='keyi'");
  EXPECT_EQ(redactor_.Text("token=`model 42`"), "token=`keyj`");
}

TEST_F(KeyTextTest, ValuesOfSecretsGoBehindOtherSigns) {
  EXPECT_EQ(redactor_.Text("--token model step"), "--token keya step");
  EXPECT_EQ(redactor_.Text("--token 'model 42'"), "--token 'keyb'");
  EXPECT_EQ(redactor_.Text("token => model"), "token => keya");
  EXPECT_EQ(redactor_.Text("token := 'train batch'"), "token := 'keyc'");
  EXPECT_EQ(redactor_.Text("set_token('train batch')"), "set_token('keyc')");
  EXPECT_EQ(redactor_.Text("token =\n'model 42'"), "token =\n'keyb'");
  for (const char* const text : {"--max-token 128", "token step", "token(step)"})
    EXPECT_EQ(redactor_.Text(text), text);
}

TEST_F(KeyTextTest, ValuesOfSecretsGoInBracketsAndHeaders) {
  for (const char* const text : {"password=<zebra>",
                                 "password=[zebra]",
                                 "secret: {zebra}",
                                 "passwords=zebra",
                                 "pass=zebra",
                                 "password: \u201czebra\u201d",
                                 "secret=\u2018zebra\u2019",
                                 "Authorization: Basic zebra",
                                 "\"Authorization\": \"Basic zebra\"",
                                 "credentials=zebra",
                                 "Authorization: Token zebra",
                                 "authorization: zebra",
                                 "-H 'Authorization: Digest zebra'",
                                 "DB_PASS=zebra",
                                 "--pass zebra",
                                 "pin=zebra",
                                 "MY_PIN=zebra",
                                 "Passwort: zebra",
                                 "contraseña=zebra",
                                 "mot de passe : zebra",
                                 "senha=zebra",
                                 "пароль: zebra",
                                 "密码=zebra",
                                 "--passcode=zebra"}) {
    const std::string_view whole = text;
    const std::size_t at = whole.find("zebra");
    EXPECT_EQ(SecretValueAt(whole, at), at + 5) << text;
  }
  for (const char* const text :
       {"pass: zebra", "Basic zebra", "forward pass zebra", "auth(zebra", "backward_pass=zebra",
        "forward pass=zebra", "two-pass=zebra", "next-token zebra", "[CLS]-token zebra"})
    EXPECT_EQ(SecretValueAt(text, std::string_view(text).find("zebra")),
              std::string_view(text).find("zebra"))
        << text;
  EXPECT_EQ(SecretValueAt("pass=2", 5), 5u) << "a count";
  for (const std::string_view text :
       {"DB_PASS=1234", "--pass 1234", "pin=1234", "Passwort=1234", "Authorization: Token 1234"})
    EXPECT_EQ(SecretValueAt(text, text.size() - 4), text.size()) << text;
  for (const std::string_view text :
       {"num_pass=1234", "pin_memory=1234", "spin=1234", "conclave 1234"})
    EXPECT_EQ(SecretValueAt(text, text.size() - 4), text.size() - 4) << text;
  EXPECT_EQ(SecretValueAt("Authorization: Token zebra", 15), 15u) << "the scheme";
  for (const std::string_view text : {"--hf-token zebra", "run -token zebra", "user=x,pass=zebra"})
    EXPECT_EQ(SecretValueAt(text, text.size() - 5), text.size()) << text;
}

TEST_F(KeyTextTest, ValuesInQuotesEndWhereTheyAreClosed) {
  struct Case {
    std::string_view text;
    std::string_view value;
  };
  constexpr Case kCases[] = {
      {R"({"token": "a\"model train"} step)", R"(a\"model train)"},
      {R"({"token": "a\\"} step "x")", R"(a\\)"},
      {R"({"token": "a\\\"model"} step)", R"(a\\\"model)"},
      {R"({\"token\": \"a\\\"model train\"} step)", R"(a\\\"model train)"},
      {R"({\"token\": \"a\\\\\"} step)", R"(a\\\\)"},
      {R"({"token": 'it''s'} step)", "it''s"},
  };
  for (const Case& c : kCases) {
    const std::size_t at = c.text.find(c.value);
    ASSERT_NE(at, std::string_view::npos) << c.text;
    EXPECT_EQ(c.text.substr(at, SecretValueAt(c.text, at) - at), c.value) << c.text;
  }
}

TEST_F(KeyTextTest, LongRunsAreLookedAtOnce) {
  for (const std::string_view piece : {"b", "hf_", "sk-", "a-", "10.0.0.1-", "abq", "\\"}) {
    SCOPED_TRACE(piece);
    ExpectNoQuadraticTime(20'000, [&](int bytes) {
      std::string text;
      while (text.size() < static_cast<std::size_t>(bytes)) text += piece;
      return [this, text] {
        TextRedactor redactor(names_, {});
        redactor.Learn("/home/abq/x.py");
        redactor.Keep("10.0.0.1");
        redactor.Learn(text);
        redactor.Text(text);
      };
    });
  }
}

TEST_F(KeyTextTest, ValuesOfPublicWordsGoInTheirPlaceOnly) {
  EXPECT_EQ(redactor_.Text("token: aten::mm"), "token: keya");
  EXPECT_EQ(redactor_.Text("token: zebra.25"), "token: keyb");
  const LeakScan scan(redactor_.Replacements(), redactor_);
  EXPECT_FALSE(scan.Scan("aten::mm").has_value());
  EXPECT_TRUE(scan.Scan("zebra.25").has_value());
}

TEST_F(KeyTextTest, MachinesGoByTheirNumbers) {
  EXPECT_EQ(redactor_.Text("on node0042 and gpu017, worker-003"), "on hosta and hostb, hostc");
  EXPECT_EQ(redactor_.Text("host gpu-osprey-17"), "host hostd");
  EXPECT_EQ(redactor_.Text("hostname=train"), "namea=hoste");
  EXPECT_EQ(redactor_.Text("rank_10_44_3_23"), "rank_hostf");
  EXPECT_EQ(redactor_.Text("192_168_0_1"), "hostg");
  EXPECT_EQ(redactor_.Text("train_node0042_step"), "train_hosta_step");
  for (const char* const text : {"gpu0", "worker 3", "0_1_2_3", "10_44_3_23_5", "host to device 3",
                                 "/host:CPU", "/device:GPU:0 stream 7"})
    EXPECT_EQ(redactor_.Text(text), text);
}

TEST_F(KeyTextTest, NamesOfProgramsTeachNoMachines) {
  for (const std::string_view name :
       {"flash_fwd_head128_kernel", "reduce_r16u16_kernel", "layer_n0128_gemm"}) {
    redactor_.Learn(name, /*spells_numbers=*/true);
    EXPECT_EQ(redactor_.Text(name, NameRole::kKernel).find("host"), std::string::npos) << name;
  }
  redactor_.Learn("on gpu017");
  EXPECT_EQ(redactor_.Text("gemm_gpu017", NameRole::kKernel), "gemm_hosta");
}

TEST(HostText, MachinesByTheWaysInWhichTheyAreNumbered) {
  for (const std::string_view text :
       {"cn0123", "nid001234", "n0042", "r05u14", "compute-0-14", "node_0042", "node[0001-0042]",
        "cn[001,007-012]", "zebra[001-016]", "rack2-[01-04]", "worker-003"}) {
    EXPECT_EQ(NumberedMachineAt(text, 0), text.size()) << text;
    for (const std::string_view before : {"train-", "rank0-", "x."}) {
      const std::string whole = std::string(before).append(text);
      EXPECT_EQ(NumberedMachineAt(whole, before.size()), whole.size()) << whole;
    }
    for (const std::string_view behind : {"-ib0", ".train", ".mycorp.lan2", ": step", "_x"}) {
      const std::string whole = std::string(text).append(behind);
      EXPECT_EQ(NumberedMachineAt(whole, 0), text.size()) << whole;
    }
  }
  for (const std::string_view text :
       {"n42", "r5u1", "gpu-0-1", "node_3", "layers[0-3]", "node_12", "run16u8x", "x[0]", "n1024",
        "node[]", "weight[00]", "tokens[01]", "layers[00-11]", "head[0]", "node[3]", "node-0",
        "node0042x", "r16u16x", "xnode0042"})
    EXPECT_EQ(NumberedMachineAt(text, 0), 0u) << text;
  EXPECT_EQ(HostAt("001a.2b3c.4d5e", 0), 14u);
  EXPECT_EQ(HostAt("1234.5678.9012", 0), 0u);
  for (const std::string_view text :
       {"host='osprey'", "host: \"osprey\"", "\"hostname\": \"osprey\"", "host=osprey",
        "host := osprey", "host => osprey"}) {
    const std::size_t at = text.find("osprey");
    EXPECT_EQ(NamedMachineAt(text, at), at + 6) << text;
  }
  EXPECT_EQ(NamedMachineAt("host::osprey", 6), 6u);
}

TEST_F(KeyTextTest, NamesOfFrameworksStay) {
  for (const char* const text :
       {"MaxPool2DWithIndicesBackward0", "autograd::engine::evaluate_function: AddmmBackward0",
        "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "aten::_scaled_dot_product_flash_attention",
        "attn_fwd_128_128_64_64", "conv_10_3_3_1", "triton_gemm_128_128_64_32",
        "hf_transformers_attention_forward", "copy host=device", "memory of node0"})
    EXPECT_EQ(redactor_.Text(text), text);
  EXPECT_EQ(IssuedKeyAt("sk-learn-preprocessing-pipeline", 0), 0u);
  EXPECT_EQ(NamedMachineAt("ghost=layer", 6), 6u);
}

}  // namespace key_text_test
}  // namespace headroom
