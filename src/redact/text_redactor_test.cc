#include "redact/text_redactor.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace text_redactor_test {

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
        "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
        "train.py(12): <module>"}) {
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
  EXPECT_EQ(redactor_.Text("C:\\Users\\grace\\x1\\a.py(1): f"), "C:\\dire\\dirb\\dirf\\a.py(1): f");
  EXPECT_EQ(redactor_.Text("load file:///data/a.bin step"), "load urla step");
  EXPECT_EQ(redactor_.Text("0/0"), "0/0");
}

TEST_F(TextRedactorTest, HostsAndUsersAreKnownEverywhere) {
  const std::string path = "/home/grace/a.py", mail = "from ada@node7.cluster.internal";
  redactor_.Learn(path);
  redactor_.Learn(mail);
  EXPECT_EQ(redactor_.Text("step of GRACE"), "step of usera");
  EXPECT_EQ(redactor_.Text("at 10.1.2.3 or node7.cluster.internal"), "at hosta or hostb");
  EXPECT_EQ(redactor_.Text(mail), "from maila");
  EXPECT_EQ(redactor_.Text("https://wandb.example.com/run"), "urla");
  EXPECT_EQ(redactor_.Text("torch 2.7.1"), "torch 2.7.1");
}

TEST_F(TextRedactorTest, ArgumentsOfOthersGo) {
  EXPECT_EQ(
      redactor_.Arguments(R"("Input Dims": [[8, 384], []], "token": "hf_x", "Rank": 3)", false),
      R"("Input Dims": [[8, 384], []], "Rank": 3)");
  EXPECT_EQ(redactor_.Arguments(R"("customer": 42)", false), "");
  EXPECT_EQ(redactor_.Arguments(R"("ns": 42, "command": "python x.py")", true), R"("ns": 42)");
  EXPECT_EQ(redactor_.Process("python bluebird.py --token hf_abcdef"), "python");
}

TEST_F(TextRedactorTest, WhatIsNotAskedForStays) {
  TextRedactor paths(names_, {.remove = {true, false, false, false, false}});
  EXPECT_EQ(paths.Text("/data/bluebird/x.py(1): quokka at 10.1.2.3"),
            "/dira/dirb/x.py(1): quokka at 10.1.2.3");
  TextRedactor word(names_, {.remove = {}, .words = {"bluebird"}});
  EXPECT_EQ(word.Text("theBlueBirdNet"),
            "theworda"
            "Net");
  TextRedactor keep(names_, {.keep = {"bluebird"}});
  EXPECT_EQ(keep.Text("BluebirdQuokka"), "BluebirdNamea");
}

}  // namespace text_redactor_test
}  // namespace headroom
