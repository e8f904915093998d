#include "store/carried_damage.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

namespace headroom {
namespace {

/// Returns true for issues that a reader finds again in a copy's rows, so that the copy need not
/// record them.
bool IsFoundAgain(ImportIssue issue) { return issue == ImportIssue::kOverlapping; }

template <typename Visit>
void ForEachIssue(Visit&& visit) {
  for (std::size_t i = 0; i < kImportIssueCount; ++i) visit(static_cast<ImportIssue>(i));
}

}  // namespace

bool IsMendedInCopies(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kUnclosed:
    case ImportIssue::kTrailingGarbage:
    case ImportIssue::kRepairedEvent:
    case ImportIssue::kDuplicateEvent:
    case ImportIssue::kUnmatchedEnd:
    case ImportIssue::kOutOfOrder:
    case ImportIssue::kNanosecondStamps:
    case ImportIssue::kZeroTimeEvents:
      return true;
    default:
      return false;
  }
}

bool CarriesToCopies(ImportIssue issue) { return !IsMendedInCopies(issue) && !IsFoundAgain(issue); }

void ForEachCarried(const ImportLog& log,
                    const std::function<void(std::string_view, std::int64_t)>& visit) {
  ForEachIssue([&](ImportIssue issue) {
    if (CarriesToCopies(issue) && log.Count(issue) > 0) visit(DocOf(issue).code, log.Count(issue));
  });
}

std::string CarriedMembers(const ImportLog& log) {
  std::string members;
  ForEachCarried(log, [&](std::string_view code, std::int64_t count) {
    members += fmt::format("{}\"{}\":{}", members.empty() ? "" : ",", code, count);
  });
  return members;
}

void AddCarried(std::string_view code, std::int64_t count, ImportLog& log) {
  constexpr std::int64_t kMax = std::int64_t{1} << 53;  // Keeps sums of several counts exact as
                                                        // doubles.
  if (count <= 0 || count > kMax) return;
  ForEachIssue([&](ImportIssue issue) {
    if (DocOf(issue).code == code && CarriesToCopies(issue))
      log.Add(issue, -1, "found in the original file, of which this is a copy", count);
  });
}

void AddCarried(const ImportLog& from, ImportLog& to) {
  ForEachIssue([&](ImportIssue issue) {
    if (!CarriesToCopies(issue)) return;
    std::int64_t count = from.Count(issue);  // Added with the first row, because a log keeps fewer
                                             // rows than it counts.
    for (const ImportLogRow& row : from.rows()) {
      if (row.issue == issue) to.Add(issue, row.offset, row.detail, std::exchange(count, 0));
    }
  });
}

}  // namespace headroom
