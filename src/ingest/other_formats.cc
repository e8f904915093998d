#include "ingest/other_formats.h"

namespace headroom {
namespace {

struct OtherFormat {
  std::string_view suffix;  ///< Of the file's name; empty: told by its first bytes alone.
  std::string_view magic;   ///< Empty: told by its name alone.
  std::string_view what;
};

constexpr std::string_view kNsight =
    "a report of Nsight Systems, which only Nsight Systems reads; pass its export: nsys export "
    "--type sqlite FILE";

constexpr OtherFormat kOtherFormats[] = {
    {".nsys-rep", "", kNsight},
    {".qdrep", "", kNsight},
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
