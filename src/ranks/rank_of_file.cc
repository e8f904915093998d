#include "ranks/rank_of_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "render/escape.h"

namespace headroom {
namespace {

/// Returns the rank in the file name that simulators expect: 3 for "job.3.et".
std::optional<std::int64_t> RankOfChakraName(std::string_view name) {
  for (const std::string_view compression : {".gz", ".zst", ".zstd", ".xz", ".bz2", ".zip"}) {
    if (name.ends_with(compression)) name.remove_suffix(compression.size());
  }
  constexpr std::string_view kEnding = ".et";
  if (!name.ends_with(kEnding)) return std::nullopt;
  name.remove_suffix(kEnding.size());
  const std::string_view digits = name.substr(name.rfind('.') + 1);
  const bool is_number = !digits.empty() && digits.size() <= 9 && digits.size() < name.size() &&
                         std::all_of(digits.begin(), digits.end(), IsDigit);
  if (!is_number) return std::nullopt;
  std::int64_t rank = 0;
  for (const char digit : digits) rank = 10 * rank + (digit - '0');
  return rank;
}

}  // namespace

std::optional<std::int64_t> RankOfFileName(std::string_view path) {
  const std::string name = LowerCase(path.substr(path.rfind('/') + 1));
  if (const std::optional<std::int64_t> rank = RankOfChakraName(name)) return rank;
  for (std::size_t at = name.rfind("rank"); at != std::string::npos;
       at = at == 0 ? std::string::npos : name.rfind("rank", at - 1)) {
    std::size_t digit = at + 4;
    if (digit < name.size() &&
        std::string_view("-_.=:").find(name[digit]) != std::string_view::npos)
      ++digit;
    std::size_t end = digit;
    while (end < name.size() && IsDigit(name[end])) ++end;
    if (end == digit || end - digit > 9) continue;
    std::int64_t rank = 0;
    for (; digit < end; ++digit) rank = 10 * rank + (name[digit] - '0');
    return rank;
  }
  return std::nullopt;
}

std::string HostOfFileName(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t ending = name.find(".pt.trace.json");
  if (ending == std::string_view::npos) return {};
  name = name.substr(0, ending);
  // Parses from the end: a timestamp after a dot (milliseconds or finer, so at least ten digits),
  // and a process id after an underscore.
  for (const auto& [mark, least] : {std::pair('.', 10), std::pair('_', 1)}) {
    std::size_t digits = name.size();
    while (digits > 0 && IsDigit(name[digits - 1])) --digits;
    if (name.size() - digits < static_cast<std::size_t>(least) || digits < 2 ||
        name[digits - 1] != mark)
      return {};
    name = name.substr(0, digits - 1);
  }
  return std::string(name);
}

Status AssignRanks(std::vector<TraceReport>& files) {
  if (files.size() < 2) return Status::Ok();
  std::map<std::int64_t, const TraceReport*> taken;
  for (const TraceReport& file : files) {
    if (!file.input.rank) continue;
    const auto [same, fresh] = taken.emplace(*file.input.rank, &file);
    if (fresh) continue;
    return Status::Usage(fmt::format(
        "{} and {} both state that they are rank {}: pass one file per rank, or report each file "
        "separately",
        Printable(same->second->input.path), Printable(file.input.path), *file.input.rank));
  }
  for (TraceReport& file : files) {
    if (file.input.rank) continue;
    const std::optional<std::int64_t> rank = RankOfFileName(file.input.path);
    if (rank && taken.emplace(*rank, &file).second) file.input.rank = rank;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].input.rank) continue;
    std::int64_t rank = static_cast<std::int64_t>(i);
    while (!taken.emplace(rank, &files[i]).second) ++rank;
    files[i].input.rank = rank;
  }
  return Status::Ok();
}

}  // namespace headroom
