// A data file that was built into the program, so that one binary runs everywhere.
//
// headroom_embed() of cmake/EmbedData.cmake makes a list of them; "embedded/<list>.h" declares it.
#pragma once

#include <string_view>

namespace headroom {

/// Both views last as long as the program.
struct EmbeddedFile {
  std::string_view name;     ///< Path in the source tree: "data/devices/a100.toml".
  std::string_view content;  ///< The file's bytes.
};

}  // namespace headroom
