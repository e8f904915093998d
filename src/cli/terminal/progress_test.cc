#include "cli/terminal/progress.h"

#include <gtest/gtest.h>

namespace headroom::cli {
namespace progress_test {

TEST(ProgressLine, FitsATerminal) {
  EXPECT_EQ(ProgressLine("reading x.json", 25, 100, 2),
            "reading x.json  [#####...............]  25 %  6 s left");
  EXPECT_EQ(ProgressLine("reading x.json", 0, 100, 2),
            "reading x.json  [....................]   0 %");
  EXPECT_EQ(ProgressLine("reading x.json", 2'500'000, 0, 2), "reading x.json  2.50 MB");
  EXPECT_LT(ProgressLine("reading " + std::string(300, 'x'), 99, 1'000, 1e5).size(), 100u);
  EXPECT_NE(ProgressLine("x", 200, 100, 2).find("100 %"), std::string::npos)
      << "more than all is all";
}

}  // namespace progress_test
}  // namespace headroom::cli
