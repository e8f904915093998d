// A text file that is embedded in the program (from data/) or supplied by the user.
#pragma once

#include <string_view>

namespace headroom {

/// A text and the name that messages use for it. Owns nothing: both views must outlive the use.
struct NamedText {
  std::string_view name;     ///< File name, e.g. "devices/nvidia_h200.toml".
  std::string_view content;  ///< The whole file.
};

}  // namespace headroom
