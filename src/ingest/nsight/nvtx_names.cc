#include "ingest/nsight/nvtx_names.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "base/ascii.h"

namespace headroom::nsight {
namespace {

/// The number after `key`, or unknown.
std::int64_t NumberAfter(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  std::int64_t number = kUnknown;
  if (at != std::string_view::npos)
    std::from_chars(text.data() + at + key.size(), text.data() + text.size(), number);
  return number;
}

/// A list in brackets that holds nothing but integers and such lists, from the beginning of the
/// text; empty where it is anything else.
std::string_view IntegerLists(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[') ++depth;
    if (c == ']' && --depth == 0) return text.substr(0, at + 1);
    const bool fits = c == '[' || c == ']' || c == ',' || c == ' ' || c == '-' || IsDigit(c);
    if (!fits || depth <= 0) break;
  }
  return {};
}

}  // namespace

std::optional<OperatorRange> ParseOperatorRange(std::string_view name) {
  constexpr std::string_view kSequence = ", seq = ", kId = ", op_id = ", kSizes = ", sizes = ";
  OperatorRange range;
  const std::size_t end =
      std::min({name.find(kSequence), name.find(kId), name.find(kSizes), name.size()});
  range.name = name.substr(0, end);
  const std::string_view rest = name.substr(end);
  if (range.name.empty() || (rest.empty() && !name.starts_with("aten::"))) return std::nullopt;
  range.sequence = NumberAfter(rest, kSequence);
  range.id = NumberAfter(rest, kId);
  if (const std::size_t sizes = rest.find(kSizes); sizes != std::string_view::npos)
    range.sizes = IntegerLists(rest.substr(sizes + kSizes.size()));
  return range;
}

std::optional<StepWord> NumberedStep(std::string_view name) {
  constexpr std::size_t kLongest = 40;
  std::size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (end == name.size() || name.size() > kLongest) return std::nullopt;
  while (end > 0 && std::string_view(" _-:#=").find(name[end - 1]) != std::string_view::npos) --end;
  std::string words(name.substr(0, end));
  std::transform(words.begin(), words.end(), words.begin(), ToLower);
  for (const std::string_view before : {"training", "train", "global"}) {
    if (!words.starts_with(before)) continue;
    words.erase(0, before.size());
    words.erase(0, words.find_first_not_of(" _-"));
    break;
  }
  if (words == "step") return StepWord::kStep;
  if (words == "iteration" || words == "iter") return StepWord::kIteration;
  if (words == "batch") return StepWord::kBatch;
  return std::nullopt;
}

std::string_view FunctionName(std::string_view name) {
  constexpr std::size_t kFewestDigits = 4;
  std::size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (name.size() - end < kFewestDigits || !name.substr(0, end).ends_with("_v")) return name;
  name.remove_suffix(name.size() - end + 2);
  for (const std::string_view variant : {"_ptsz", "_ptds"}) {
    if (name.ends_with(variant)) name.remove_suffix(variant.size());
  }
  return name;
}

}  // namespace headroom::nsight
