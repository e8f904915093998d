#include "store/import_log.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

constexpr ImportIssueDoc kDocs[] = {
#define X(name, code, severity, sentence, voids, remedy) \
  {code, Severity::severity, sentence, voids, remedy},
    HEADROOM_IMPORT_ISSUES(X)
#undef X
};

}  // namespace

const ImportIssueDoc& DocOf(ImportIssue issue) { return kDocs[static_cast<std::size_t>(issue)]; }

void ImportLog::Add(ImportIssue issue, std::int64_t offset, std::string detail,
                    std::int64_t count) {
  const auto index = static_cast<std::size_t>(issue);
  counts_[index] += count;
  if (kept_[index] == kRowsKeptPerIssue) return;
  ++kept_[index];
  rows_.push_back({issue, offset, std::move(detail)});
}

void ImportLog::Merge(const ImportLog& later) {
  for (const ImportLogRow& row : later.rows_) Add(row.issue, row.offset, row.detail, 0);
  for (std::size_t i = 0; i < kImportIssueCount; ++i) counts_[i] += later.counts_[i];
}

bool ImportLog::empty() const {
  return std::all_of(counts_.begin(), counts_.end(), [](std::int64_t count) { return count == 0; });
}

}  // namespace headroom
