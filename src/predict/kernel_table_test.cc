#include "predict/kernel_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kernels/test_devices.h"

namespace headroom {
namespace kernel_table_test {

constexpr const char* kTable =
    "op,b,m,k,n,rows,cols,cin,cout,ksize,insize,stride,pad,device,latency_ms\n"
    "bmm,96,512,64,512,,,,,,,,,V100,0.9\n"
    "linear,,4096,1024,4096,,,,,,,,,V100,2.6\n"
    "add,,,,,32768,1024,,,,,,,V100,0.5\n"
    "softmax,,,,,32768,1024,,,,,,,T4,0.35\n"
    "conv,8,,,,,,256,256,3,56,1,1,V100,1.3\n";

std::vector<MeasuredOperator> Operators(const std::string& text = kTable) {
  const Result<CsvTable> table = ParseCsv(text, "t.csv");
  EXPECT_TRUE(table.ok()) << table.status().message();
  Result<std::vector<MeasuredOperator>> operators =
      ReadMeasuredOperators(table.value(), [](const std::string& name) { return name == "V100"; });
  EXPECT_TRUE(operators.ok()) << operators.status().message();
  return std::move(operators).value();
}

TEST(KernelTable, PredictsWhatWasMeasuredOnTheSource) {
  const auto predictions =
      PredictOperators(Operators(), RatesOfGpu("V100"), RatesOfGpu("T4"), ShippedConstants());
  ASSERT_EQ(predictions.size(), 5u);
  for (const std::size_t row : {0u, 1u, 2u, 4u}) {
    ASSERT_TRUE(predictions[row].has_value()) << row;
    EXPECT_GT(predictions[row]->mid, 1.2 * Operators()[row].measured_ms) << row;
    EXPECT_LT(predictions[row]->low, predictions[row]->mid);
    EXPECT_GT(predictions[row]->high, predictions[row]->mid);
  }
  EXPECT_FALSE(predictions[3].has_value()) << "measured on another GPU";
}

TEST(KernelTable, ToTheSameGpuIsWhatWasMeasured) {
  const auto predictions =
      PredictOperators(Operators(), RatesOfGpu("V100"), RatesOfGpu("V100"), ShippedConstants());
  EXPECT_EQ(predictions[1]->mid, 2.6);
  EXPECT_EQ(predictions[1]->high, 2.6);
}

TEST(KernelTable, ConvolutionsHaveGradientsAndLayouts) {
  const std::string header = "op,layout,b,cin,cout,ksize,insize,stride,pad,dtype,latency_ms\n";
  const auto ms = [&](const std::string& op, const std::string& layout) {
    const auto predicted =
        PredictOperators(Operators(header + op + "," + layout + ",32,256,256,3,56,1,1,fp16,\n"),
                         RatesOfGpu("V100"), RatesOfGpu("A100-80"), ShippedConstants());
    return predicted[0]->mid;
  };
  // 2 * 32 * 56^2 * 256 * 256 * 9 FLOPs at 312 TFLOP/s.
  constexpr double kLeastMs = 0.379;
  for (const char* op : {"conv", "conv_dgrad", "conv_wgrad"}) {
    EXPECT_GT(ms(op, "nhwc"), kLeastMs) << op;
    EXPECT_LT(ms(op, "nhwc"), ms(op, "nchw")) << op << ": tensor cores work in NHWC";
    EXPECT_LT(ms(op, "nchw"), 5 * kLeastMs) << op;
  }
  const Result<CsvTable> table = ParseCsv(header + "conv,tn,32,256,256,3,56,1,1,fp16,\n", "t.csv");
  const auto read = ReadMeasuredOperators(table.value(), [](const std::string&) { return true; });
  EXPECT_EQ(read.status().message(),
            "t.csv, line 2: layout of a convolution is 'tn', not nchw or nhwc");
}

TEST(KernelTable, TheResidualOfAProfileIsCarriedOverByItsWeight) {
  std::vector<MeasuredOperator> operators = Operators();
  const DeviceRates source = RatesOfGpu("V100"), target = RatesOfGpu("A100-80");
  KernelConstants constants = ShippedConstants();
  const double host_ms = (constants.linear_call_us - constants.start_us) / 1e3;
  const auto ratio_at = [&](double weight) {
    constants.residual_other.fill(weight);
    const auto kernel_ms = [&](double measured) {
      operators[1].measured_ms = measured + host_ms;
      return PredictOperators(operators, source, target, constants)[1]->mid - host_ms;
    };
    return kernel_ms(10.4) / kernel_ms(5.2);
  };
  EXPECT_NEAR(ratio_at(0), 1, 1e-9);
  EXPECT_NEAR(ratio_at(0.5), std::sqrt(2), 1e-9);
  EXPECT_NEAR(ratio_at(1), 2, 1e-9);
}

TEST(KernelTable, AShortCallTakesWhatTheTablesHostTakes) {
  const auto predictions = PredictOperators(
      Operators("op,rows,cols,latency_ms\nadd,8,8,0.06\nadd,16,8,0.061\nadd,8,16,0.062\n"
                "add,65536,1024,1.06\n"),
      RatesOfGpu("V100"), RatesOfGpu("H200"), ShippedConstants());
  for (const std::size_t row : {0u, 1u}) {
    EXPECT_NEAR(predictions[row]->mid, 0.06, 0.001);
    EXPECT_GT(predictions[row]->high, 1.5 * predictions[row]->mid) << "another machine's host";
  }
  // 805 MB take the kernel's time, scaled to the faster memory, plus the host's unchanged time.
  EXPECT_NEAR(predictions[3]->mid, 0.06 + 1.0 * 900 / 4800, 0.03);
}

// In a table cut at 0.1 ms, the few remaining small kernels are slow for another reason.
TEST(KernelTable, AFewSlowCallsOfSmallKernelsSayNothingOfTheHost) {
  const auto last = [](int many) {
    std::string table = "op,rows,cols,latency_ms\n";
    for (int i = 0; i < many; ++i) table += "add,65536,1024,1.06\n";
    const auto predictions =
        PredictOperators(Operators(table + "add,8,8,0.21\nadd,8,8,0.22\nadd,8,8,0.2\n"),
                         RatesOfGpu("V100"), RatesOfGpu("H200"), ShippedConstants());
    return predictions.back()->mid;
  };
  EXPECT_GT(last(10), 0.19);
  EXPECT_LT(last(200), 0.06);
}

// The first call of a process takes milliseconds for any operator.
TEST(KernelTable, AColdCallSaysNothingOfTheHost) {
  const auto first = [](const std::string& more) {
    const auto predictions =
        PredictOperators(Operators("op,m,k,n,latency_ms\nlinear,4096,4096,4096,10.5\n" + more),
                         RatesOfGpu("V100"), RatesOfGpu("H100"), ShippedConstants());
    return predictions.front()->mid;
  };
  const double alone = first("");
  EXPECT_EQ(first("linear,64,64,64,5.0\n"), alone);
  EXPECT_EQ(first("linear,64,64,64,1.5\nlinear,64,64,64,0.07\n"), alone);
  std::string cold;
  for (int i = 0; i < 5; ++i) cold += "linear,64,64,64,500\n";
  EXPECT_EQ(first(cold), alone) << "implausible calls have no effect, even if there are many";
}

TEST(KernelTable, AShownHostIsNotAWholeCall) {
  std::string table = "op,rows,cols,latency_ms\nadd,8192,1024,0.2\n";
  for (int i = 0; i < 3; ++i) table += "add,8,8,0.19\n";
  const auto kernel = TimedKernels(Operators(table), RatesOfGpu("V100"), ShippedConstants())[0];
  EXPECT_NEAR(kernel->host_ns, 0.8 * 0.2e6, 1e3);
}

std::vector<TimedKernel> Timed(const std::string& table, std::string_view gpu) {
  std::vector<TimedKernel> out;
  for (const auto& kernel : TimedKernels(Operators(table), RatesOfGpu(gpu), ShippedConstants()))
    out.push_back(kernel.value());
  return out;
}

TEST(KernelTable, CallsOfUnknownHostsTakeWhatUsualOnesDoByOperator) {
  const KernelConstants& constants = ShippedConstants();
  const auto kernels = Timed(
      "op,rows,cols,timing,latency_ms\nln,4096,1024,call,0.5\nln,4096,1024,stream,0.5\n", "T4");
  EXPECT_NEAR(kernels[0].host_ns, (constants.norm_call_us - constants.start_us) * 1e3, 1e-6);
  EXPECT_EQ(kernels[1].host_ns, 0);
  EXPECT_LT(kernels[0].times, kernels[1].times);
}

TEST(KernelTable, AnAssumedHostGivesWayToWhatWasMeasured) {
  // 67 MB take about 35 us at 1.9 TB/s, and a typical host takes about 50 us for a norm.
  const auto kernels = Timed("op,rows,cols,latency_ms\nln,8192,1024,0.045\n", "A100-80");
  EXPECT_NEAR(kernels[0].host_ns, 0.8 * 45e3, 1e-6);
  EXPECT_LT(kernels[0].times, 0.5);
}

TEST(KernelTable, OneRowThatIsTooFastIsNotTheHost) {
  std::string table = "op,rows,cols,latency_ms\n";
  for (int i = 0; i < 40; ++i) table += "add,8,8,0.06\n";
  EXPECT_NEAR(Timed(table + "add,8,8,0.004\n", "V100")[0].host_ns, 57e3, 1e3);
}

TEST(KernelTable, WhatWasNotMeasuredIsPredictedByItsShape) {
  const auto operators = Operators("op,rows,cols,latency_ms\nadd,65536,1024,\nadd,65536,1024,9\n");
  const KernelConstants& constants = ShippedConstants();
  const DeviceRates here = RatesOfGpu("V100");
  const double host_ms = (constants.call_us - constants.start_us) / 1e3;
  const auto there = PredictOperators(operators, here, RatesOfGpu("T4"), constants);
  EXPECT_NEAR(there[0]->mid, host_ms + 805.3 / (320 * constants.gddr_small), 0.02);
  EXPECT_GT(there[1]->mid, 1.1 * there[0]->mid);
  const auto same = PredictOperators(operators, here, here, constants);
  EXPECT_NEAR(same[0]->mid, host_ms + 805.3 / here.bytes_per_ns, 0.02);
  EXPECT_EQ(same[1]->mid, 9);
}

TEST(KernelTable, ConvolutionsOnTensorCoresHaveTwiceTheRangeAndProductsTheirOwn) {
  const auto width = [&](const std::string& rows, const std::string& type) {
    const auto predicted = PredictOperators(Operators(rows + type + ",\n"), RatesOfGpu("V100"),
                                            RatesOfGpu("A100-80"), ShippedConstants());
    return std::log(predicted[0]->high / predicted[0]->low);
  };
  const std::string convolution =
      "op,b,cin,cout,ksize,insize,stride,pad,timing,dtype,latency_ms\n"
      "conv,32,64,64,3,56,1,1,stream,";
  EXPECT_NEAR(width(convolution, "fp16"), kTensorCoreDoubt * width(convolution, "fp32"), 1e-9);
  const ErrorRange& range =
      ShippedConstants().errors[static_cast<std::size_t>(WorkClass::kTensorProduct)];
  EXPECT_NEAR(width("op,m,k,n,timing,dtype,latency_ms\nlinear,4096,1024,4096,stream,", "fp16"),
              range.high - range.low, 1e-9);
}

TEST(KernelTable, EightBitsIncludeTheConversionOfTheActivations) {
  const auto ms = [](const char* type) {
    return PredictOperators(Operators(std::string("op,m,k,n,timing,dtype,latency_ms\n"
                                                  "linear,8192,8192,8192,stream,") +
                                      type + ",\n"),
                            RatesOfGpu("H100"), RatesOfGpu("H100"), ShippedConstants());
  };
  ASSERT_TRUE(ms("fp8")[0] && ms("bf16")[0]);
  // 1,100 GFLOP at the sustained 68 % of 1,979 TFLOP/s, and 201 MB of conversion.
  const double least = 1.0995e12 / (1978.9e12 * 0.68) * 1e3 + 201e6 / 2.99e12 * 1e3;
  EXPECT_GT(ms("fp8")[0]->mid, least);
  EXPECT_LT(ms("fp8")[0]->mid, 1.25 * least);
  EXPECT_LT(ms("fp8")[0]->mid, 0.8 * ms("bf16")[0]->mid);
  // A GPU without such tensor cores has no time.
  EXPECT_FALSE(PredictOperators(Operators("op,m,k,n,timing,dtype,latency_ms\n"
                                          "linear,64,64,64,stream,fp8,\n"),
                                RatesOfGpu("A100-80"), RatesOfGpu("A100-80"),
                                ShippedConstants())[0]);
}

TEST(KernelTable, OperatorsOfLanguageModels) {
  const auto operators = Operators(
      "op,rows,cols,dtype,timing,latency_ms,batch,q_heads,kv_heads,head_dim,q_len,kv_len,tokens,"
      "experts,experts_here,top_k,hidden,expert_hidden\n"
      "silu_mul,8192,8192,bf16,stream,,,,,,,,,,,,,\n"
      "attn_decode,,,bf16,stream,,64,32,8,128,1,4096,,,,,,\n"
      "attn_prefill,,,bf16,stream,,1,32,8,128,4096,4096,,,,,,\n"
      "moe_grouped_gemm,,,bf16,stream,,,,,,,,4096,8,8,2,4096,14336\n");
  const auto ms =
      PredictOperators(operators, RatesOfGpu("H100"), RatesOfGpu("H100"), ShippedConstants());
  // 402 MB of three tensors, bound by instructions to a good half of the bandwidth.
  EXPECT_GT(ms[0]->mid, 1.3 * 402.7e6 / 3.352e12 * 1e3);
  EXPECT_LT(ms[0]->mid, 2.5 * 402.7e6 / 3.352e12 * 1e3);
  // A decode reads the cache: 64 x 4096 x 8 x 128 x 2 x 2 bytes.
  EXPECT_NEAR(ms[1]->mid, 1073.7e6 / 2.99e12 * 1e3, 0.02);
  // A prefill multiplies half of the scores: 137 GFLOP at half of the peak.
  EXPECT_NEAR(ms[2]->mid, 137.4e9 / (0.5 * 989.4e12) * 1e3, 0.06);
  // 8,192 routed rows through three products: 2.9 TFLOP.
  EXPECT_GT(ms[3]->mid, 2.886e12 / 989.4e12 * 1e3);
  EXPECT_LT(ms[3]->mid, 1.6 * 2.886e12 / 989.4e12 * 1e3);
}

TEST(KernelTable, TimesOfAnotherUnitAreNoticed) {
  const auto operators = Operators(
      "op,rows,cols,timing,latency_ms\nadd,65536,1024,stream,1.1\nadd,65536,1024,stream,1100\n"
      "add,65536,1024,stream,0.0011\nadd,8,8,call,0.03\n");
  const TableUncertainty doubts = UncertaintyOf(operators, RatesOfGpu("V100"), ShippedConstants());
  EXPECT_EQ(doubts.implausible, 2);
  EXPECT_EQ(doubts.first, 1);
}

TEST(KernelTable, WhatTookLongerIsNotPredictedToTakeLess) {
  for (const char* const known : {"", "ln,8,8,0.05\nln,8,8,0.05\nln,8,8,0.05\n"}) {
    double before = 0;
    for (double ms = 0.005; ms < 3; ms *= 1.02) {
      const auto predictions =
          PredictOperators(Operators("op,rows,cols,latency_ms\n" + std::string(known) +
                                     "ln,8192,1024," + std::to_string(ms) + "\n"),
                           RatesOfGpu("A100-80"), RatesOfGpu("A100-SXM-80"), ShippedConstants());
      const double predicted = predictions.back()->mid;
      EXPECT_GE(predicted, before) << ms;
      if (before > 0) {
        EXPECT_LT(predicted, 1.1 * before) << ms;
      }
      before = predicted;
    }
  }
}

TEST(KernelTable, LayoutsAreThoseOfBlas) {
  const auto product = [](const std::string& op, const std::string& layout) {
    const std::vector<MeasuredOperator> operators =
        Operators("op,b,m,k,n,layout,latency_ms\n" + op + ",1,8,8,8," + layout + ",1\n");
    return std::get<ProductWork>(operators.at(0).work.shape);
  };
  // Pairs of (second, first) along k, in the order of the letters.
  const auto along_k = [](const ProductWork& work) {
    return std::pair(work.second_along_k, work.first_along_k);
  };
  EXPECT_EQ(along_k(product("linear", "")), std::pair(true, true));
  EXPECT_EQ(along_k(product("bmm", "")), std::pair(false, true));
  EXPECT_EQ(along_k(product("linear", "tn")), std::pair(true, true));
  EXPECT_EQ(along_k(product("linear", "nn")), std::pair(false, true));
  EXPECT_EQ(along_k(product("linear", "nt")), std::pair(false, false));
  EXPECT_EQ(along_k(product("bmm", "tt")), std::pair(true, false));
  EXPECT_EQ(along_k(product("linear", "NT")), std::pair(false, false));
}

TEST(KernelTable, ColumnsThatAreNearlyReadAreTold) {
  const auto misspelt = [](const std::string& header) {
    return MisspeltColumns(ParseCsv(header + "\n", "t.csv").value());
  };
  EXPECT_EQ(misspelt("op,m,k,n,layuot,latency_ms"),
            (std::vector<std::string>{"'layuot' (layout?)"}));
  // All columns of gpu-latency/ are used, either here or for other purposes.
  EXPECT_EQ(misspelt("split,op,device,dtype,b,m,k,n,rows,cols,cin,cout,ksize,insize,stride,pad,"
                     "kernel_id,launch_id,n_launches,kernel,grid_x,grid_y,grid_z,block_x,block_y,"
                     "block_z,latency_ms"),
            std::vector<std::string>());
}

TEST(KernelTable, SaysWhichCellIsWrong) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c :
       {Case{"op,rows\nadd,1\n", "no column 'latency_ms'"},
        Case{"op,rows,cols,latency_ms\nadd,0,8,1\n", "line 2: rows is '0'"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,1\nadd,8,x,1\n", "line 3: cols is 'x'"},
        Case{"op,rows,cols,latency_ms\nadd,8,,1\n", "cols is ''"},
        Case{"op,rows,cols,latency_ms\nadd,1e30,8,1\n", "rows is '1e30'"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,0\n", "latency_ms must be above 0"},
        Case{"op,rows,cols,latency_ms\nadd,8,8,-1\n", "latency_ms"},
        Case{"op,rows,cols,latency_ms\nfly,8,8,1\n", "unknown operator 'fly'"},
        Case{"op,rows,cols,dtype,latency_ms\nadd,8,8,int3,1\n", "dtype 'int3'"},
        Case{"op,m,k,n,layout,latency_ms\nlinear,8,8,8,nx,1\n", "layout is 'nx'"},
        Case{"op,m,k,n,layout,latency_ms\nlinear,8,8,8,n,1\n", "not one of nn, nt, tn, tt"},
        Case{"op,b,cin,cout,ksize,insize,stride,pad,latency_ms\nconv,1,3,8,9,4,1,0,1\n",
             "larger than the padded image"}}) {
    const Result<CsvTable> table = ParseCsv(c.text, "t.csv");
    ASSERT_TRUE(table.ok());
    const Result<std::vector<MeasuredOperator>> operators =
        ReadMeasuredOperators(table.value(), [](const std::string&) { return true; });
    ASSERT_FALSE(operators.ok()) << c.text;
    EXPECT_EQ(operators.status().code(), StatusCode::kBadInput);
    EXPECT_NE(operators.status().message().find(c.says), std::string::npos)
        << operators.status().message();
  }
}

}  // namespace kernel_table_test
}  // namespace headroom
