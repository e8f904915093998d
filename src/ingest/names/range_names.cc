#include "ingest/names/range_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/ascii.h"
#include "store/kineto_args.h"

namespace headroom {
namespace {

/// Returns the number at the start of a text, or kUnknown.
std::int64_t LeadingNumber(std::string_view text) {
  std::int64_t number = kUnknown;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Returns the JSON array at the start of the text if it contains only integers and such arrays.
/// Returns an empty string for other input.
std::string_view IntegerLists(std::string_view text) {
  enum class Place : std::uint8_t { kFirst, kBehindComma, kBehindItem };
  int depth = 0;
  Place place = Place::kFirst;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && c != '[') return {};
    if (c == ' ') continue;
    if (c == ']') {
      if (place == Place::kBehindComma) return {};
      if (--depth == 0) return text.substr(0, at + 1);
      place = Place::kBehindItem;
    } else if (c == ',') {
      if (place != Place::kBehindItem) return {};
      place = Place::kBehindComma;
    } else if (place == Place::kBehindItem) {
      return {};
    } else if (c == '[') {
      ++depth;
      place = Place::kFirst;
    } else {
      const std::size_t first = c == '-' ? at + 1 : at;
      std::size_t end = first;
      while (end < text.size() && IsDigit(text[end])) ++end;
      if (end == first || (text[first] == '0' && end > first + 1)) return {};
      at = end - 1;
      place = Place::kBehindItem;
    }
  }
  return {};
}

}  // namespace

std::optional<OperatorRange> ParseOperatorRange(std::string_view name) {
  constexpr std::string_view kSequence = ", seq = ", kId = ", op_id = ", kSizes = ", sizes = ";
  OperatorRange range;
  std::size_t end = name.size();
  bool has_sequence = false, has_id = false, has_sizes = false;
  // Advances from comma to comma for speed, because a trace may have very many ranges.
  for (std::size_t at = name.find(','); at != std::string_view::npos; at = name.find(',', at)) {
    const std::string_view rest = name.substr(at);
    const std::size_t here = at++;
    if (!has_sequence && rest.starts_with(kSequence)) {
      has_sequence = true;
      range.sequence = LeadingNumber(rest.substr(kSequence.size()));
    } else if (!has_id && rest.starts_with(kId)) {
      has_id = true;
      range.id = LeadingNumber(rest.substr(kId.size()));
    } else if (!has_sizes && rest.starts_with(kSizes)) {
      has_sizes = true;
      range.sizes = IntegerLists(rest.substr(kSizes.size()));
      if (!range.sizes.empty()) at = here + kSizes.size() + range.sizes.size();
    } else {
      continue;
    }
    end = std::min(end, here);
  }
  range.name = name.substr(0, end);
  if (range.name.empty() || (end == name.size() && !name.starts_with("aten::")))
    return std::nullopt;
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

void NamedRanges::Describe(TraceStore& store, std::size_t event, std::string_view name) {
  auto& rows = store.host_events;
  const std::optional<OperatorRange> op = ParseOperatorRange(name);
  if (!op) {
    rows.name.MutablePending(event) = store.strings.Intern(name.empty() ? "(unnamed range)" : name);
    return Note(event, name);
  }
  rows.name.MutablePending(event) = store.strings.Intern(op->name);
  rows.category.MutablePending(event) = store.strings.Intern("cpu_op");
  rows.kind.MutablePending(event) = HostEventKind::kOperator;
  rows.sequence.MutablePending(event) = op->sequence;
  rows.external_id.MutablePending(event) = op->id;
  rows.args.MutablePending(event) =
      op->sizes.empty() ? StringId::None()
                        : store.strings.Intern(fmt::format("\"{}\": {}", kInputDimsArg, op->sizes));
}

void NamedRanges::Note(std::size_t event, std::string_view name) {
  has_profiler_steps_ = has_profiler_steps_ || name.starts_with("ProfilerStep#");
  if (const std::optional<StepWord> word = NumberedStep(name))
    numbered_[static_cast<std::size_t>(*word)].push_back(event);
}

void NamedRanges::Mark(TraceStore& store) const {
  constexpr std::size_t kMin = 2;
  if (has_profiler_steps_) return;
  for (const std::vector<std::size_t>& of_word : numbered_) {
    if (of_word.size() < kMin) continue;
    const StringId category = store.strings.Intern("step");
    for (const std::size_t event : of_word)
      store.host_events.category.MutablePending(event) = category;
    return;
  }
}

}  // namespace headroom
