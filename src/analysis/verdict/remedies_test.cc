#include "analysis/verdict/remedies.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "store/trace_formats.h"
#include "store/trace_store.h"

namespace headroom {
namespace remedies_test {

TEST(Remedies, StepsAreMarkedByTheToolThatWroteTheTrace) {
  EXPECT_EQ(HowToTellSteps("pytorch-profiler-json"),
            "call prof.step() after each iteration, or use --step-marker to name the range that "
            "begins a step");
  EXPECT_NE(HowToTellSteps(kNsightFormat).find("nvtx.range_push"), std::string::npos);
  EXPECT_NE(HowToTellSteps(kPerfettoFormat).find("headroom.step()"), std::string::npos);
  for (const std::string_view format : {kXPlaneFormat, kXlaJsonFormat})
    EXPECT_NE(HowToTellSteps(format).find("StepTraceAnnotation"), std::string::npos) << format;
}

TEST(Remedies, NobodyIsSentToAFlagOfAnotherProfiler) {
  for (const std::string_view format : {kXPlaneFormat, kXlaJsonFormat, kNsightFormat, kRocpdFormat,
                                        kPerfettoFormat, kChakraFormat, kChromeFormat}) {
    for (const ImportIssue issue :
         {ImportIssue::kNoSteps, ImportIssue::kNoGpu, ImportIssue::kNoHost}) {
      const std::string remedy = RemedyOf(issue, format);
      EXPECT_EQ(remedy.find("prof."), std::string::npos) << format << ": " << remedy;
      EXPECT_EQ(remedy.find("ProfilerActivity"), std::string::npos) << format << ": " << remedy;
    }
  }
}

}  // namespace remedies_test
}  // namespace headroom
