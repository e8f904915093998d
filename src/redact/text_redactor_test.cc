#include "redact/text_redactor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/testing/sanitizer.h"
#include "redact/leak_scan.h"

namespace headroom {
namespace text_redactor_test {

/// Bytes of a long string. In a release build, redaction in quadratic time would take minutes.
/// Shorter under a sanitizer, which slows everything down.
constexpr std::size_t kLong = testing::kSanitized ? 40'000 : 400'000;

/// Stand-in for the analyses, which recognize kernels of matrix products and ranges of loaders.
bool MeanTheSame(std::string_view a, std::string_view b, NameRole role) {
  const auto is = [&](std::string_view name) {
    return role == NameRole::kKernel ? name.find("gemm") != name.npos : name.starts_with("loader.");
  };
  return is(a) == is(b);
}

class TextRedactorTest : public ::testing::Test {
 protected:
  PublicNames names_ = PublicNames::LoadBuiltIn().value();
  TextRedactor redactor_{names_, {}};
};

TEST_F(TextRedactorTest, PublicNamesStay) {
  for (const char* const text :
       {"aten::conv2d", "ProfilerStep#12", "Optimizer.step#AdamW.step",
        "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)",
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        "autograd::engine::evaluate_function: ConvolutionBackward0", "ampere_sgemm_128x64_nn",
        "Memcpy HtoD (Pinned -> Device)", "nn.Module: Linear_3",
        "torch/nn/modules/module.py(1501): _call_impl",
        "layer::encoder.layer.0.attention.self.query",
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", "train.py(12): <module>",
        "nn.Module: ResNet_0"}) {
    EXPECT_EQ(redactor_.Text(text), text);
  }
  EXPECT_TRUE(redactor_.Replacements().empty());
}

TEST_F(TextRedactorTest, OneTextOneToken) {
  EXPECT_EQ(redactor_.Text("nn.Module: BluebirdAttention_0"), "nn.Module: NameaAttention_0");
  EXPECT_EQ(redactor_.Text("bluebird_forward"), "namea_forward");
  EXPECT_EQ(redactor_.Text("BLUEBIRD2"), "NAMEA2");
  EXPECT_EQ(redactor_.Text("quokka_forward"), "nameb_forward");
  EXPECT_EQ(redactor_.Text("acmecorp::softmax_kernel<float>"), "namec::softmax_kernel<float>");
}

TEST_F(TextRedactorTest, PathsKeepTheirDepthAndLibrariesTheirPlace) {
  EXPECT_EQ(redactor_.Text("/home/grace/My Models/bluebird.py(12): forward"),
            "/dira/dirb/dirc/filea.py(12): forward");
  EXPECT_EQ(redactor_.Text(
                "/home/grace/venv/lib/python3.11/site-packages/torch/nn/linear.py(3): forward"),
            "/dira/dirb/dird/lib/python3.11/site-packages/torch/nn/linear.py(3): forward");
  EXPECT_EQ(redactor_.Text("C:\\Users\\grace\\x1\\a.py(1): f"),
            "C:\\Dire\\dirb\\dirf\\fileb.py(1): f");
  EXPECT_EQ(redactor_.Text("load file:///data/a.bin step"), "load urla step");
  EXPECT_EQ(redactor_.Text("0/0"), "0/0");
  EXPECT_EQ(redactor_.Text("jit(step)/transpose(jvp(net))/dot"),
            "jit(step)/transpose(jvp(net))/dot");
  TextRedactor paths(names_, {.remove = {true, false, false, false, false}});
  EXPECT_EQ(paths.Text("load(train)/acme/zebra.bin"), "load(train)/dira/filea.bin");
  EXPECT_EQ(redactor_.Text("copy(old)/home/grace/zebra.bin"), "copy(old)/dira/dirb/filec.bin");
}

TEST_F(TextRedactorTest, HostsAndUsersAreKnownEverywhere) {
  const std::string path = "/home/grace/a.py", mail = "from ada@node7.cluster.internal";
  redactor_.Learn(path);
  redactor_.Learn(mail);
  EXPECT_EQ(redactor_.Text("step of GRACE"), "step of USERA");
  EXPECT_EQ(redactor_.Text("at 10.1.2.3 or node7.cluster.internal"), "at hosta or hostb");
  EXPECT_EQ(redactor_.Text(mail), "from maila");
  EXPECT_EQ(redactor_.Text("https://wandb.example.com/run"), "urla");
  EXPECT_EQ(redactor_.Text("torch 2.7.1"), "torch 2.7.1");
}

TEST_F(TextRedactorTest, LoginsDoNotTakePublicWordsApart) {
  redactor_.Learn("/home/ada/x.py");
  redactor_.Learn("/home/dim/x.py");
  EXPECT_EQ(redactor_.Text("Adam of ada, channel of Ada2, adaptive"),
            "Adam of usera, channel of Usera2, adaptive");
  EXPECT_EQ(redactor_.Text("dim"), "dim");  // A word of frameworks; --word removes it.
}

TEST_F(TextRedactorTest, KeysAndHashesGoWhole) {
  EXPECT_EQ(redactor_.Text("token hf_tOkEnXyZ9"), "token hf_namea");
  EXPECT_EQ(redactor_.Text("commit 3f2504e0"), "commit nameb");
  EXPECT_EQ(redactor_.Text("GPU-3f2504e0-4f89-11d3-9a0c-0305e82c3301"), "hosta");
  EXPECT_EQ(redactor_.Text("x at 2001:db8::1"), "x at hostb");
}

TEST_F(TextRedactorTest, AddressesGoWithTheLongestNameAroundThem) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"ip-10-0-12-34.bluebird.corp", "hosta"},
      {"10.0.0.1-bob@acme.com", "maila"},
      {"192.168.1.17_rank0", "hostb_rank0"},
      {"run a1b2c3d4e5.10.0.0.1", "run nameahostc"},
      {"5.10.0.0.1 x", "hostc x"},
      {"tcp 10.0.0.1.29500", "tcp hostd.29500"},
  };
  for (const auto& [text, redacted] : kCases) EXPECT_EQ(redactor_.Text(text), redacted);
  TextRedactor keep(names_, {.keep = {"worker_10.0.0.1", "10.0.0.2", "10.0.0.3:29500"}});
  for (const std::string_view text : {"at 10.0.0.2:80", "at 10.0.0.3:29500"}) {
    EXPECT_EQ(keep.Text(text), text);
    EXPECT_EQ(keep.AddressIn(text), "");
  }
  EXPECT_EQ(keep.AddressIn("worker_10.0.0.1"), "");
  EXPECT_EQ(keep.AddressIn("10.0.0.2 worker_10.0.0.4"), "10.0.0.4");
}

TEST_F(TextRedactorTest, LongTextsTakeLinearTime) {
  for (const std::string_view piece :
       {"1:", "00:", "00-", "a+", "%41", "a.", "10.0.0.1-", "_/", "a@"}) {
    std::string text;
    while (text.size() < kLong / 4) text += piece;
    EXPECT_FALSE(redactor_.Text(text).empty()) << piece;  // The test's own timeout is the limit.
  }
}

TEST_F(TextRedactorTest, WhatStaysTakesLinearTime) {
  TextRedactor paths(names_, {.remove = {true, false, false, false, false}});
  for (const std::string_view piece : {"token=", "sk-", "eyJ", "x_node", "token='"}) {
    std::string text;
    while (text.size() < kLong) text += piece;
    paths.Learn(text);
    EXPECT_EQ(paths.Text(text), text) << piece;  // The test's own timeout is the limit.
  }
}

TEST_F(TextRedactorTest, WhatHasAFormGoesOfWhateverTextItIs) {
  EXPECT_EQ(redactor_.Arguments(R"("kind": "password: train1234 on node0042")", false),
            R"("kind": "namea: keya on hosta")");
  EXPECT_EQ(redactor_.Text("AKIAIOSFODNN7EXAMPLE", NameRole::kListed), "KEYB");
}

TEST_F(TextRedactorTest, WhatHasAFormGoesEverywhere) {
  const std::string machine = "on node0042", key = "AKIATRAINMODEL7STEP4";
  for (const std::string& text : {machine, key, std::string("rank_10_44_3_23")})
    redactor_.Learn(text);
  EXPECT_EQ(redactor_.Text("node0042_train", NameRole::kKernel), "hosta_train");
  EXPECT_EQ(redactor_.Text("node00421", NameRole::kKernel), "node00421");
  EXPECT_EQ(redactor_.Text("10_44_3_23_5", NameRole::kKernel), "hostb_5");
  EXPECT_EQ(redactor_.Text("rank_10_44_3_23", NameRole::kKernel), "rank_hostb");
  EXPECT_EQ(redactor_.Text("of_" + key, NameRole::kKernel), "of_KEYA");
  const LeakScan scan(redactor_.Replacements(), redactor_);
  EXPECT_TRUE(scan.Scan("the node0042_train").has_value());
  EXPECT_TRUE(scan.Scan("rank_10_44_3_23").has_value());
  EXPECT_FALSE(scan.Scan("node00421 rank_10_44_3_230").has_value());
}

TEST_F(TextRedactorTest, ManyMachinesTakeLinearTime) {
  std::string text = "on";
  for (int i = 10'000; i < 50'000; ++i) text.append(" node").append(std::to_string(i));
  redactor_.Learn(text);
  EXPECT_EQ(redactor_.Text(text).find("node"), std::string::npos);
  std::string repeated;
  for (int i = 0; i < 40'000; ++i) repeated += "node10000_";
  // The test's own timeout is the limit.
  EXPECT_EQ(redactor_.Text(repeated, NameRole::kKernel).find("node"), std::string::npos);
}

TEST_F(TextRedactorTest, LongTextsOfWordsThatAreAskedForTakeLinearTime) {
  TextRedactor asked(
      names_, {.asked = AskedTexts::Compile({"max"}, {}).value(), .mean_the_same = MeanTheSame});
  const LeakScan scan({}, asked);
  for (const std::string_view piece : {"max_", "Max", "max", "gemm_max "}) {
    std::string text;
    while (text.size() < kLong) text += piece;
    const std::string now = asked.Text(text, NameRole::kKernel);
    EXPECT_EQ(scan.LeakedText(now), std::nullopt) << piece;  // The test's own timeout is the limit.
  }
}

TEST_F(TextRedactorTest, MangledNamesKeepTheirForm) {
  EXPECT_EQ(redactor_.Text("_ZN2at6native8bluebird6kernelILi128EEEvPf", NameRole::kKernel),
            "_ZN2at6native5namea6kernelILi128EEEvPf");
  EXPECT_EQ(redactor_.Text("_ZBluebirdNet"), "_ZNameaNet");
}

TEST_F(TextRedactorTest, NamesWithinPublicNamespacesAreNotPublic) {
  EXPECT_EQ(redactor_.Text("at::native::bluebird_kernel<float>"),
            "at::native::namea_kernel<float>");
}

TEST_F(TextRedactorTest, ExpressionsReachEverywhere) {
  TextRedactor asked(names_,
                     {.asked = AskedTexts::Compile({}, {"JIRA-[0-9]+", "forward"}).value()});
  EXPECT_EQ(asked.Text("step of JIRA-1234 and JIRA-7"), "step of TEXTA and TEXTB");
  EXPECT_EQ(asked.Text("/x/site-packages/torch/forward/a.py(3): forward"),
            "/dira/site-packages/torch/textc/a.py(3): textc");
  EXPECT_EQ(asked.Text("/home/JIRA-1234x/run"), "/dirb/dirc/filea");
  EXPECT_EQ(asked.Arguments(R"("name": "forward", "Rank": 3)", false),
            R"("name": "textc", "Rank": 3)");
  for (const char* const bad : {"(", "a*", ""})
    EXPECT_EQ(AskedTexts::Compile({}, {bad}).status().code(), StatusCode::kUsage) << bad;
}

TEST_F(TextRedactorTest, WordsThatAreAskedForSpareWhatFrameworksWrite) {
  TextRedactor asked(
      names_, {.asked = AskedTexts::Compile({"max", "loader", "gemm", "magictree"}, {}).value(),
               .mean_the_same = MeanTheSame});
  for (const std::string_view kernel :
       {"void at::native::max_pool_forward_nchw<float>(int)", "sgemm_128x64_nn"})
    EXPECT_EQ(asked.Text(kernel, NameRole::kKernel), kernel);
  EXPECT_EQ(asked.Text("aten::max_pool2d", NameRole::kOperator), "aten::max_pool2d");
  EXPECT_TRUE(asked.HasSpared("aten::max_pool2d"));
  EXPECT_EQ(asked.Text("max pool", NameRole::kOperator), "worda pool");
  EXPECT_EQ(asked.Text("max pool"), "worda pool");
  EXPECT_FALSE(asked.HasSpared("worda pool"));
  EXPECT_EQ(asked.needed(), std::nullopt);
  // Text of more than one public word belongs to a user.
  EXPECT_EQ(asked.Text("MagicTreeKernel", NameRole::kKernel), "wordbKernel");
}

TEST_F(TextRedactorTest, OfWordsThatAreAskedForOnlyThoseThatAreNeededStay) {
  TextRedactor asked(names_, {.asked = AskedTexts::Compile({"max", "loader", "gemm"}, {}).value(),
                              .mean_the_same = MeanTheSame});
  EXPECT_EQ(asked.Text("loader.batch of Max"), "loader.batch of Worda");
  EXPECT_EQ(asked.Text("gemm for max"), "wordb for worda");
  EXPECT_EQ(asked.Text("max_gemm_gemm", NameRole::kKernel), "worda_gemm_wordb");
  EXPECT_EQ(asked.Text("max_attention_kernel", NameRole::kKernel), "worda_attention_kernel");
  EXPECT_EQ(asked.Text("max::train_step", NameRole::kOperator), "worda::train_step");
  EXPECT_EQ(asked.Text("aten::bluebird_max", NameRole::kOperator), "aten::namea_worda");
}

TEST_F(TextRedactorTest, PrivateWordsThatDecideWhatAKernelIsAreNoted) {
  TextRedactor redactor(names_, {.mean_the_same = MeanTheSame});
  EXPECT_EQ(redactor.Text("bluebird_kernel", NameRole::kKernel), "namea_kernel");
  EXPECT_TRUE(redactor.decisive().empty());
  redactor.Text("void bluebird_quickgemm<float>", NameRole::kKernel);
  redactor.Text("void bluebird_quickgemm<int>", NameRole::kKernel);
  ASSERT_EQ(redactor.decisive().size(), 1U);
  EXPECT_EQ(redactor.decisive()[0].part, "quickgemm");
  EXPECT_EQ(redactor.decisive()[0].text, "void bluebird_quickgemm<float>");
}

TEST_F(TextRedactorTest, RoutinesOfBlasArePublic) {
  for (const char* const kernel :
       {"volta_cgemm_32x32_tn", "ampere_zgemm_64x64_nt", "maxwell_scgemm_128x64", "turing_zherk",
        "void gemv2T_kernel_val<int, double2>", "hopper_dtrsm_left"})
    EXPECT_EQ(redactor_.Text(kernel, NameRole::kKernel), kernel);
}

TEST_F(TextRedactorTest, ArgumentsOfOthersGo) {
  EXPECT_EQ(
      redactor_.Arguments(R"("Input Dims": [[8, 384], []], "token": "hf_x", "Rank": 3)", false),
      R"("Input Dims": [[8, 384], []], "Rank": 3)");
  EXPECT_EQ(redactor_.Arguments(R"("customer": 42)", false), "");
  TextRedactor keys(names_, {});
  EXPECT_EQ(keys.Arguments(R"("In msg nelems": 42)", false), R"("In msg nelems": 42)");
  EXPECT_TRUE(keys.Replacements().empty());
  EXPECT_EQ(redactor_.Arguments(R"("ns": 42, "command": "python x.py")", true), R"("ns": 42)");
  EXPECT_EQ(redactor_.Arguments(R"("bluebird": 42, "dropped_depth": 1)", true),
            R"("dropped_depth": 1)");
  EXPECT_EQ(redactor_.Arguments(R"("Rank": quokka, "dtype": "\u0071uokka")", false),
            R"("Rank": null, "dtype": "namec")");
  EXPECT_EQ(redactor_.Process("python bluebird.py --token hf_abcdef"), "python");
  EXPECT_EQ(redactor_.Process("rank 1 on node17: python (4711)"), "rank 1 on hosta: python");
  EXPECT_EQ(redactor_.Process("GPU 0"), "GPU 0");
  EXPECT_EQ(redactor_.Process("python 123456"), "python");
  EXPECT_EQ(redactor_.Process("python\t--token\thf_abcdef"), "python");
  EXPECT_EQ(redactor_.Process("python=--token=hf_abcdef"), "python");
  EXPECT_EQ(redactor_.Process("rank --token train: x"), "rank");
  EXPECT_EQ(redactor_.Process("rank 1 on --token hf_secret"), "rank");
  EXPECT_EQ(redactor_.Process({"python\0--token\0hf_abcdef", 24}), "python");
  EXPECT_EQ(redactor_.Process("python "), "python ");
}

TEST_F(TextRedactorTest, WhatIsNotAskedForStays) {
  TextRedactor paths(names_, {.remove = {true, false, false, false, false}});
  EXPECT_EQ(paths.Text("/data/bluebird/x.py(1): quokka at 10.1.2.3"),
            "/dira/dirb/filea.py(1): quokka at 10.1.2.3");
  TextRedactor word(names_, {.remove = {}, .asked = AskedTexts::Compile({"bluebird"}, {}).value()});
  EXPECT_EQ(word.Text("theBlueBirdNet"),
            "the"
            "worda"
            "Net");
  TextRedactor keep(names_, {.keep = {"bluebird"}});
  EXPECT_EQ(keep.Text("BluebirdQuokka"), "BluebirdNamea");
}

// With more than 46 strings, "textat" is a token. The consecutive tokens "texta" and "textb" begin
// with the same letters.
TEST_F(TextRedactorTest, TokensInARowAreTokens) {
  std::string all;
  for (char c = '!'; c <= '~'; ++c) all += c;
  TextRedactor redactor(names_, {.asked = AskedTexts::Compile({}, {"."}).value()});
  const std::vector<bool> is_token = redactor.BytesOfTokens(redactor.Text(all));
  EXPECT_EQ(std::count(is_token.begin(), is_token.end(), false), 0);
  EXPECT_GT(is_token.size(), all.size());
}

}  // namespace text_redactor_test
}  // namespace headroom
