#include "kernels/kernel_constants.h"

#include <gtest/gtest.h>

#include <string>

#include "embedded/kernel_constant_files.h"

namespace headroom {
namespace kernel_constants_test {

std::string Shipped() { return std::string(KernelConstantFiles().front().content); }

TEST(KernelConstants, ShippedOnesKnowTheArchitecturesOfAllShippedDevices) {
  const Result<KernelConstants> constants = KernelConstants::LoadBuiltIn();
  ASSERT_TRUE(constants.ok()) << constants.status().message();
  for (const char* architecture : {"Pascal", "Volta", "Turing", "Ampere", "Ada", "Hopper",
                                   "Blackwell", "CDNA1", "CDNA2", "CDNA3", "CDNA4"})
    EXPECT_NE(constants.value().LibraryOf(architecture), nullptr) << architecture;
  EXPECT_EQ(constants.value().LibraryOf("Kepler"), nullptr);
  EXPECT_TRUE(constants.value().Validated("Volta"));
  EXPECT_FALSE(constants.value().Validated("Ada"));
}

TEST(KernelConstants, SayWhatIsWrongWithAFile) {
  struct Case {
    const char* from;
    const char* to;
    const char* says;
  };
  for (const Case& c :
       {Case{"[product]", "[product", "line"},
        Case{"result_ns = ", "results_ns = ", "result_ns"},
        Case{"[launch]", "[launch]\nmore = 1", "'more'"},
        Case{"about = ", "about_ = ", "'about_'"},
        Case{"[residual]", "[rest]", "'rest'"},
        Case{"dual_issue", "dual_isue", "'dual_isue'"},
        Case{"dual_issue = true", "dual_issue = 1", "true or false"},
        Case{"piece_bytes = 32", "piece_bytes = 256", "piece_bytes is required"},
        Case{"piece_bytes = 32", "piece_bytes = \"32\"", "piece_bytes is required"},
        Case{"piece_bytes = 32", "", "piece_bytes is required"},
        Case{"[residual]", "[residual]\nprodct = [1, 1]", "'prodct' of [residual]"},
        Case{"[error]", "[error]\nprodct = [0, 1]", "'prodct' of [error]"},
        Case{"batched = [\"maxwell_128x64\"]", "batched = [\"9x9\"]", "'9x9'"},
        Case{"winograd_products = [\"128x128\"]", "winograd_products = []", "winograd_products"},
        Case{"[4, 4, 2]]", "[4, 4]]", "[IMAGES, ROWS, COLUMNS]"},
        Case{"[2, 4, 4]", "[2, 0, 4]", "winograd_blocks"},
        Case{"rows = 256", "rows = -256", "rows"},
        Case{"name = \"128x128\"", "name = \"256x128\"", "a unique name is required"},
        Case{"step = [", "step = [1, ", "[LOW, HIGH]"},
        Case{"other = [1, 1]", "other = [1, 2]", "shares from 0 to 1"}}) {
    std::string text = Shipped();
    const std::size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, std::string(c.from).size(), c.to);
    const Result<KernelConstants> constants = KernelConstants::Parse({"mine.toml", text});
    ASSERT_FALSE(constants.ok()) << c.to;
    EXPECT_EQ(constants.status().code(), StatusCode::kBadInput);
    EXPECT_NE(constants.status().message().find("mine.toml"), std::string::npos);
    EXPECT_NE(constants.status().message().find(c.says), std::string::npos)
        << constants.status().message();
  }
}

}  // namespace kernel_constants_test
}  // namespace headroom
