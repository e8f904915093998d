#include "analysis/steps/step_kind.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/statistics.h"
#include "base/text.h"

namespace headroom {
namespace {

/// Returns the number at the start of a string, if it is plausible as tokens of an iteration. The
/// limit prevents an overflow of the sum over all steps.
std::optional<std::int64_t> LeadingNumber(std::string_view text) {
  constexpr std::int64_t kMaxTokens = 1'000'000'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && number >= 0 && number <= kMaxTokens ? std::optional(number)
                                                                     : std::nullopt;
}

/// Sequences in an engine's mark, and their tokens: "context_1(888_788544)",
/// "generation_32(sq32...".
struct Sequences {
  std::int64_t count = 0, tokens = 0;
};
std::optional<Sequences> SequencesBehind(std::string_view name, std::string_view word) {
  const std::size_t at = name.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  name.remove_prefix(at + word.size());
  const std::optional<std::int64_t> count = LeadingNumber(name);
  if (!count) return std::nullopt;
  name.remove_prefix(std::min(name.find('('), name.size()));
  if (name.starts_with('(')) name.remove_prefix(1);
  if (name.starts_with("sq")) name.remove_prefix(2);
  return Sequences{*count, LeadingNumber(name).value_or(0)};
}

/// Returns the number after a key such as "toks=".
std::optional<std::int64_t> NumberBehind(std::string_view name, std::string_view key) {
  const std::size_t at = name.find(key);
  return at == std::string_view::npos ? std::nullopt : LeadingNumber(name.substr(at + key.size()));
}

StepKind KindOfWord(std::string_view word) {
  static const std::map<std::string_view, StepKind> kWords = {
      {"train", StepKind::kTraining},        {"training", StepKind::kTraining},
      {"eval", StepKind::kEvaluation},       {"evaluate", StepKind::kEvaluation},
      {"evaluation", StepKind::kEvaluation}, {"val", StepKind::kEvaluation},
      {"valid", StepKind::kEvaluation},      {"validate", StepKind::kEvaluation},
      {"validation", StepKind::kEvaluation}, {"test", StepKind::kEvaluation},
      {"prefill", StepKind::kPrefill},       {"extend", StepKind::kPrefill},
      {"decode", StepKind::kDecode},         {"mixed", StepKind::kMixed},
  };
  const auto known = kWords.find(word);
  return known == kWords.end() ? StepKind::kUnknown : known->second;
}

}  // namespace

MarkedKind KindOfMark(std::string_view name) {
  const std::optional<Sequences> context = SequencesBehind(name, "context_");
  const std::optional<Sequences> generation = SequencesBehind(name, "generation_");
  if (context && generation) {
    MarkedKind marked;
    if (context->count > 0 && generation->count > 0) marked.kind = StepKind::kMixed;
    if (context->count > 0 && generation->count == 0) marked.kind = StepKind::kPrefill;
    if (context->count == 0 && generation->count > 0) marked.kind = StepKind::kDecode;
    // Each generated sequence gets at least one token.
    const std::int64_t tokens = context->tokens + std::max(generation->tokens, generation->count);
    if (tokens > 0 && (context->count == 0 || context->tokens > 0)) marked.tokens = tokens;
    return marked;
  }
  MarkedKind marked;
  std::string word;
  const std::string lower = LowerCase(name) + " ";
  for (const char c : lower) {
    if (IsLetter(c)) {
      word += c;
      continue;
    }
    if (const StepKind kind = KindOfWord(word); marked.kind == StepKind::kUnknown)
      marked.kind = kind;
    word.clear();
  }
  marked.tokens = NumberBehind(lower, "toks=");
  if (!marked.tokens && marked.kind == StepKind::kDecode)
    marked.tokens = NumberBehind(lower, "bs=");
  return marked;
}

std::optional<double> TokensPerSecond(const StepKindRow& row) {
  constexpr double kMsPerSecond = 1000;
  if (!row.tokens || row.mean.ns() <= 0) return std::nullopt;
  return *row.tokens / row.mean.ms() * kMsPerSecond;
}

StepKind MainKind(const std::vector<StepRow>& rows) {
  std::map<StepKind, DurationNs> time;
  for (const StepRow& row : rows) {
    if (!row.lost_tasks && row.kind != StepKind::kUnknown) time[row.kind] += row.wall;
  }
  if (time.contains(StepKind::kTraining)) return StepKind::kTraining;
  StepKind main = StepKind::kUnknown;
  DurationNs most;
  for (const auto& [kind, of_kind] : time) {
    if (of_kind <= most) continue;
    most = of_kind;
    main = kind;
  }
  return main;
}

std::vector<StepKindRow> TableOfKinds(const std::vector<StepRow>& rows) {
  struct Sum {
    std::vector<DurationNs> walls;
    DurationNs total;
    std::int64_t tokens = 0, with_tokens = 0;
  };
  std::map<StepKind, Sum> sums;
  DurationNs all;
  bool any_tokens = false;
  for (const StepRow& row : rows) {
    if (row.lost_tasks) continue;
    Sum& sum = sums[row.kind];
    sum.walls.push_back(row.wall);
    sum.total += row.wall;
    all += row.wall;
    if (!row.tokens) continue;
    any_tokens = true;
    sum.tokens += *row.tokens;
    ++sum.with_tokens;
  }
  const std::size_t known = sums.size() - (sums.contains(StepKind::kUnknown) ? 1 : 0);
  if (known < 2 && !any_tokens) return {};
  const StepKind main = MainKind(rows);
  std::vector<StepKindRow> table;
  for (auto& [kind, sum] : sums) {
    std::sort(sum.walls.begin(), sum.walls.end());
    const auto count = static_cast<std::int64_t>(sum.walls.size());
    StepKindRow& row = table.emplace_back();
    row.kind = kind;
    row.count = count;
    row.total = sum.total;
    row.mean = DurationNs((sum.total.ns() + count / 2) / count);
    row.p50 = SortedPercentile(sum.walls, 50);
    row.p90 = SortedPercentile(sum.walls, 90);
    row.share_pct = all.ns() == 0
                        ? 0
                        : 100 * static_cast<double>(sum.total.ns()) / static_cast<double>(all.ns());
    if (sum.with_tokens == count)
      row.tokens = static_cast<double>(sum.tokens) / static_cast<double>(count);
  }
  std::stable_sort(table.begin(), table.end(), [&](const StepKindRow& a, const StepKindRow& b) {
    return std::pair(a.kind != main, b.total) < std::pair(b.kind != main, a.total);
  });
  return table;
}

StepKind CountedKind(const std::vector<StepKindRow>& table) {
  const bool all_known = std::none_of(table.begin(), table.end(), [](const StepKindRow& row) {
    return row.kind == StepKind::kUnknown;
  });
  return table.empty() || !all_known ? StepKind::kUnknown : table.front().kind;
}

}  // namespace headroom
