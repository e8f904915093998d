#include "serve/run/last_lines.h"

#include <gtest/gtest.h>

namespace headroom {
namespace last_lines_test {

using Lines = std::vector<std::string>;

Lines LinesOf(std::string_view output) {
  LastLines lines;
  lines.Append(output);
  return lines.Now();
}

TEST(LastLinesTest, LinesAndTheOneThatIsNotEnded) {
  EXPECT_EQ(LinesOf(""), Lines());
  EXPECT_EQ(LinesOf("a\nb\n"), (Lines{"a", "b"}));
  EXPECT_EQ(LinesOf("a\n\nb"), (Lines{"a", "", "b"}));
}

TEST(LastLinesTest, TheLastAlone) {
  LastLines lines;
  for (int i = 0; i < 1000; ++i) lines.Append(std::to_string(i) + "\n");
  lines.Append("end");
  const Lines now = lines.Now();
  ASSERT_EQ(now.size(), LastLines::kMaxLines);
  EXPECT_EQ(now.back(), "end");
  EXPECT_EQ(now.front(), "981");
}

TEST(LastLinesTest, ALineThatIsWrittenAgain) {
  EXPECT_EQ(LinesOf("1 %\r2 %\r3 %"), Lines{"3 %"});
  EXPECT_EQ(LinesOf("1 %\r2 %\r"), Lines{"2 %"});
  EXPECT_EQ(LinesOf("a\r\nb\r\n"), (Lines{"a", "b"}));
}

TEST(LastLinesTest, EscapeSequencesAreLeftOut) {
  EXPECT_EQ(LinesOf("\x1b[31;1mred\x1b[0m\n\x1b[A"), Lines{"red"});
  EXPECT_EQ(LinesOf("\x1b[31\nnext"), (Lines{"", "next"}));
  EXPECT_EQ(LinesOf("\x1b[1m\x1b(Bplain\x1b#8"), Lines{"plain"});
  EXPECT_EQ(LinesOf("\x1b]0;title\a"
                    "bell"),
            Lines{"bell"});
  EXPECT_EQ(LinesOf("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), Lines{"link"});
  EXPECT_EQ(LinesOf("\x1b]0;title\x1b[31mred"), Lines{"red"});
  EXPECT_EQ(LinesOf("\x1b\nnext"), (Lines{"", "next"}));
  EXPECT_EQ(LinesOf("\x1b]0;title\nnext"), (Lines{"", "next"}));
}

TEST(LastLinesTest, LongLinesAreCut) {
  const Lines now = LinesOf(std::string(1'000'000, 'x'));
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(now.front().size(), LastLines::kMaxBytes);
}

}  // namespace last_lines_test
}  // namespace headroom
