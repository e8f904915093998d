// Tests that files embedded by cmake/EmbedData.cmake equal the files on disk, byte for byte.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "embedded/test_files.h"

namespace headroom {
namespace {

std::string OnDisk(std::string_view name) {
  const char* root = std::getenv("HEADROOM_SOURCE_DIR");
  std::ifstream file(std::filesystem::path(root == nullptr ? "." : root) / name, std::ios::binary);
  EXPECT_TRUE(file) << name << ": not found; run this through ctest";
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(EmbedDataTest, KeepsOrderAndNamesPathsInTheSourceTree) {
  std::vector<std::string_view> names;
  for (const NamedText& file : TestFiles()) names.push_back(file.name);
  EXPECT_EQ(names, (std::vector<std::string_view>{"cmake/testdata/empty.txt",
                                                  "cmake/testdata/every_byte.bin",
                                                  "cmake/embed_data_test.cc"}));
}

TEST(EmbedDataTest, ContentEqualsTheFileOnDisk) {
  for (const NamedText& file : TestFiles()) EXPECT_EQ(file.content, OnDisk(file.name));
}

TEST(EmbedDataTest, EveryByteValueSurvives) {
  const std::string_view bytes = TestFiles()[1].content;
  ASSERT_EQ(bytes.size(), 256U);
  for (int value = 0; value < 256; ++value) {
    EXPECT_EQ(static_cast<unsigned char>(bytes[static_cast<std::size_t>(value)]), value);
  }
}

}  // namespace
}  // namespace headroom
