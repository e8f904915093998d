#include "whatif/calibration/calibration.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace calibration_test {

Calibration BuiltIn() {
  Result<Calibration> calibration = Calibration::LoadBuiltIn();
  EXPECT_TRUE(calibration.ok()) << calibration.status().message();
  return calibration.ok() ? calibration.value() : Calibration();
}

std::string Refused(std::string_view text) {
  const Result<Calibration> calibration =
      Calibration::Parse({.name = "mine.toml", .content = text}, Calibration());
  EXPECT_FALSE(calibration.ok()) << text;
  return calibration.ok() ? "" : calibration.status().message();
}

TEST(CalibrationTest, TheShippedOneIsWholeAndInNanoseconds) {
  const Calibration shipped = BuiltIn();
  EXPECT_NE(shipped.about.find("H200"), std::string::npos);
  EXPECT_GT(shipped.recording.operator_record, 500);
  EXPECT_LT(shipped.recording.operator_record, 10'000);
  EXPECT_GT(shipped.recording.after_wait, 0.3);
  EXPECT_LT(shipped.recording.after_wait, 1);
  EXPECT_GT(shipped.host.cast_work, 1'000);
  EXPECT_GT(shipped.autograd.at("torch::autograd::AccumulateGrad"), 500);
}

TEST(CalibrationTest, AFileReplacesWhatItSaysAndNoMore) {
  const Result<Calibration> mine =
      Calibration::Parse({.name = "mine.toml",
                          .content = "machine = \"1 x X\"\n[recording]\noperator_us = 0.25\n"
                                     "[reference.loop]\n\"aten::t\" = 7\n"},
                         BuiltIn());
  ASSERT_TRUE(mine.ok()) << mine.status().message();
  EXPECT_EQ(mine.value().machine, "1 x X");
  EXPECT_EQ(mine.value().recording.operator_record, 250);
  EXPECT_EQ(mine.value().recording.call_record, BuiltIn().recording.call_record);
  EXPECT_EQ(mine.value().loop, (ReferenceSpeeds{{"aten::t", 7'000}}));
  EXPECT_EQ(mine.value().autograd, BuiltIn().autograd);
}

TEST(CalibrationTest, MessagesNameTheFileTheKeyAndTheRemedy) {
  EXPECT_NE(Refused("[recording]\noperator_us = -1").find("operator_us of [recording]"),
            std::string::npos);
  EXPECT_NE(Refused("[recording]\noperator_us = \"1\"").find("must be a number"),
            std::string::npos);
  EXPECT_NE(Refused("[recording]\noperator_us = nan").find("must be a number"), std::string::npos);
  EXPECT_NE(Refused("[recording]\noperator = 1").find("'operator' of [recording] is unknown"),
            std::string::npos);
  EXPECT_NE(Refused("[other]\nx = 1").find("'other' is unknown"), std::string::npos);
  EXPECT_NE(Refused("[reference.loop]\n\"aten::t\" = 0").find("above 0"), std::string::npos);
  EXPECT_NE(Refused("[reference.main]\n\"aten::t\" = 1").find("loop and autograd"),
            std::string::npos);
  EXPECT_NE(Refused("about = 3").find("about must be a string"), std::string::npos);
  EXPECT_NE(Refused("x").find("mine.toml: line 1"), std::string::npos);
}

}  // namespace calibration_test
}  // namespace headroom
