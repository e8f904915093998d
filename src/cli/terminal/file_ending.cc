#include "cli/terminal/file_ending.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/terminal/output.h"

namespace headroom::cli {

std::string RemarkOnEnding(const std::string& path, std::string_view written, std::string_view what,
                           std::span<const OutputForm> forms) {
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const auto said = std::find_if(forms.begin(), forms.end(), [&](const OutputForm& form) {
    return name.ends_with(form.ending);
  });
  if (said == forms.end() || said->flag == written) return "";
  return fmt::format("headroom: {} holds {}; {} writes the format of that name\n",
                     Printable(path, CharsetOfEnvironment()), what, said->flag);
}

std::string RemarkOnTraceEnding(const std::string& path, TraceFormat written) {
  constexpr std::string_view kOthers[] = {".csv", ".sqlite", ".db",  ".parquet", ".zst", ".xz",
                                          ".bz2", ".zip",    ".txt", ".html",    ".md"};
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const bool is_other = std::any_of(std::begin(kOthers), std::end(kOthers),
                                    [&](std::string_view other) { return name.ends_with(other); });
  if (!is_other && (written == TraceFormat::kPerfetto || FormatOfName(path) == written)) return "";
  return fmt::format(
      "headroom: {} holds {}, despite its name\n", Printable(path, CharsetOfEnvironment()),
      written == TraceFormat::kPerfetto ? "a trace in Perfetto's format (.pftrace)"
                                        : "a trace as Chrome's JSON (.json, or .json.gz)");
}

}  // namespace headroom::cli
