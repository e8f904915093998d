#include "ingest/nsight/reading.h"

#include <algorithm>
#include <array>

namespace headroom::nsight {

using sqlite::DatabaseTable;
using sqlite::SameName;

Reading::Reading(const sqlite::Database& from, const ReadOptions& options, TraceStore& into)
    : database(from),
      store(into),
      tracks(into),
      texts(into),
      budget(options.expansion),
      options_(options),
      tells_processes_(TasksTellProcesses()) {
  budget.HasRead(options.file_bytes > 0 ? options.file_bytes : from.bytes());
}

bool Reading::TasksTellProcesses() const {
  return std::ranges::all_of(
      std::array{kKernels, kCopies, kSets, kGraphs}, [&](std::string_view name) {
        const DatabaseTable* const table = database.Find(name);
        return table == nullptr ||
               std::ranges::any_of(table->columns, [](const std::string& column) {
                 return SameName(column, "globalPid");
               });
      });
}

StringId Reading::NameOr(StringId name, std::string_view otherwise, std::string_view table) {
  if (name.valid()) return name;
  store.log.Add(ImportIssue::kMissingName, -1, std::string(table));
  return store.strings.Intern(otherwise);
}

}  // namespace headroom::nsight
