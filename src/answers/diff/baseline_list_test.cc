#include "answers/diff/baseline_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "answers/diff/baseline_json.h"
#include "base/testing/folder.h"

namespace headroom {
namespace baseline_list_test {

class BaselineListTest : public TestFolder {
 protected:
  void Write(const char* file, const std::string& content) const {
    std::ofstream(folder_ / file) << content;
  }
  BaselineList List() const {
    const Result<BaselineList> list = ListBaselines(folder_.string());
    EXPECT_TRUE(list.ok()) << list.status().message();
    return list.value();
  }
};

TEST_F(BaselineListTest, MarksFilesThatAreNotBaselines) {
  JobProfile profile;
  profile.steps = 7;
  profile.median_ms = 12.5;
  profile.verdict = "gpu-bound";
  profile.runs.push_back({{"step_ms", Estimate{.value = 12.5}}});
  Write("main.json", RenderBaseline("main", profile));
  Write("broken.json", RenderBaseline("broken", profile).substr(0, 200));
  Write("other.json", "{}");
  Write("notes.txt", "");
  const BaselineList list = List();
  ASSERT_EQ(list.baselines.size(), 3u);
  EXPECT_EQ(list.baselines[0].file, "broken.json");
  EXPECT_EQ(list.baselines[0].problem, "not a readable baseline");
  EXPECT_EQ(list.baselines[1].file, "main.json");
  EXPECT_EQ(list.baselines[1].problem, "");
  EXPECT_EQ(list.baselines[2].problem, "not a baseline");

  const auto json = nlohmann::json::parse(RenderBaselinesJson(list));
  EXPECT_EQ(json["schema"], "headroom.baselines/1");
  EXPECT_EQ(json["baselines"][1]["name"], "main");
  EXPECT_EQ(json["baselines"][1]["step_ms"], 12.5);
  EXPECT_EQ(json["baselines"][1]["steps"], 7);
  EXPECT_TRUE(json["baselines"][0]["steps"].is_null());
  EXPECT_EQ(json["baselines"][0]["problem"], "not a readable baseline");

  const std::string text = RenderBaselinesText(list, {.charset = Charset::kAscii});
  EXPECT_NE(text.find("main"), std::string::npos);
  EXPECT_NE(text.find("gpu-bound"), std::string::npos);
  EXPECT_NE(text.find("not a readable baseline"), std::string::npos);
}

TEST_F(BaselineListTest, AFolderThatIsNotThereHasNone) {
  const Result<BaselineList> list = ListBaselines((folder_ / "gone").string());
  ASSERT_TRUE(list.ok());
  EXPECT_TRUE(list.value().baselines.empty());
  EXPECT_NE(RenderBaselinesText(list.value(), {.charset = Charset::kAscii})
                .find("There are no baselines."),
            std::string::npos);
}

}  // namespace baseline_list_test
}  // namespace headroom
