#include "ingest/other_formats.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom {
namespace {

TEST(OtherFormats, AreToldByNameOrFirstBytes) {
  const std::string sqlite("SQLite format 3\0 and so on", 26);
  const struct {
    std::string_view path, head, what;
  } kCases[] = {
      {"plugins/profile/host.xplane.pb", "\n\x10", "an XPlane profile (JAX, TensorFlow)"},
      {"host.xplane.pb.gz", "\n\x10", "an XPlane profile (JAX, TensorFlow)"},
      {"run.nsys-rep", "", "a report of Nsight Systems"},
      {"run.qdrep", "", "a report of Nsight Systems"},
      {"run.sqlite", "", "an SQLite database (as Nsight Systems exports)"},
      {"run.db", sqlite, "an SQLite database (as Nsight Systems exports)"},
      {"model.pb", "\n\x10", ""},
      {"notes.txt", "SQLite format 3 is what", ""},
      {"trace.json", "{", ""},
  };
  for (const auto& c : kCases) EXPECT_EQ(OtherFormatOf(c.path, c.head), c.what) << c.path;
}

}  // namespace
}  // namespace headroom
