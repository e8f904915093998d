#include "kernels/kernel_model.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/test_devices.h"
#include "kernels/vector_time.h"

namespace headroom {
namespace kernel_model_test {

double Ns(const KernelWork& work, const DeviceRates& rates) {
  const std::optional<double> ns = KernelNs(work, rates, ShippedConstants());
  EXPECT_TRUE(ns.has_value());
  return ns.value_or(0);
}

double Extent() { return static_cast<double>(*rc::gen::inRange(1, 5000)); }

const std::vector<std::string>& Gpus() {
  static const std::vector<std::string> names = {"P4",      "P100", "V100", "T4",
                                                 "A100-80", "L4",   "H100", "MI210"};
  return names;
}

RC_GTEST_PROP(KernelModelProperty, NoProductIsFasterThanThePeakOrItsBytes, ()) {
  const ProductWork product = {.batch = static_cast<double>(*rc::gen::inRange(1, 40)),
                               .m = Extent(),
                               .k = Extent(),
                               .n = Extent(),
                               .batched = *rc::gen::arbitrary<bool>()};
  const DeviceRates rates = RatesOfGpu(*rc::gen::elementOf(Gpus()));
  const double ns = Ns({.shape = product}, rates);
  const double flops = 2 * product.batch * product.m * product.k * product.n;
  const double bytes =
      4 * product.batch * (product.m * product.k + product.k * product.n + product.m * product.n);
  RC_ASSERT(ns >= flops / rates.flops_per_ns);
  RC_ASSERT(ns >= bytes / rates.bytes_per_ns);
}

RC_GTEST_PROP(KernelModelProperty, NoConvolutionIsFasterThanTheFewestProductsOrItsBytes, ()) {
  const ConvolutionWork work = {.batch = static_cast<double>(*rc::gen::inRange(1, 64)),
                                .in_channels = static_cast<double>(*rc::gen::inRange(1, 1024)),
                                .out_channels = static_cast<double>(*rc::gen::inRange(1, 1024)),
                                .kernel = static_cast<double>(*rc::gen::inRange(1, 8)),
                                .image = static_cast<double>(*rc::gen::inRange(8, 64)),
                                .stride = static_cast<double>(*rc::gen::inRange(1, 3)),
                                .padding = 1};
  const DeviceRates rates = RatesOfGpu(*rc::gen::elementOf(Gpus()));
  const double ns = Ns({.shape = work}, rates);
  constexpr double kWinogradSaves = 4;
  RC_ASSERT(ns >= Operations({.shape = work}) / kWinogradSaves / rates.flops_per_ns);
  const double out = OutputSide(work);
  const double bytes =
      4 * work.batch * (work.in_channels * work.image * work.image + work.out_channels * out * out);
  RC_ASSERT(ns >= bytes / rates.bytes_per_ns);
}

RC_GTEST_PROP(KernelModelProperty, MoreOfAConvolutionTakesNoLessTime, ()) {
  constexpr double kRounding = 1e-9;
  const ConvolutionWork work = {.batch = static_cast<double>(*rc::gen::inRange(1, 64)),
                                .in_channels = static_cast<double>(*rc::gen::inRange(1, 1024)),
                                .out_channels = static_cast<double>(*rc::gen::inRange(1, 1024)),
                                .kernel = 3,
                                .image = static_cast<double>(*rc::gen::inRange(4, 64)),
                                .stride = static_cast<double>(*rc::gen::inRange(1, 3)),
                                .padding = 1};
  const DeviceRates rates = RatesOfGpu(*rc::gen::elementOf(Gpus()));
  const double ns = Ns({.shape = work}, rates);
  for (double ConvolutionWork::*extent :
       {&ConvolutionWork::batch, &ConvolutionWork::in_channels, &ConvolutionWork::out_channels,
        &ConvolutionWork::image}) {
    ConvolutionWork larger = work;
    larger.*extent *= 2;
    RC_ASSERT(Ns({.shape = larger}, rates) >= (1 - kRounding) * ns);
  }
}

// A larger result never takes less time. A longer sum can take less time in a kernel of less than
// 0.1 ms. The library can then split it into more parts, each shorter than before: 128 of 640
// columns instead of 160 of 320. The library ignores power and rows in pieces, so its choice is not
// always the best. More work can then lead to a better tile.
RC_GTEST_PROP(KernelModelProperty, MoreWorkTakesNoLessTime, ()) {
  constexpr double kRounding = 1e-9, kShortNs = 1e5, kOfMoreParts = 0.8, kOfBetterTiles = 0.7;
  const ProductWork product = {.m = Extent(),
                               .k = Extent(),
                               .n = Extent(),
                               .first_along_k = *rc::gen::arbitrary<bool>(),
                               .second_along_k = *rc::gen::arbitrary<bool>()};
  const DeviceRates rates = RatesOfGpu(*rc::gen::elementOf(Gpus()));
  const bool whole_lines =
      rates.library->piece_bytes == 0 || rates.library->piece_bytes == kCacheLine;
  const bool chooses_well = rates.sustained_share == 1 && whole_lines;
  const double ns = Ns({.shape = product}, rates);
  for (double ProductWork::*extent : {&ProductWork::m, &ProductWork::k, &ProductWork::n}) {
    ProductWork larger = product;
    larger.*extent *= 2;
    const bool more_parts = extent == &ProductWork::k && ns < kShortNs;
    const double of_parts = more_parts ? kOfMoreParts : 1 - kRounding;
    const double least = chooses_well ? of_parts : std::min(of_parts, kOfBetterTiles);
    RC_ASSERT(Ns({.shape = larger}, rates) >= least * ns);
  }
}

RC_GTEST_PROP(KernelModelProperty, AGpuTwiceAsFastInAllTakesHalfTheTimeOfLargeWork, ()) {
  const DeviceRates rates = RatesOfGpu(*rc::gen::elementOf(Gpus()));
  DeviceRates twice = rates;
  twice.flops_per_ns *= 2;
  twice.bytes_per_ns *= 2;
  const KernelWork works[] = {{.shape = ProductWork{.m = 8192, .k = 4096, .n = 8192}},
                              {.shape = PointwiseWork{.bytes = 4e9}}};
  for (const KernelWork& work : works) {
    const double ratio = Ns(work, rates) / Ns(work, twice);
    RC_ASSERT(ratio > 1.8 && ratio < 2.01);
  }
}

TEST(KernelModel, LargeProductsReachMostOfThePeakAndNarrowOnesDoNot) {
  const DeviceRates rates = RatesOfGpu("V100");
  const auto share = [&](double m, double k, double n) {
    const double ns = Ns({.shape = ProductWork{.m = m, .k = k, .n = n}}, rates);
    return 2 * m * k * n / ns / rates.flops_per_ns;
  };
  EXPECT_GT(share(8192, 4096, 8192), 0.85);
  EXPECT_LT(share(8192, 4096, 8), 0.3);
  // A sum along k keeps a large GPU busy with a small result.
  EXPECT_GT(share(256, 65536, 256), 2 * share(256, 256, 256));
}

// Measured attention times of GPT-2 and BERT on an H200, which agree with `result_ns`. Starting and
// ending a tile is latency. An H200 multiprocessor computes 2.8 times as fast as an A100's but does
// not shorten this latency.
TEST(KernelModel, ShortSumsTakeTheirStartsOnAFastMultiprocessor) {
  struct Measured {
    ProductWork work;
    double us;
  };
  const DeviceRates rates = RatesOfGpu("H200");
  for (const auto& [work, us] :
       {Measured{{.batch = 12, .m = 1024, .k = 64, .n = 1024, .batched = true}, 57},
        Measured{{.batch = 48, .m = 1024, .k = 64, .n = 1024, .batched = true}, 209},
        Measured{{.batch = 96, .m = 384, .k = 64, .n = 384, .batched = true}, 69}}) {
    EXPECT_NEAR(Ns({.shape = work}, rates) / 1e3, us, 0.15 * us) << work.batch;
  }
}

TEST(KernelModel, OneBlockMoreThanAWaveCostsAnother) {
  const DeviceRates rates = RatesOfGpu("A100-80");
  // Blocks of 128 x 128 on 108 multiprocessors, two per multiprocessor.
  const auto ns = [&](double batch) {
    return Ns(
        {.shape = ProductWork{.batch = batch, .m = 128, .k = 1024, .n = 128, .batched = true}},
        rates);
  };
  EXPECT_GT(ns(2 * 216 + 1) / ns(2 * 216), 1.15);
  EXPECT_NEAR(ns(2 * 216 + 108) / ns(2 * 216 + 1), 1, 0.1);
}

/// Returns the time of a product whose operands both have their rows along k, relative to the time
/// if neither has.
double OfRowsAlongK(ProductWork work, const DeviceRates& rates) {
  work.first_along_k = work.second_along_k = false;
  const double without = Ns({.shape = work}, rates);
  work.first_along_k = work.second_along_k = true;
  return Ns({.shape = work}, rates) / without;
}

// On Pascal, a linear layer's rows are read 32 bytes at a time. Running blocks have more rows than
// the L2 has lines, so most of each loaded line is wasted. More columns and less memory bandwidth
// increase the waste. Measured on P4: 0.50 of the peak with 1024 columns, 0.20 with 16384. Newer
// kernels read whole lines.
TEST(KernelModel, PiecesOfManyRowsAreReadAsWholeLines) {
  const auto times = [](double columns, const char* gpu) {
    return OfRowsAlongK({.m = 1024, .k = 1024, .n = columns}, RatesOfGpu(gpu));
  };
  EXPECT_LT(times(512, "P4"), 1.3);
  EXPECT_GT(times(16384, "P4"), 1.5);
  EXPECT_LT(times(16384, "P100"), 1.4);
  EXPECT_LT(times(16384, "T4"), 1.02);
  EXPECT_LT(times(16384, "H100"), 1.02);
}

// A matrix-vector product has no tiles: its threads read rows together.
TEST(KernelModel, AVectorIsNotReadInPieces) {
  EXPECT_EQ(OfRowsAlongK({.m = 4096, .k = 4096, .n = 1}, RatesOfGpu("P4")), 1);
}

// Rows of 64 KiB and more span more pages than a multiprocessor's TLB reaches. Measured on P100:
// 0.60 of the peak with rows of 16 KiB, 0.30 with 128 KiB and 0.26 with 256 KiB.
TEST(KernelModel, LongRowsLieInMorePagesThanHaveAddresses) {
  const DeviceRates p100 = RatesOfGpu("P100");
  EXPECT_LT(OfRowsAlongK({.m = 512, .k = 2048, .n = 2048}, p100), 1.2);
  const double long_rows = OfRowsAlongK({.m = 512, .k = 32768, .n = 2048}, p100);
  EXPECT_GT(long_rows, 1.6);
  EXPECT_GT(OfRowsAlongK({.m = 512, .k = 65536, .n = 2048}, p100), long_rows);
  // A single operand spans fewer pages.
  ProductWork one{.m = 512, .k = 32768, .n = 2048};
  const double with_one = Ns({.shape = one}, p100);
  one.second_along_k = true;
  EXPECT_GT(Ns({.shape = one}, p100), with_one);
}

// On P4, all tiles wait for power or memory, so the tile with the least waste would be best. The
// library chooses another: 64 x 64 for few rows, although 32 x 128 would read fewer pieces.
TEST(KernelModel, ALibraryChoosesByFullClockAndWholeLines) {
  const DeviceRates p4 = RatesOfGpu("P4");
  const ProductWork work = {.m = 513, .k = 1024, .n = 8192, .second_along_k = true};
  double best = 0;
  for (const std::size_t tile : p4.library->single) {
    GemmLibrary library = *p4.library;
    library.single = {tile};
    DeviceRates rates = p4;
    rates.library = &library;
    const double ns = Ns({.shape = work}, rates);
    best = best == 0 ? ns : std::min(best, ns);
  }
  EXPECT_GT(Ns({.shape = work}, p4), 1.05 * best);
}

TEST(KernelModel, WhatFitsTheCacheNeedNotComeFromMemory) {
  const DeviceRates rates = RatesOfGpu("L4");
  const double small = Ns({.shape = PointwiseWork{.bytes = 16e6}}, rates);
  const double large = Ns({.shape = PointwiseWork{.bytes = 16e8}}, rates);
  EXPECT_LT(small, large / 150);
}

double RowPasses(const RowwiseWork& work, const DeviceRates& rates) {
  const double bytes = 4 * work.rows * work.columns;
  return Ns({.shape = work}, rates) * rates.bytes_per_ns / bytes;
}

// A softmax reads a row three times and writes it. It reads from memory each time if no cache holds
// the rows in progress, and once if the L1 does.
TEST(KernelModel, RowsAreReadFromMemoryAgainWhereNoCacheHoldsThem) {
  const RowwiseWork shorter = {.rows = 65536, .columns = 4096, .softmax = true};
  const RowwiseWork longer = {.rows = 16384, .columns = 32768, .softmax = true};
  EXPECT_NEAR(RowPasses(shorter, RatesOfGpu("T4")), 2, 0.3);
  EXPECT_NEAR(RowPasses(longer, RatesOfGpu("T4")), 4, 0.2);
  EXPECT_GT(RowPasses(shorter, RatesOfGpu("P100")), 3) << "its L1 has 24 KiB";
  const RowwiseWork norm = {.rows = 16384, .columns = 32768};
  EXPECT_NEAR(RowPasses(norm, RatesOfGpu("T4")), 3, 0.2);
}

TEST(KernelModel, NewerSoftmaxesKeepAlignedRowsInSharedMemory) {
  const auto passes = [](double columns) {
    return RowPasses({.rows = 65536, .columns = columns, .softmax = true}, RatesOfGpu("MI100"));
  };
  EXPECT_LT(passes(8192), 2.8);
  EXPECT_GT(passes(8193), 3.4) << "rows without alignment";
  EXPECT_GT(passes(32768), 3.4) << "128 KiB exceed the shared memory of a block";
}

// 4,096 elements take two iterations of 512 threads that read four at once. 3,072 elements take one
// such iteration, and two more in which each thread reads one element. With 4,095 elements, such a
// single-element iteration also precedes the first aligned element.
TEST(KernelModel, ASoftmaxWaitsForEachOfItsLoops) {
  const auto passes = [](double columns) {
    return RowPasses({.rows = 65536, .columns = columns, .softmax = true}, RatesOfGpu("H100"));
  };
  EXPECT_GT(passes(3072), 1.03 * passes(4096));
  EXPECT_GT(passes(4095), 1.03 * passes(4096));
}

// With rows of 15 * 128 elements, no warp diverges: some have four iterations, some three. With
// four more elements, the lanes of one warp diverge.
TEST(KernelModel, WarpsOfANormalizationThatPartTakeLonger) {
  const auto passes = [](double columns) {
    return RowPasses({.rows = 8192, .columns = columns}, RatesOfGpu("A100-40"));
  };
  EXPECT_GT(passes(1924), 1.02 * passes(1920));
  EXPECT_NEAR(passes(1412), passes(1408), 0.01 * passes(1408)) << "three iterations at most";
}

// A warp processes two rows of up to 128 elements. It processes more rows if they are shorter than
// a warp.
TEST(KernelModel, ShortRowsOfASoftmaxShareWarps) {
  for (const double columns : {64, 128}) {
    EXPECT_LT(RowPasses({.rows = 5e7 / columns, .columns = columns, .softmax = true},
                        RatesOfGpu("A100-80")),
              2.6)
        << columns;
  }
}

TEST(KernelModel, TensorCoresSustainWhatThePowerAllows) {
  const KernelWork large = {.shape = ProductWork{.m = 16384, .k = 16384, .n = 16384},
                            .dtype = DType::kF16};
  const auto share = [&](const char* gpu, double peak) {
    return 2 * std::pow(16384, 3) / Ns(large, RatesOfGpu(gpu)) / (peak * 1e3);
  };
  EXPECT_GT(share("H100", 989), 0.7);
  EXPECT_LT(share("L4", 121), 0.5);
}

TEST(KernelModel, RowsThatAreNotAlignedAreSlowOnTensorCores) {
  const auto ns = [](double n) {
    return Ns({.shape = ProductWork{.m = 4096, .k = 768, .n = n}, .dtype = DType::kF16},
              RatesOfGpu("A100-80"));
  };
  EXPECT_GT(ns(50257), 2 * ns(50264));
}

TEST(KernelModel, AWaveOfRowsTakesNoLessThanOneOfThem) {
  const DeviceRates rates = RatesOfGpu("A100-80");
  const auto ns = [&](double rows) {
    return Ns({.shape = RowwiseWork{.rows = rows, .columns = 2048}}, rates);
  };
  EXPECT_NEAR(ns(64) / ns(16), 1, 0.05);
  EXPECT_GT(ns(64), ShippedConstants().norm_row_us * 1e3);
  EXPECT_NEAR(ns(262144) / ns(65536), 4, 0.2);
}

TEST(KernelModel, WinogradIsForThreeByThreeOfStrideOne) {
  const DeviceRates rates = RatesOfGpu("V100");
  const auto per_flop = [&](double kernel, double stride) {
    const ConvolutionWork work = {.batch = 64,
                                  .in_channels = 256,
                                  .out_channels = 256,
                                  .kernel = kernel,
                                  .image = 56,
                                  .stride = stride,
                                  .padding = (kernel - 1) / 2};
    const double out = OutputSide(work);
    return Ns({.shape = work}, rates) / (64 * 256 * 256 * kernel * kernel * out * out);
  };
  EXPECT_LT(per_flop(3, 1), 0.75 * per_flop(5, 1));
  EXPECT_NEAR(per_flop(3, 2), per_flop(5, 2), 0.3 * per_flop(5, 2));
}

ConvolutionWork ThreeByThree(double batch, double in_channels, double out_channels, double image) {
  return {.batch = batch,
          .in_channels = in_channels,
          .out_channels = out_channels,
          .kernel = 3,
          .image = image,
          .padding = 1};
}

// A block of Winograd's F(2x2, 3x3) computes 8 x 16 outputs of one image, even a partial patch. A
// library whose blocks span several images fills a block with several small images.
TEST(KernelModel, SmallImagesFillBlocksThatTakeSeveral) {
  DeviceRates rates = RatesOfGpu("V100");
  // With few channels, F(4x4, 3x3) is slower.
  const auto ns = [&](double image) {
    return Ns({.shape = ThreeByThree(64, 48, 512, image)}, rates);
  };
  GemmLibrary library = *rates.library;
  ASSERT_EQ(library.winograd_blocks.size(), 1);
  const double small = ns(8), large = ns(64);
  library.winograd_blocks.push_back({.images = 2, .rows = 4, .columns = 4});
  rates.library = &library;
  EXPECT_LT(ns(8), 0.9 * small);
  EXPECT_EQ(ns(64), large);
}

TEST(KernelModel, ChannelsOfAConvolutionAreComputedEightAtATime) {
  const DeviceRates rates = RatesOfGpu("V100");
  const auto ns = [&](double channels) {
    return Ns({.shape = ThreeByThree(32, channels, 256, 28)}, rates);
  };
  EXPECT_LT(ns(264) - ns(257), 0.01 * ns(264));
  EXPECT_GT(ns(257) - ns(256), 0.02 * ns(256));
}

TEST(KernelModel, TypesWithoutAPeakHaveNoTime) {
  const KernelWork work = {.shape = ProductWork{.m = 512, .k = 512, .n = 512},
                           .dtype = DType::kBF16};
  EXPECT_FALSE(KernelNs(work, RatesOfGpu("P100"), ShippedConstants()).has_value());
  EXPECT_TRUE(KernelNs(work, RatesOfGpu("A100-80"), ShippedConstants()).has_value());
}

// A library's kernel for a matrix times a vector reads each element once, however long the sum.
TEST(KernelModel, AMatrixTimesAVectorTakesItsBytes) {
  const DeviceRates rates = RatesOfGpu("A100-SXM-80");
  for (const auto& [m, n] : {std::pair(256.0, 1.0), std::pair(1.0, 256.0)}) {
    constexpr double kColumns = 131072;
    const double ns =
        *KernelNs({.shape = ProductWork{.m = m, .k = kColumns, .n = n}}, rates, ShippedConstants());
    const double bytes = 4 * 256 * kColumns;
    EXPECT_GT(ns, bytes / (rates.device->memory_bandwidth_gbs.value()));
    EXPECT_LT(ns, 1.2 * bytes / rates.bytes_per_ns);
  }
}

}  // namespace kernel_model_test
}  // namespace headroom
