#include "cost/kernel_class.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/testing/damage.h"
#include "cost/rule_checks.h"
#include "cost/test_files.h"

namespace headroom {
namespace kernel_class_test {

const std::string& ShippedText() {
  static const std::string text = ReadWholeFile(SourceDir() / "data/rules/kernels.toml");
  return text;
}

const KernelClassifier& ShippedClassifier() {
  static const KernelClassifier classifier = [] {
    Result<KernelClassifier> result = KernelClassifier::Parse({"kernels.toml", ShippedText()});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
  }();
  return classifier;
}

const std::vector<std::vector<NameRule>>& ShippedRules() {
  static const auto rules = ReadRules({"kernels.toml", ShippedText()}, kKernelRuleLists).value();
  return rules;
}

/// Returns the value of a class for one of the rule lists.
std::string_view AnswerIn(std::string_view list, const KernelClass& answer) {
  if (list == "family") return Name(answer.family);
  if (list == "tensor_cores") return Name(answer.tensor_cores);
  if (list == "math_dtype") return Name(answer.math_dtype);
  return answer.fast_algorithm ? "yes" : "no";
}

TEST(KernelRules, ClassifyTheirOwnExamplesAsStated) {
  for (std::size_t list = 0; list < std::size(kKernelRuleLists); ++list) {
    for (const NameRule& rule : ShippedRules()[list]) {
      for (const std::string& name : rule.examples) {
        EXPECT_EQ(AnswerIn(kKernelRuleLists[list].list, ShippedClassifier().Classify(name)),
                  rule.value)
            << rule.where << ": " << name;
      }
    }
  }
}

// A rule that an earlier rule always shadows is dead, even if both give the same value.
TEST(KernelRules, AreEachTheFirstToMatchTheirExamples) {
  for (const std::vector<NameRule>& list : ShippedRules()) {
    for (const NameRule& rule : list) {
      for (const std::string& name : rule.examples) {
        const auto first = std::find_if(list.begin(), list.end(), [&](const NameRule& other) {
          return RE2::PartialMatch(name, other.match);
        });
        ASSERT_NE(first, list.end()) << rule.where << ": " << name;
        EXPECT_EQ(first->where, rule.where) << name;
      }
    }
  }
}

TEST(KernelRules, HaveAnExampleForEachAlternative) {
  for (const std::vector<NameRule>& list : ShippedRules()) {
    for (const NameRule& rule : list) ExpectAnExampleForEachAlternative(rule);
  }
}

struct NameCase {
  const char* kernel;
  WorkFamily family;
  TensorCoreUse tensor_cores;
  DType math;
};

TEST(KernelRules, TellWholeClasses) {
  const NameCase cases[] = {
      {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
       "alignc4_execute_kernel__5x_cublas",
       WorkFamily::kMatmul, TensorCoreUse::kNo, DType::kF32},
      {"sm90_xmma_gemm_f32f32_tf32f32_f32_nt_n_tilesize128x128x32_warpgroupsize1x1x1_execute_"
       "segment_k_on_kernel__5x_cublas",
       WorkFamily::kMatmul, TensorCoreUse::kYes, DType::kTF32},
      {"nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT", WorkFamily::kMatmul, TensorCoreUse::kYes,
       DType::kF16},
      {"ampere_sgemm_128x32_tn", WorkFamily::kMatmul, TensorCoreUse::kNo, DType::kF32},
      {"Cijk_Alik_Bljk_SB_MT96x96x32_MI16x16x4x1_SN_1LDSB1_APM1", WorkFamily::kMatmul,
       TensorCoreUse::kYes, DType::kF32},
      {"void cudnn::winograd_nonfused::winogradWgradData4x4<float, "
       "float>(cudnn::winograd_nonfused::WinogradDataParams<float, float>)",
       WorkFamily::kConvolution, TensorCoreUse::kNo, DType::kF32},
      {"void at::native::vectorized_elementwise_kernel<4, "
       "at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)",
       WorkFamily::kElementwise, TensorCoreUse::kNo, DType::kUnknown},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", WorkFamily::kCommunication,
       TensorCoreUse::kNo, DType::kUnknown},
      {"triton_tem_fused_mm_0", WorkFamily::kMatmul, TensorCoreUse::kUnknown, DType::kUnknown},
      {"Memcpy HtoD (Pinned -> Device)", WorkFamily::kCopy, TensorCoreUse::kNo, DType::kUnknown},
      {"my_kernel(float*)", WorkFamily::kUnclassified, TensorCoreUse::kUnknown, DType::kUnknown},
      {"", WorkFamily::kUnclassified, TensorCoreUse::kUnknown, DType::kUnknown},
  };
  for (const NameCase& c : cases) {
    const KernelClass got = ShippedClassifier().Classify(c.kernel);
    EXPECT_EQ(Name(got.family), Name(c.family)) << c.kernel;
    EXPECT_EQ(Name(got.tensor_cores), Name(c.tensor_cores)) << c.kernel;
    EXPECT_EQ(Name(got.math_dtype), Name(c.math)) << c.kernel;
  }
}

TEST(WorkFamilies, ThatMultiplyMatricesAreThree) {
  EXPECT_TRUE(MultipliesMatrices(WorkFamily::kMatmul));
  EXPECT_TRUE(MultipliesMatrices(WorkFamily::kConvolution));
  EXPECT_TRUE(MultipliesMatrices(WorkFamily::kAttention));
  EXPECT_FALSE(MultipliesMatrices(WorkFamily::kFused));
  EXPECT_FALSE(MultipliesMatrices(WorkFamily::kUnclassified));
}

// Kernel names that are longer than a line.
constexpr char kRmsNormOfTensorRt[] =
    "void tensorrt_llm::kernels::rms_norm_kernel<__half>(tensorrt_llm::kernels::"
    "AllReduceParams)";
constexpr char kOneShotOfTensorRt[] =
    "void tensorrt_llm::kernels::oneShotAllReduceKernel<float, 2, true>(tensorrt_llm::"
    "kernels::AllReduceParams)";
constexpr char kTwoShotOfTensorRt[] =
    "void tensorrt_llm::kernels::lowPrecisionTwoShotAllReduceKernel<__half, __nv_fp8_e4m3, "
    "4>(tensorrt_llm::kernels::LowPrecisionAllReduceParams)";
constexpr char kFusedOfTensorRt[] =
    "void tensorrt_llm::kernels::reduce_fusion::lamport_style_one_shot_all_reduce_norm_"
    "kernel<__half, 8, true, true>(tensorrt_llm::kernels::AllReduceParams)";

// Communication kernels must come from a collective library. A similar name is not enough.
TEST(KernelRules, DoNotTakeOrdinaryKernelsForCommunication) {
  for (const char* name : {
           "hipMemcpyWithStream",
           "hip_saxpy(float*)",
           "triton_poi_fused_all_reduce_wait_tensor_0",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, float>",
           "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)",
           "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>",
           "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
           kRmsNormOfTensorRt,
           "void small_reduce_kernel<float>(float*)",
           "void at::native::indexFuncSmallReduce<float>(float*)",
           "void at::native::(anonymous namespace)::scatter_reduce_kernel<float>(float*)",
           "void apex_nccl_allocator_zero",
           "moeA2ASanitizeExpertIdsKernel",
           "MatmulAllReduceAddRmsNorm",
           "AlltoAllAllGatherBatchMatMul",
           "hcommon_kernel",
           "dispatch_kernel",
       }) {
    EXPECT_NE(ShippedClassifier().Classify(name).family, WorkFamily::kCommunication) << name;
  }
}

TEST(KernelRules, KnowCollectivesOfManyLibrariesInAnyCase) {
  for (const char* name : {
           // TensorRT-LLM, and PyTorch's intra-node communicator before symmetric memory.
           kOneShotOfTensorRt,
           kTwoShotOfTensorRt,
           kFusedOfTensorRt,
           "tensorrt_llm::kernels::moe_comm::moeA2ACombineKernel<8>(int)",
           // FlashInfer.
           "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<1, float>(float*)",
           // TransformerEngine.
           "void userbuffers_fp16_sum_inplace_gpu_rr_rs_oop_fp8<4, __nv_fp8_e5m2>(void*, float*)",
           "userbuffers_fp16_sum_gpu_mc_rmsnorm",
           "kuserbuffers_pushrecv(int, int, int*, int*, int)",
           // CANN.
           "hcom_alltoallv__210_3_1",
           "hcom_send__017_0_1",
           "HcclAllReduce",
           "aiv_all_gather_bfloat16_t",
           "allreduceAicpuKernel",
           // oneCCL, rocSHMEM, PyTorch.
           "oneccl_reduce_scatter_large_read",
           "rocshmem::rocshmem_alltoall_kernel(int*)",
           "void c10d::symmetric_memory::put_signal_kernel(unsigned int**, int, int)",
           "_multimem_all_gather_kernel",
           "ccl_ALLREDUCE_large",
       }) {
    EXPECT_EQ(ShippedClassifier().Classify(name).family, WorkFamily::kCommunication) << name;
  }
}

TEST(KernelRules, TakeTheNameOfALibraryForItsWork) {
  // "fbgemm" contains "gemm" but does no matrix product.
  EXPECT_EQ(ShippedClassifier()
                .Classify("void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int)")
                .family,
            WorkFamily::kIndexing);
}

TEST(KernelRules, StayBoundedOnHostileNames) {
  const std::string long_name = std::string(1 << 20, 'a') + "gemm";
  EXPECT_EQ(ShippedClassifier().Classify(long_name).family, WorkFamily::kUnclassified)
      << "only the first 4096 bytes count";
  const std::string with_bytes =
      std::string("\xff\xfe\0\n", 4) + "void cublasLt::splitKreduce_kernel<1>";
  EXPECT_EQ(ShippedClassifier().Classify(with_bytes).family, WorkFamily::kMatmul);
}

/// Returns a real name with a few changed bytes, so that it comes close to many rules.
std::string AnyName() {
  const std::vector<NameRule>& rules = ShippedRules()[0];
  const NameRule rule = *rc::gen::elementOf(rules);
  return Damaged(*rc::gen::elementOf(rule.examples));
}

RC_GTEST_PROP(KernelRulesProperty, AnyNameGetsAClassThatHoldsTogether, ()) {
  const std::string name = AnyName();
  const KernelClass got = ShippedClassifier().Classify(name);
  RC_ASSERT(WorkFamilyFromName(Name(got.family)) == got.family);
  if (!MultipliesMatrices(got.family)) {
    RC_ASSERT(got.math_dtype == DType::kUnknown);
    const bool may_use_them =
        got.family == WorkFamily::kFused || got.family == WorkFamily::kUnclassified;
    RC_ASSERT(may_use_them || got.tensor_cores == TensorCoreUse::kNo);
  }
  const auto first =
      std::find_if(ShippedRules()[0].begin(), ShippedRules()[0].end(), [&](const NameRule& rule) {
        RE2::Options bytes(RE2::Latin1);
        bytes.set_dot_nl(true);
        return RE2::PartialMatch(name, RE2(rule.match, bytes));
      });
  RC_ASSERT(Name(got.family) == (first == ShippedRules()[0].end() ? "unclassified" : first->value));
}

RC_GTEST_PROP(KernelClassifierProperty, ADamagedRuleFileWorksOrIsRefusedByName, ()) {
  const std::string text = Damaged(ShippedText());
  const Result<KernelClassifier> result = KernelClassifier::Parse({"damaged.toml", text});
  if (result.ok()) {
    RC_ASSERT(ReadRules({"damaged.toml", text}, kKernelRuleLists).ok());
    RC_ASSERT(Name(result.value().Classify("ncclDevKernel_Generic").family) != "");
  } else {
    RC_ASSERT(result.status().code() == StatusCode::kBadInput);
    RC_ASSERT(result.status().message().find("damaged.toml") != std::string::npos);
  }
}

TEST(KernelClassifier, SaysWhatIsWrongWithARuleFile) {
  const std::string rule = "is = \"matmul\"\nmatch = 'gemm'\nexamples = [\"gemm\"]\n";
  const std::string rest =
      "[[tensor_cores]]\nis = \"yes\"\nmatch = 'x'\nexamples = [\"x\"]\n"
      "[[math_dtype]]\nis = \"fp32\"\nmatch = 'x'\nexamples = [\"x\"]\n"
      "[[fast_algorithm]]\nis = \"no\"\nmatch = 'x'\nexamples = [\"x\"]\n";
  const std::string good = "[[family]]\n" + rule + rest;
  EXPECT_TRUE(KernelClassifier::Parse({"r.toml", good}).ok());

  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  struct Case {
    std::string text;
    const char* names;  ///< The message must contain it.
  };
  const Case cases[] = {
      {"family = ", "line 1"},
      {rest, "[[family]]"},
      {replaced("\"matmul\"", "\"matmull\""), "matmull"},
      {replaced("'gemm'", "'(gemm'"), "(gemm"},
      {replaced("examples = [\"gemm\"]", "examples = []"), "examples"},
      {replaced("examples = [\"gemm\"]", "examples = [1]"), "examples"},
      {replaced("match = 'gemm'", "match = 'gemm'\nweight = 3"), "rule 1 of [[family]]"},
  };
  for (const Case& c : cases) {
    const Result<KernelClassifier> result = KernelClassifier::Parse({"r.toml", c.text});
    ASSERT_FALSE(result.ok()) << c.text;
    EXPECT_EQ(result.status().code(), StatusCode::kBadInput);
    EXPECT_NE(result.status().message().find("r.toml"), std::string::npos)
        << result.status().message();
    EXPECT_NE(result.status().message().find(c.names), std::string::npos)
        << result.status().message();
  }
}

}  // namespace kernel_class_test
}  // namespace headroom
