#include "cost/kernel_class.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "cost/test_files.h"

namespace headroom {
namespace {

const KernelClassifier& Shipped() {
  static const KernelClassifier classifier = [] {
    const std::string text = ReadWholeFile(SourceDir() / "data/rules/kernels.toml");
    Result<KernelClassifier> result = KernelClassifier::Parse({"kernels.toml", text});
    EXPECT_TRUE(result.ok()) << result.status().message();
    return std::move(result).value();
  }();
  return classifier;
}

TEST(KernelRules, ClassifyTheirOwnExamplesAsStated) {
  ASSERT_GT(Shipped().examples().size(), 100u);
  for (const KernelClassifier::Example& example : Shipped().examples()) {
    const KernelClass result = Shipped().Classify(example.kernel);
    const std::string_view got = example.list == "family"         ? Name(result.family)
                                 : example.list == "tensor_cores" ? Name(result.tensor_cores)
                                 : example.list == "fast_algorithm"
                                     ? std::string_view(result.fast_algorithm ? "yes" : "no")
                                     : Name(result.math_dtype);
    EXPECT_EQ(got, example.expect) << example.list << " of " << example.kernel;
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
    const KernelClass got = Shipped().Classify(c.kernel);
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

// What a report calls communication must come from a collective library, not from a name that
// sounds like one.
TEST(KernelRules, DoNotTakeOrdinaryKernelsForCommunication) {
  for (const char* name : {
           "hipMemcpyWithStream",
           "hip_saxpy(float*)",
           "triton_poi_fused_all_reduce_wait_tensor_0",
           "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
           "at::native::func_wrapper_t<float>",
           "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)",
           "void cub::DeviceReduceByKeyKernel<cub::DispatchReduceByKey<long*>",
           "void cublasLt::splitKreduce_kernel<32, 16, int, float>",
       }) {
    EXPECT_NE(Shipped().Classify(name).family, WorkFamily::kCommunication) << name;
  }
}

TEST(KernelRules, TakeTheNameOfALibraryForItsWork) {
  // "fbgemm" holds "gemm" and is no matrix product.
  EXPECT_EQ(
      Shipped().Classify("void fbgemm_gpu::permute_2D_data_kernel<false, int, int>(int)").family,
      WorkFamily::kIndexing);
}

TEST(KernelRules, StayBoundedOnHostileNames) {
  const std::string long_name = std::string(1 << 20, 'a') + "gemm";
  EXPECT_EQ(Shipped().Classify(long_name).family, WorkFamily::kUnclassified)
      << "judged by its first 4096 bytes";
  const std::string with_bytes =
      std::string("\xff\xfe\0\n", 4) + "void cublasLt::splitKreduce_kernel<1>";
  EXPECT_EQ(Shipped().Classify(with_bytes).family, WorkFamily::kMatmul);
}

RC_GTEST_PROP(KernelRulesProperty, AnyNameIsClassified, (const std::string& name)) {
  (void)Shipped().Classify(name);
}

TEST(KernelClassifier, SaysWhatIsWrongWithARuleFile) {
  const std::string rule = "is = \"matmul\"\nmatch = 'gemm'\nexamples = [\"gemm\"]\n";
  const std::string rest =
      "[[tensor_cores]]\nis = \"yes\"\nmatch = 'x'\nexamples = [\"x\"]\n"
      "[[math_dtype]]\nis = \"fp32\"\nmatch = 'x'\nexamples = [\"x\"]\n"
      "[[fast_algorithm]]\nis = \"no\"\nmatch = 'x'\nexamples = [\"x\"]\n";
  const std::string good = "version = 1\n[[family]]\n" + rule + rest;
  EXPECT_TRUE(KernelClassifier::Parse({"r.toml", good}).ok());

  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  struct Case {
    std::string text;
    const char* names;  ///< Must be in the message.
  };
  const Case cases[] = {
      {"version = ", "line 1"},
      {"", "version"},
      {replaced("version = 1", "version = 0"), "version"},
      {"version = 1\n" + rest, "[[family]]"},
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

}  // namespace
}  // namespace headroom
