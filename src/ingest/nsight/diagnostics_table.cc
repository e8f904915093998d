#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "ingest/nsight/tables.h"

namespace headroom::nsight {

using sqlite::NamedColumns;
using sqlite::RowScan;

namespace {

/// Returns the issue that a diagnostic reports, and the number of lost records that it states; 1 if
/// it states none.
std::pair<ImportIssue, std::int64_t> MeaningOf(std::string_view diagnostic) {
  const std::string text = LowerCase(diagnostic);
  const auto has = [&](std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.find(word) != std::string::npos; });
  };
  if (has({"sampl", "backtrace", "cpu ip", "context switch", "thread sched", "unwind"}))
    return {ImportIssue::kCollectionNote, 1};
  const std::size_t digit = text.find_first_of("0123456789");
  if (digit == std::string::npos || !has({"lost", "dropped"}) ||
      !has({"gpu", "cuda", "cupti", "kernel"}))
    return {ImportIssue::kCollectionProblem, 1};
  std::int64_t count = 0;
  std::from_chars(text.data() + digit, text.data() + text.size(), count);
  // Sums over many diagnostics must not overflow.
  constexpr std::int64_t kMaxCount = 1'000'000'000;
  return {ImportIssue::kDroppedRecords, std::clamp<std::int64_t>(count, 1, kMaxCount)};
}

}  // namespace

void ReadDiagnostics(Reading& reading) {
  static constexpr NamedColumns kColumns{"severity", "text"};
  constexpr std::int64_t kWarning = 2;
  constexpr std::size_t kLongest = 200;
  struct Told {
    std::int64_t count = 0;
    std::string first;
  };
  std::map<ImportIssue, Told> told;
  reading.ForEach("DIAGNOSTIC_EVENT", kColumns, 2, [&](const RowScan& row) {
    if (row.Integer(kColumns["severity"], 0) < kWarning) return;
    const std::string text(row.Text(kColumns["text"]).substr(0, kLongest));
    const auto [issue, count] = MeaningOf(text);
    Told& same = told[issue];
    if (same.count == 0) same.first = text;
    same.count += count;
  });
  for (auto& [issue, same] : told) {
    while (!same.first.empty() && (IsSpace(same.first.back()) || same.first.back() == '.'))
      same.first.pop_back();
    reading.store.log.Add(issue, -1, same.first, same.count);
  }
}

}  // namespace headroom::nsight
