#include "ingest/other_formats.h"

namespace headroom {
namespace {

struct OtherFormat {
  std::string_view suffix;  ///< Of the file's name; empty: told by its first bytes alone.
  std::string_view magic;   ///< Empty: told by its name alone.
  std::string_view what;
};

constexpr OtherFormat kOtherFormats[] = {
    {".xplane.pb", "", "an XPlane profile (JAX, TensorFlow)"},
    {".nsys-rep", "", "a report of Nsight Systems"},
    {".qdrep", "", "a report of Nsight Systems"},
    {"", std::string_view("SQLite format 3\0", 16),
     "an SQLite database (as Nsight Systems exports)"},
    {".sqlite", "", "an SQLite database (as Nsight Systems exports)"},
};

}  // namespace

std::string_view OtherFormatOf(std::string_view path, std::string_view head) {
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (path.ends_with(compressed)) path.remove_suffix(compressed.size());
  }
  for (const OtherFormat& format : kOtherFormats) {
    if (path.ends_with(format.suffix) && head.starts_with(format.magic)) return format.what;
  }
  return {};
}

}  // namespace headroom
