#include "answers/redact/render.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace headroom {
namespace redact_render_test {

RedactAnswer Answer() {
  return {.output = "share.json",
          .events = 12,
          .removed = {{.original = "/home/ann", .token = "/path_a", .kind = SecretKind::kPaths},
                      {.original = "bluebird", .token = "word_a", .kind = SecretKind::kNames},
                      {.original = "robin", .token = "word_b", .kind = SecretKind::kNames}},
          .changed = {{"host_event.name", 3}, {"thread.name", 0}},
          .proof = {.bytes = 2'000, .compared = 1'234, .texts = 3}};
}

TEST(RenderRedactText, SaysWhatWasReplacedAndProved) {
  RedactAnswer answer = Answer();
  const std::string text = RenderRedactText(answer, Charset::kAscii);
  EXPECT_EQ(
      text,
      "Replaced\n"
      "         1 paths\n"
      "         0 hosts\n"
      "         0 users\n"
      "         0 arguments\n"
      "         2 names\n"
      "In rows of\n"
      "         3 host_event.name\n"
      "Proved: none of 3 removed texts occurs in the 2.00 kB that were written, plain or encoded; "
      "1,234 values of the report are equal except for names.\n"
      "The copy still contains times and sizes, shapes, the GPU, versions, the date of the "
      "recording, and "
      "words that frameworks use.\n"
      "Wrote share.json: 12 events.\n");
  answer.map = "names.json";
  EXPECT_NE(RenderRedactText(answer, Charset::kAscii)
                .find("The replacements are in names.json: do not share this file.\n"),
            std::string::npos);
}

// If the proof searched for no texts, it does not show that the copy lacks them.
TEST(RenderRedactText, SaysWhyNoTextWasLookedFor) {
  RedactAnswer answer = Answer();
  answer.proof.texts = 0;
  const auto proved = [&] {
    const std::string text = RenderRedactText(answer, Charset::kAscii);
    const std::size_t begin = text.find("Proved: ") + 8;
    return text.substr(begin, text.find(';') - begin);
  };
  EXPECT_EQ(proved(),
            "the removed texts are numbers or public words, which may also occur elsewhere");
  for (Replacement& row : answer.removed) row.kind = SecretKind::kArguments;
  EXPECT_EQ(proved(),
            "all removed texts were dropped because of their place, regardless of their content");
  answer.changed.clear();
  EXPECT_EQ(proved(), "nothing had to be replaced");
}

TEST(RenderRedactJson, HasTheSameCounts) {
  const auto json = nlohmann::json::parse(RenderRedactJson(Answer()));
  EXPECT_EQ(json["schema"], "headroom.redact/1");
  EXPECT_EQ(json["output"], "share.json");
  EXPECT_EQ(json["events"], 12);
  EXPECT_EQ(json["replaced"],
            nlohmann::json::parse(R"({"paths":1,"hosts":0,"users":0,"arguments":0,"names":2})"));
  EXPECT_EQ(json["changed_rows"][1]["rows"], 0);
  EXPECT_EQ(json["proof"]["texts"], 3);
  EXPECT_EQ(json["proof"]["scanned_bytes"], 2'000);
  EXPECT_EQ(json["proof"]["compared_values"], 1'234);
}

}  // namespace redact_render_test
}  // namespace headroom
