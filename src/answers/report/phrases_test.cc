#include "answers/report/phrases.h"

#include <gtest/gtest.h>

namespace headroom {
namespace phrases_test {

DeviceInfo Device(std::int64_t id, const std::string& name) {
  DeviceInfo device;
  device.id = id;
  device.name = name;
  return device;
}

TEST(Phrases, ASentenceBeginsWithACapitalIfItsWordIsPlain) {
  EXPECT_EQ(Sentence("no step, and no GPU"), "No step, and no GPU");
  EXPECT_EQ(Sentence("aten::mm is slow"), "aten::mm is slow");
  EXPECT_EQ(Sentence("--rank is missing"), "--rank is missing");
  EXPECT_EQ(Sentence(""), "");
  EXPECT_EQ(FullSentence("no step"), "No step.");
  EXPECT_EQ(FullSentence("is it?"), "Is it?");
  EXPECT_EQ(FullSentence(""), "");
}

TEST(Phrases, ListsNumbersAndMeans) {
  EXPECT_EQ(Join({}), "");
  EXPECT_EQ(Join({"a", "b"}), "a, b");
  EXPECT_EQ(NumberText(0), "0");
  EXPECT_EQ(NumberText(std::nullopt), "?");
  TimeRow row;
  EXPECT_EQ(MeanText(row), "-");
  row.count = 3;
  row.total = DurationNs(10'000);
  EXPECT_EQ(MeanText(row), "3.33 us");
}

TEST(Phrases, EqualGpusShareARow) {
  InputInfo input;
  for (const std::int64_t id : {0, 1, 3, 4, 6}) input.devices.push_back(Device(id, "A"));
  input.devices.push_back(Device(7, "B"));
  const std::vector<DeviceRow> rows = DeviceRows(input);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].numbers, "GPU 0 to 1, 3 to 4, 6");
  EXPECT_EQ(rows[1].numbers, "GPU 7");
  EXPECT_EQ(rows[1].text, "B");
}

TEST(Phrases, AGpuHasTheWordsOfItsVendor) {
  DeviceInfo device = Device(0, "NVIDIA H200");
  device.sms = 132;
  device.compute_capability = "9.0";
  EXPECT_EQ(DeviceText(device), "NVIDIA H200, 132 SMs, compute capability 9.0");
  device = Device(0, "");
  device.vendor = "AMD";
  device.sms = 104;
  device.compute_capability = "9.0";
  device.architecture = "CDNA 2";
  EXPECT_EQ(DeviceText(device), "unnamed, 104 CUs, CDNA 2");
}

TEST(Phrases, AChangeThatCostsIsNotRecommended) {
  Finding finding;
  EXPECT_EQ(ActionLabel(finding), "do");
  finding.saves_note = "replayed";
  finding.saves_ms = {.low = 1, .mid = 2, .high = 3};
  EXPECT_EQ(ActionLabel(finding), "do");
  EXPECT_EQ(SavesText(finding), "2.0 ms (1.0-3.0) per step: replayed");
  finding.saves_note = "at most: without it";
  EXPECT_EQ(SavesText(finding), "at most 2.0 ms (1.0-3.0) per step: without it");
  finding.saves_note = "replay";
  finding.saves_ms = {.low = -3, .mid = -2, .high = 0};
  EXPECT_EQ(ActionLabel(finding), "do not");
  EXPECT_EQ(
      SavesText(finding).rfind("nothing: the step gets longer by 2.0 ms (0.0-3.0) (replay)", 0), 0u)
      << SavesText(finding);
  finding.saves_ms = {.low = 0, .mid = 0, .high = 0};
  EXPECT_EQ(ActionLabel(finding), "");
}

TEST(Phrases, ABreakdownNamesItsSteps) {
  TraceReport report;
  StepBreakdown& breakdown = report.breakdown.emplace();
  breakdown.steps = 1;
  breakdown.step_index = 3;
  EXPECT_EQ(BreakdownSubject(report), "step 3");
  breakdown.steps = 12;
  EXPECT_EQ(BreakdownSubject(report), "mean of 12 steps");
  breakdown.is_stretch = true;
  EXPECT_EQ(BreakdownSubject(report), "the whole recording");
}

TEST(Phrases, AVerdictHasItsShareAndConfidence) {
  Bottleneck bottleneck;
  bottleneck.verdict = Verdict::kInput;
  bottleneck.share_pct = 61.2;
  bottleneck.of = "the mean step";
  bottleneck.confidence = "high";
  EXPECT_EQ(VerdictText(bottleneck),
            "Input-bound: the GPU waits 61.2 % of the mean step for data. Confidence: high.");
  bottleneck.host_only = true;
  EXPECT_EQ(VerdictText(bottleneck).find("GPU"), std::string::npos);
}

}  // namespace phrases_test
}  // namespace headroom
