#include "cli/file_ending.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.h"

namespace headroom::cli {

std::string RemarkOnEnding(const std::string& path, std::string_view written, std::string_view what,
                           std::span<const OutputForm> forms) {
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const auto said = std::find_if(forms.begin(), forms.end(), [&](const OutputForm& form) {
    return name.ends_with(form.ending);
  });
  if (said == forms.end() || said->flag == written) return "";
  return fmt::format("headroom: {} holds {}; {} writes what its name says\n",
                     Printable(path, CharsetOfEnvironment()), what, said->flag);
}

}  // namespace headroom::cli
