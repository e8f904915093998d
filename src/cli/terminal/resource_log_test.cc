#include "cli/terminal/resource_log.h"

#include <gtest/gtest.h>

namespace headroom::cli {
namespace resource_log_test {

TEST(ResourceLog, HasOneLineAFigure) {
  ResourceLog log;
  log.Enter("read");
  log.Enter("analyze");
  log.Enter("read");
  log.AddStore(200, 11'000);
  log.AddStore(0, 64);
  const std::string text = log.Text();
  EXPECT_EQ(text.find("time: read "), 0u);
  EXPECT_EQ(text.find("time: read ", 1), std::string::npos) << "a stage entered again goes on";
  EXPECT_LT(text.find("time: analyze "), text.find("time: total "));
  EXPECT_NE(text.find("memory: peak "), std::string::npos);
  EXPECT_NE(text.find("store: 200 events, 11000 bytes (55.0 bytes/event)\n"), std::string::npos);
  EXPECT_NE(text.find("store: 0 events, 64 bytes\n"), std::string::npos);
}

}  // namespace resource_log_test
}  // namespace headroom::cli
