#include "answers/predict/listed_steps.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace headroom {
namespace listed_steps_test {

constexpr const char* kProducts = R"json([
  {"model": "one", "mode": "train", "op": "Linear", "repeat": 3,
   "fw": [["Linear", [4096, 1024, 4096]]], "bw": [["Linear", [4096, 4096, 1024]]], "acc": []},
  {"model": "one", "mode": "train", "op": "view", "fw": []},
  {"model": "two", "mode": "train", "op": "Linear", "repeat": 6,
   "fw": [["Linear", [4096, 1024, 4096]]], "bw": [["Linear", [4096, 4096, 1024]]], "acc": []}])json";
constexpr const char* kViews =
    R"json([{"model": "one", "mode": "train", "op": "view", "fw": []}])json";

class ListedSteps : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "listed-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::vector<OperatorList> Lists(const std::string& text) {
    const std::string path = (folder_ / "list.json").string();
    std::ofstream(path) << text;
    Result<std::vector<OperatorList>> lists = ReadOperatorLists(path);
    EXPECT_TRUE(lists.ok()) << lists.status().message();
    return std::move(lists).value();
  }

  Status Add(const std::string& text, const std::vector<std::string>& gpus, PredictReport& report) {
    const Result<GpuModels> models = GpuModels::Load({}, std::nullopt);
    EXPECT_TRUE(models.ok());
    const auto targets = models.value().AllNamed(gpus);
    EXPECT_TRUE(targets.ok()) << targets.status().message();
    return AddListedSteps(Lists(text), {}, "list.json", targets.value(), models.value(), {},
                          HostModel::None(), report);
  }

  std::filesystem::path folder_;
};

TEST_F(ListedSteps, EachListOnEachGpuInOrder) {
  PredictReport report;
  const Status status = Add(kProducts, {"T4", "A100-SXM-40"}, report);
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(report.targets.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const PredictedTarget& target = report.targets[i];
    EXPECT_EQ(target.group, i / 2);
    EXPECT_EQ(target.gpu, report.targets[i % 2].gpu);
    EXPECT_LT(target.step.low, target.step.mid);
    EXPECT_GT(target.step.high, target.step.mid);
    ASSERT_TRUE(target.phases_ms.has_value());
    EXPECT_NEAR(std::accumulate(target.phases_ms->begin(), target.phases_ms->end(), 0.0),
                target.step.mid, 1e-9 * target.step.mid);
  }
  EXPECT_GT(report.targets[0].step.mid, report.targets[1].step.mid) << "a T4 is slower";
  // Twice as many operators take twice as long.
  EXPECT_NEAR(report.targets[2].step.mid / report.targets[0].step.mid, 2, 1e-6);
  EXPECT_EQ(report.targets[0].why.rfind("1 of ", 0), 0u) << report.targets[0].why;
}

TEST_F(ListedSteps, AListWithoutKernelsHasNoAnswer) {
  PredictReport report;
  const Status status = Add(kViews, {"T4"}, report);
  EXPECT_EQ(status.code(), StatusCode::kNoAnswer);
  EXPECT_EQ(status.message().rfind("list.json: no operator", 0), 0u) << status.message();
  EXPECT_TRUE(report.targets.empty());
  EXPECT_EQ(report.abstained.size(), 1u);
}

}  // namespace listed_steps_test
}  // namespace headroom
