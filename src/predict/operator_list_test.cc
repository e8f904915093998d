#include "predict/operator_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/testing/damage.h"
#include "kernels/test_devices.h"
#include "predict/step_estimate.h"

namespace headroom {
namespace operator_list_test {

class OperatorListTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        std::filesystem::temp_directory_path() / ("operators-" + std::to_string(getpid()) + ".csv");
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Result<std::vector<OperatorList>> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadOperatorLists(path_.string());
  }

  std::filesystem::path path_;
};

constexpr const char* kHead = "model,mode,seq,batch,name,op,repeat,fw,bw,acc,inputs,output\n";

/// A training step, with lists of tuples as Python prints them.
constexpr const char* kTraining =
    R"csv(m,train,8,2,fc,Linear,3,"[['Linear', (16, 32, 64)]]","[['Linear', (16, 64, 32)], ['Linear', (64, 16, 32)]]","[['VECadd', [1, 2048]]]","[(2, 8, 32)]","(2, 8, 64)"
m,train,8,2,v,misc,1,[],[],[],"[(16, 64), (1,)]","(2, 8, 64)"
)csv";

constexpr const char* kTrainingJson = R"json([
  {"model": "m", "mode": "train", "seq": 8, "batch": 2, "op": "Linear", "repeat": 3,
   "fw": [["Linear", [16, 32, 64]]], "bw": [["Linear", [16, 64, 32]], ["Linear", [64, 16, 32]]],
   "acc": [["VECadd", [1, 2048]]], "inputs": [[2, 8, 32]], "output": [2, 8, 64]},
  {"model": "m", "mode": "train", "seq": 8, "batch": 2, "op": "misc", "fw": []}])json";

TEST_F(OperatorListTest, CsvAsPythonPrintsItAndJsonAreTheSame) {
  const auto csv = Read(std::string(kHead) + kTraining);
  ASSERT_TRUE(csv.ok()) << csv.status().message();
  const auto json = Read(kTrainingJson);
  ASSERT_TRUE(json.ok()) << json.status().message();
  for (const auto* lists : {&csv.value(), &json.value()}) {
    ASSERT_EQ(lists->size(), 1u);
    const OperatorList& list = lists->front();
    EXPECT_EQ(list.name, "m train seq=8 batch=2");
    EXPECT_EQ(list.operators, 2);
    EXPECT_EQ(list.without_work, 1);
    ASSERT_EQ(list.works.size(), 4u);
    EXPECT_EQ(list.works[0].repeats, 3);
    EXPECT_EQ(std::get<ProductWork>(list.works[1].work.shape).k, 64);
    EXPECT_EQ(list.works[3].phase, StepPhase::kAccumulate);
  }
}

// A layer's weight is (n x k) in memory, addmm's is (k x n). The data gradient uses it transposed.
// The weight gradient sums over the rows of both operands.
TEST_F(OperatorListTest, OperandsLieAsALayerOrAddmmHasThem) {
  using AlongK = std::vector<std::pair<bool, bool>>;  // First, second.
  const auto along_k = [&](const std::string& inputs, const std::string& extents) {
    const auto lists = Read(std::string(kHead) + extents + ",[],\"" + inputs + "\",\"(16, 64)\"\n");
    EXPECT_TRUE(lists.ok()) << lists.status().message();
    AlongK found;
    for (const ListedWork& listed : lists.value().front().works) {
      const auto& product = std::get<ProductWork>(listed.work.shape);
      found.emplace_back(product.first_along_k, product.second_along_k);
    }
    return found;
  };
  const std::string oblong =
      "m,train,8,2,fc,Linear,1,\"[['Linear', (16, 32, 64)]]\","
      "\"[['Linear', (16, 64, 32)], ['Linear', (64, 16, 32)]]\"";
  const std::string square =
      "m,train,8,2,fc,Linear,1,\"[['Linear', (64, 64, 64)]]\","
      "\"[['Linear', (64, 64, 64)], ['Linear', (64, 64, 64)]]\"";
  const AlongK layer = {{true, true}, {true, false}, {false, false}};
  const AlongK addmm = {{true, false}, {true, true}, {false, false}};
  EXPECT_EQ(along_k("[(2, 8, 32)]", oblong), layer);
  EXPECT_EQ(along_k("[(64,), (16, 32), (32, 64)]", oblong), addmm);
  EXPECT_EQ(along_k("[(64, 64)]", square), layer);
  EXPECT_EQ(along_k("[(64,), (64, 64), (64, 64)]", square), addmm);
}

// The first layer of a network has no data gradient.
TEST_F(OperatorListTest, AWeightGradientAloneIsKnownByItsShape) {
  const auto lists = Read(
      R"json([{"mode": "train", "op": "Linear", "fw": [["Linear", [16, 32, 64]]], "bw": [["Linear", [64, 16, 32]]]}])json");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  EXPECT_FALSE(std::get<ProductWork>(lists.value().front().works[1].work.shape).first_along_k);
}

TEST_F(OperatorListTest, InferenceHasNoBackward) {
  std::string text = kTraining;
  text.replace(text.find("train"), 5, "inf");
  text.resize(text.find('\n') + 1);
  const auto lists = Read(kHead + text);
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  EXPECT_EQ(lists.value().front().works.size(), 1u);
}

TEST_F(OperatorListTest, TheGradientOfABiasIsReadOnce) {
  const auto lists = Read(
      "op,name,mode,fw,bw,dtype_amp\n"
      "VECaddu,sum,train,[],\"[['VECaddu', (64, 64)]]\",fp32\n"
      "VECaddu,copy,train,[],\"[['VECaddu', (64, 64)]]\",\n");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  const std::vector<ListedWork>& works = lists.value().front().works;
  EXPECT_EQ(std::get<PointwiseWork>(works[0].work.shape).bytes, 4 * 64 * 64);
  EXPECT_EQ(works[0].autocast, AutocastType::kInput) << "autocast is off in the backward";
  EXPECT_EQ(std::get<PointwiseWork>(works[1].work.shape).bytes, 2 * 4 * 64 * 64);
}

TEST_F(OperatorListTest, ABiasIsAddedByTheProductItself) {
  const auto added = [&](const char* name, const char* add, const char* inputs) {
    const auto lists =
        Read(fmt::format("op,name,fw,inputs\nLinear,{},\"[['Linear', (8, 16, 32)]]\",\n"
                         "VECaddu,{},\"[['VECaddu', (8, 32)]]\",\"{}\"\n",
                         name, add, inputs));
    EXPECT_TRUE(lists.ok()) << lists.status().message();
    return lists.value().front().works.size() - 1;
  };
  EXPECT_EQ(added("mm", "add", "[[8, 32]]"), 0U);
  EXPECT_EQ(added("mm", "add", "[[8, 32], [8, 32]]"), 1U) << "a residual";
  EXPECT_EQ(added("mm", "mul", "[[8, 32]]"), 1U);
  EXPECT_EQ(added("addmm", "add", "[[8, 32]]"), 1U) << "it has its bias";
}

TEST_F(OperatorListTest, GradientsOfDepthwiseConvolutionsFollowTheForwardInTheOppositeOrder) {
  const char* const forward =
      "MEM,depthwise_conv,train,\"[['MEM', [[2,8,10,10],[8,1,{0},{0}],[2,8,10,10]]]]\",[]\n";
  const char* const gradient = "VECaddu,depthwise_{},train,[],\"[['VECaddu', (160, 10)]]\"\n";
  const auto lists = Read(
      "op,name,mode,fw,bw\n" + fmt::format(fmt::runtime(forward), 3) +
      fmt::format(fmt::runtime(forward), 7) + fmt::format(fmt::runtime(gradient), "dgrad") +
      fmt::format(fmt::runtime(gradient), "wgrad") + fmt::format(fmt::runtime(gradient), "dgrad") +
      fmt::format(fmt::runtime(gradient), "wgrad"));
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  std::vector<double> elements;
  for (const ListedWork& listed : lists.value().front().works) {
    if (listed.phase == StepPhase::kForward) continue;
    const auto& work = std::get<InstructionWork>(listed.work.shape);
    EXPECT_EQ(work.kind, InstructionKind::kFewChannelsGradient);
    elements.push_back(work.elements);
  }
  const double of_seven = 1600 * (kFewChannelsBase + 49), of_three = 1600 * (kFewChannelsBase + 9);
  EXPECT_EQ(elements, (std::vector<double>{of_seven, of_seven, of_three, of_three}));
}

TEST_F(OperatorListTest, GradientsAndUpdatesOfParameters) {
  const auto lists = Read(
      "op,mode,fw,acc\nGRAD,train,[],\"[['GRAD', [1000]]]\"\n"
      "OPTIMIZER,train,[],\"[['FUSED_ADAMW', [1000, 4]]]\"\n");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  const std::vector<ListedWork>& works = lists.value().front().works;
  ASSERT_EQ(works.size(), 2U);
  EXPECT_EQ(works[0].gradient_bytes, 4000);
  EXPECT_FALSE(HasKernels(works[0].work));
  EXPECT_EQ(works[1].phase, StepPhase::kUpdate);
  for (const char* wrong : {"['GRAD', [0]]", "['GRAD', [1, 2]]", "['ADAMW', [1000]]"}) {
    const auto bad = Read(fmt::format("op,mode,fw,acc\nX,train,[],\"[{}]\"\n", wrong));
    EXPECT_EQ(bad.status().code(), StatusCode::kBadInput) << wrong;
  }
}

TEST_F(OperatorListTest, AnOperandThatIsOneNumberIsNotRead) {
  const auto bytes = [&](const std::string& inputs) {
    const auto lists = Read("op,fw,inputs\nVECdiv,\"[['VECdiv', (64, 64)]]\",\"" + inputs + "\"\n");
    EXPECT_TRUE(lists.ok()) << lists.status().message();
    return std::get<PointwiseWork>(lists.value().front().works.front().work.shape).bytes;
  };
  EXPECT_EQ(bytes("[(64, 64), (64, 64)]"), 64 * 64 * 12);
  EXPECT_EQ(bytes("[(64, 64), (1,)]"), 64 * 64 * 8);
}

TEST_F(OperatorListTest, EachModelIsAStepOfItsOwnAndCollectivesAreCounted) {
  const auto lists = Read(
      "model,op,fw\na,VECrelu,\"[['VECrelu', (8, 8)]]\"\n"
      "b,x,\"[['ALLREDUCE', (8, 8)]]\"\na,VECrelu,\"[['VECrelu', (8, 8)]]\"\n");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  ASSERT_EQ(lists.value().size(), 2u);
  EXPECT_EQ(lists.value()[0].works.size(), 2u);
  EXPECT_EQ(lists.value()[1].collectives, 1);
}

TEST_F(OperatorListTest, KindsThatAreNotKnownAreGuessedOrCountedAndNamed) {
  const auto lists = Read(
      "model,op,fw\na,VECrelu,\"[['VECrelu', (8, 8)]]\"\n"
      "b,VEClgamma,\"[['VEClgamma', (64, 32)], ['FLASH', ((8, 8), (8,))]]\"\n"
      "b,VECsinc,\"[['VECsinc', (64, 32)]]\"\nc,FLASH,\"[['FLASH', (8, 8)]]\"\n");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  ASSERT_EQ(lists.value().size(), 3u);
  EXPECT_EQ(lists.value()[0].Doubt(), "");
  const OperatorList& list = lists.value()[1];
  ASSERT_EQ(list.works.size(), 2u);
  EXPECT_EQ(std::get<PointwiseWork>(list.works[0].work.shape).bytes, 64 * 32 * 8);
  EXPECT_EQ(list.Doubt(),
            "2 kernels of unknown kinds (VEClgamma, VECsinc) are assumed to read one tensor and "
            "write one; 1 kernel of unknown kinds (FLASH) is not included");
  EXPECT_TRUE(lists.value()[2].works.empty());
}

TEST_F(OperatorListTest, StepsAddUpByPhase) {
  const auto lists = Read(
      R"json([{"op": "Linear", "repeat": 2, "fw": [["Linear", [4096, 1024, 1024]]],
               "bw": [["Linear", [4096, 1024, 1024]], ["Linear", [1024, 4096, 1024]]]}])json");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  const Result<StepEstimate> step = EstimateStep(lists.value().front(), RatesOfGpu("V100"),
                                                 ShippedConstants(), HostModel::None());
  ASSERT_TRUE(step.ok());
  EXPECT_NEAR(step.value().phase_ms[1], 2 * step.value().phase_ms[0],
              0.3 * step.value().phase_ms[1]);
  EXPECT_NEAR(step.value().step.mid, step.value().phase_ms[0] + step.value().phase_ms[1], 1e-9);
  EXPECT_LT(step.value().step.low, step.value().step.mid);
}

TEST_F(OperatorListTest, ConvolutionsAddTheirRangeToThatOfAStep) {
  const auto lists =
      Read(R"json([{"op": "Conv", "fw": [["CONV2D", [64, 256, 256, 3, 56, 1, 1]]]}])json");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  const KernelConstants& constants = ShippedConstants();
  const auto reach = [&](const char* gpu) {
    const DeviceRates rates = RatesOfGpu(gpu);
    const PredictedMs step =
        EstimateStep(lists.value().front(), rates, constants, HostModel::None()).value().step;
    const ErrorRange kernel = RangeOf(WorkClass::kConvolution, rates, 0, constants);
    EXPECT_LE(step.low, step.mid * std::exp(kernel.low)) << gpu;
    EXPECT_GE(step.high, step.mid * std::exp(kernel.high)) << gpu;
    return step.high / step.mid;
  };
  EXPECT_GT(reach("H100"), 1.5 * reach("A100-80"))
      << "its library was never measured trying all algorithms";
}

TEST_F(OperatorListTest, SaysWhereAListIsWrong) {
  struct Case {
    const char* text;
    const char* says;
  };
  for (const Case& c : {
           Case{"op\nx\n", "no column 'fw'"},
           Case{"op,fw\nx,[['BMM'\n", "line 2: fw is"},
           Case{"op,fw\nx,\"[['BMM', (1, 2, 3)]]\"\n", "line 2: dimensions of BMM must be (b, m"},
           Case{"op,fw\nx,\"[['BMM', (1, 2, 3, -4)]]\"\n", "1 or more"},
           Case{"op,fw\nx,\"[['BMM', (1e9, 1e9, 1e9, 9)]]\"\n", "product is below"},
           Case{"op,fw\nx,\"[['VECspline', (1, 2, 3)]]\"\n",
                "dimensions of VECspline must be (rows"},
           Case{"op,fw\nx,\"[['Spline', 7]]\"\n", "[kind, dimensions]"},
           Case{"op,fw\nx,\"[['', (1, 2)]]\"\n", "kernel 1 is empty or too long"},
           Case{"op,fw\nx,\"[3]\"\n", "[kind, dimensions]"},
           Case{"op,fw,repeat\nx,[],-1\n", "repeat is '-1'"},
           Case{"op,fw\n", "lists no operators; add at least one"},
           Case{"[]", "lists no operators; add at least one"},
           Case{"[{\"op\": \"x\"}]", "operator 1: must be an object with op and fw"},
           Case{"op,fw\nx,\"[['Linear', (4, 2.5, 4)]]\"\n", "whole numbers"},
           Case{"[{\"op\": ", "not JSON"},
           Case{"[\n{\"op\": \"x\",\n\"fw\": NaN}]", "line 3: not JSON"},
           Case{"{\"op\": \"x\"}", "one JSON object"},
           Case{"[{\"op\": \"x\", \"fw\": 1e400}]", "out of range"},
       }) {
    const auto lists = Read(c.text);
    ASSERT_FALSE(lists.ok()) << c.text;
    EXPECT_EQ(lists.status().code(), StatusCode::kBadInput);
    EXPECT_NE(lists.status().message().find(c.says), std::string::npos) << lists.status().message();
  }
}

TEST_F(OperatorListTest, WorkBeyondAllBoundsIsRefusedWhereItStands) {
  for (const char* json : {
           R"([{"op":"misc","name":"max_1","fw":[],"output":[1e200,1e200]}])",
           R"([{"op":"misc","name":"max_1","fw":[],"output":[1e15,1e9]}])",
           R"([{"op":"misc","name":"max_1","fw":[],"output":[1e200,1e200,0]}])",
           R"([{"op":"x","repeat":1e9,"fw":[["Linear",[100000,100000,100000]]]}])",
           R"([{"op":"x","fw":[["CONV2D",[1e9,1e9,1e9,1,1e9,1,0]]]}])",
           R"([{"op":"x","fw":[["MEM",[[1e200,1e200,0]]]]}])",
       }) {
    const auto lists = Read(json);
    ASSERT_FALSE(lists.ok()) << json;
    EXPECT_EQ(lists.status().code(), StatusCode::kBadInput);
    EXPECT_NE(lists.status().message().find("operator 1: "), std::string::npos)
        << lists.status().message();
  }
  // Each row is allowed, but their sum is not.
  std::string many = "op,repeat,fw\n";
  for (int i = 0; i < 600; ++i) many += "x,1000,\"[['Linear', (100000, 100000, 100000)]]\"\n";
  const auto lists = Read(many);
  ASSERT_FALSE(lists.ok());
  EXPECT_NE(lists.status().message().find("line 502: with this row"), std::string::npos)
      << lists.status().message();
}

TEST_F(OperatorListTest, AStepOfDecadesIsNoAnswer) {
  const auto lists = Read("op,repeat,fw\nx,1e15,\"[['VECrelu', (1, 1)]]\"\n");
  ASSERT_TRUE(lists.ok()) << lists.status().message();
  const auto step = EstimateStep(lists.value().front(), RatesOfGpu("V100"), ShippedConstants(),
                                 HostModel::None());
  ASSERT_FALSE(step.ok());
  EXPECT_EQ(step.status().code(), StatusCode::kBadInput);
}

TEST_F(OperatorListTest, DeepNestingIsRefusedWhereverItStands) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string& text :
       {"[{\"op\":\"Linear\",\"fw\":" + deep + "}]", "op,fw\nLinear," + deep + "\n",
        "[{\"op\":\"x\",\"fw\":[],\"model\":" + deep + "}]"}) {
    const auto lists = Read(text);
    ASSERT_FALSE(lists.ok());
    EXPECT_EQ(lists.status().code(), StatusCode::kBadInput);
  }
}

// Reading any file gives a list whose step has a finite time, or an error that names the file.
RC_GTEST_PROP(OperatorListProperty, ADamagedListGivesASoundOneOrAnErrorThatNamesIt, ()) {
  const bool json = *rc::gen::arbitrary<bool>();
  const std::string text = Damaged(json ? kTrainingJson : std::string(kHead) + kTraining);
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("damaged-" + std::to_string(getpid()) + ".list");
  std::ofstream(path, std::ios::binary) << text;
  const auto lists = ReadOperatorLists(path.string());
  std::filesystem::remove(path);
  if (!lists.ok()) {
    RC_ASSERT(lists.status().message().find("damaged-") != std::string::npos);
    return;
  }
  for (const OperatorList& list : lists.value()) {
    const Result<StepEstimate> step =
        EstimateStep(list, RatesOfGpu("T4"), ShippedConstants(), HostModel::None());
    if (!step.ok()) {
      RC_ASSERT(step.status().code() == StatusCode::kBadInput);  // A step of decades.
      continue;
    }
    RC_ASSERT(std::isfinite(step.value().step.high) && step.value().step.low >= 0);
  }
}

}  // namespace operator_list_test
}  // namespace headroom
