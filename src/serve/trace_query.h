// Answers SQL about an open trace.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"
#include "base/wanted.h"
#include "query/table_module.h"
#include "store/trace_store.h"

namespace headroom {

/// Thread-safe; runs one statement at a time.
class TraceQuery {
 public:
  static constexpr std::int64_t kMaxRows = 1000;

  /// `store` must outlive the object.
  explicit TraceQuery(const TraceStore& store) : store_(store) {}

  /// Returns headroom.query/1 with at most kMaxRows rows, as `headroom query --json` prints it.
  /// Fails as Database::RunFirst() does, with small limits of time and memory. Fails (kUsage)
  /// unless `sql` contains exactly one statement.
  ///
  /// @param is_wanted  once it returns false, the statement ends
  Result<std::string> Json(const std::string& sql, const IsWanted& is_wanted);

 private:
  const TraceStore& store_;
  std::mutex mutex_;                   ///< Guards the tables.
  std::optional<QueryTables> tables_;  ///< Made by the first statement.
};

}  // namespace headroom
