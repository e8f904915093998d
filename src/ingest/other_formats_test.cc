#include "ingest/other_formats.h"

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

namespace headroom {
namespace other_formats_test {

TEST(OtherFormats, AreToldByNameOrFirstBytes) {
  const struct {
    std::string_view path, head, what;
  } kCases[] = {
      {"run.nsys-rep", "", "a report of Nsight Systems"},
      {"run.nsys-rep.gz", "", "a report of Nsight Systems"},
      {"run.qdrep", "", "a report of Nsight Systems"},
      {"run.nsys-rep.zst", "", "a report of Nsight Systems"},
      {"a.json", "version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"},
      {"a.sqlite", "version https://git-lfs.github.com/spec/v2\n", "a Git LFS pointer"},
      {"a.json", "\n  <!DOCTYPE HTML PUBLIC", "a web page"},
      {"a.json", "\xef\xbb\xbf<html lang=\"en\">", "a web page"},
      {"a.json", "<?xml version=\"1.0\"?><Error>", "an XML document"},
      {"a.7z", "7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
  };
  for (const auto& c : kCases)
    EXPECT_TRUE(OtherFormatOf(c.path, c.head).starts_with(c.what)) << c.path;
  const std::pair<std::string_view, std::string_view> kOthers[] = {
      {"model.pb", "\n\x10"}, {"notes.txt", "SQLite format 3 is what"},
      {"trace.json", "{"},    {"notes.txt", "version 2 of https://git-lfs"},
      {"a.json", "<"},
  };
  for (const auto& [path, head] : kOthers) EXPECT_EQ(OtherFormatOf(path, head), "") << path;
}

}  // namespace other_formats_test
}  // namespace headroom
