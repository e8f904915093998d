#include "render/short_name.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace headroom {
namespace short_name_test {

TEST(ReadableKernelName, KeepsWhatIsComputed) {
  const struct {
    const char* name;
    const char* readable;
  } kCases[] = {
      {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
       "std::array<char*, 3ul> >(int, "
       "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
       "vectorized_elementwise_kernel<CUDAFunctor_add<float>>"},
      {"void at::native::elementwise_kernel<128, 2, "
       "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> "
       ">(at::TensorIteratorBase&, at::native::CUDAFunctor_add<float> "
       "const&)::{lambda(int)#1}>(int, "
       "at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<float> "
       ">(at::TensorIteratorBase&, "
       "at::native::CUDAFunctor_add<float> const&)::{lambda(int)#1})",
       "elementwise_kernel<CUDAFunctor_add<float>>"},
      {"void "
       "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::"
       "TensorIteratorBase&)::{lambda()#3}"
       "::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, "
       "std::array<char*, 2ul>, 4, "
       "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1> >(int)",
       "unrolled_elementwise_kernel<direct_copy_kernel_cuda(float)>"},
      {"void at::native::(anonymous namespace)::max_pool_backward_nchw<float, float, int>(float "
       "const*, long const*, int)",
       "max_pool_backward_nchw<float, int>"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, "
       "false>(float*, float const*, int)",
       "softmax_warp_forward<float>"},
      {"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 128, true, 1>(float, "
       "cudnnTensorStruct)",
       "cudnn::bn_bw_1C11_kernel_new<float, float2>"},
      {"void "
       "cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nt_align1>(cutlass_80_simt_sgemm_"
       "256x128_8x4_nt_align1::Params)",
       "cutlass_80_simt_sgemm_256x128_8x4_nt_align1"},
      {"ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "ncclDevKernel_Generic"},
      {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
       "ncclKernel_AllReduce_RING_LL_Sum_float"},
      {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
       "at::native::func_wrapper_t<float, "
       "at::native::sum_functor<float, float, "
       "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
       "float, 4, 4> >(at::native::ReduceOp<float>)",
       "reduce_kernel<ReduceOp<float, sum_functor<float>, unsigned int, float>>"},
      // These names are not signatures, so they stay unchanged.
      {"sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_cublas",
       "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize128x128x8_cublas"},
      {"Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pinned -> Device)"},
      {"Memset (Device)", "Memset (Device)"},
      {"triton_poi_fused_add_0", "triton_poi_fused_add_0"},
      {"<script>alert(1)</script>", "<script>alert(1)</script>"},
      {"broken<template(", "broken<template("},
      {"", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(ReadableKernelName(c.name), c.readable) << c.name;
}

TEST(ShortNames, StayDifferent) {
  // Two names that differ only in a template argument that shortening drops.
  const std::vector<std::string_view> flags = {"void k<float, true>(int)",
                                               "void k<float, false>(int)"};
  EXPECT_EQ(ShortNames(flags, 40, true, Charset::kUtf8),
            (std::vector<std::string>{"k<float, true>", "k<float, false>"}));

  // Names with equal starts and ends.
  const std::vector<std::string_view> middle = {
      "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize32x32x8_stage3_"
      "warpsize1x2x1_g1_ffma_cudnn",
      "sm80_xmma_fprop_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize256x64x8_stage3_"
      "warpsize1x2x1_g1_ffma_cudnn"};
  const std::vector<std::string> cut = ShortNames(middle, 40, true, Charset::kUtf8);
  EXPECT_NE(cut[0].find("size32x32x8"), std::string::npos) << cut[0];
  EXPECT_NE(cut[1].find("size256x64x8"), std::string::npos) << cut[1];

  // Equal names stay equal.
  EXPECT_EQ(ShortNames({"same", "same"}, 40, false, Charset::kUtf8),
            (std::vector<std::string>{"same", "same"}));

  // Too similar to distinguish by cutting.
  const std::string long_a =
      std::string(200, 'a') + "x" + std::string(200, 'b') + "x" + std::string(200, 'c');
  const std::string long_b =
      std::string(200, 'a') + "x" + std::string(200, 'b') + "y" + std::string(200, 'c');
  const std::string long_c =
      std::string(200, 'a') + "y" + std::string(200, 'b') + "y" + std::string(200, 'c');
  const std::vector<std::string> three =
      ShortNames({long_a, long_b, long_c}, 20, false, Charset::kAscii);
  EXPECT_EQ(std::set<std::string>(three.begin(), three.end()).size(), 3u);
}

RC_GTEST_PROP(ShortNamesProperty, FitForAnyNames,
              (const std::vector<std::string>& names, bool kernels, bool ascii)) {
  const std::size_t width = *rc::gen::inRange<std::size_t>(16, 50);
  std::vector<std::string_view> views(names.begin(), names.end());
  const auto shown = ShortNames(views, width, kernels, ascii ? Charset::kAscii : Charset::kUtf8);
  for (const std::string& name : shown) RC_ASSERT(DisplayWidth(name) <= width);
}

TEST(ReadableKernelName, SurvivesAnything) {
  EXPECT_EQ(ReadableKernelName(std::string(100'000, '<')), std::string(100'000, '<'));
  std::string nested;
  for (int i = 0; i < 1000; ++i) nested += "k<";
  nested += "k" + std::string(1000, '>') + "(int)";
  EXPECT_FALSE(ReadableKernelName(nested).empty());
}

RC_GTEST_PROP(ReadableKernelNameProperty, AnyBracketsAreReadOrLeft, ()) {
  const std::string text = *rc::gen::container<std::string>(
      rc::gen::element('<', '>', '(', ')', '{', '}', ':', 'a', ',', ' ', '-', '['));
  ReadableKernelName(text);
  ReadableKernelName("void " + text + "(int)");
}

}  // namespace short_name_test
}  // namespace headroom
