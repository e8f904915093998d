#include "ingest/input/other_formats.h"

#include <gtest/gtest.h>

#include <string_view>

namespace headroom {
namespace other_formats_test {

TEST(OtherFormats, AreToldByTheirFirstBytes) {
  const struct {
    std::string_view head, what;
  } kCases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"},
      {"version https://git-lfs.github.com/spec/v2\n", "a Git LFS pointer"},
      {"\n  <!DOCTYPE HTML PUBLIC", "a web page"},
      {"\xef\xbb\xbf<html lang=\"en\">", "a web page"},
      {"<?xml version=\"1.0\"?><Error>", "an XML document"},
      {"\"Index\",\"KernelName\",\"gpu-id\"", "a rocprof table"},
      {"Index,KernelName,gpu-id,queue-id", "a rocprof table"},
      {"\"Kind\",\"Agent_Id\",\"Queue_Id\"", "a rocprof table"},
      {"{\n  \"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 1", "a PyTorch execution trace"},
      {"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
  };
  for (const auto& c : kCases) EXPECT_TRUE(OtherFormatOf(c.head).starts_with(c.what)) << c.head;
  for (const std::string_view head : {"\n\x10", "SQLite format 3 is what", "{", "{\"schema\": 1}",
                                      "version 2 of https://git-lfs", "<"}) {
    EXPECT_EQ(OtherFormatOf(head), "") << head;
  }
}

}  // namespace other_formats_test
}  // namespace headroom
