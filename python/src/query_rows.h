// The result of SQL for Python, by column.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/string_pool.h"
#include "columns.h"
#include "query/database.h"
#include "recording.h"

namespace headroom::python {

/// The result of one statement, by column.
class QueryRows : public QuerySink {
 public:
  /// @param most_bytes  limit for the result; 0: no limit
  explicit QueryRows(std::int64_t most_bytes) : most_bytes_(most_bytes) {}

  void Begin(std::span<const std::string> names) override;
  bool Add(std::span<const QueryValue> row) override;
  bool began() const { return began_; }
  /// Returns kEnvironment if the result exceeded its limit.
  Status status() const;

  const std::vector<std::string>& names() const { return names_; }
  std::size_t rows() const { return rows_; }

  /// The kind of a cell, as engine.h numbers it.
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText, kBytes };
  struct Values {
    std::vector<std::uint8_t> kinds;
    std::vector<std::int64_t> payload;  ///< The number's bits, or the number of a text.
  };
  /// Throws StatusError if there is no such column.
  const Values& column(std::int64_t column) const;
  /// All texts and bytes of the result; codes[i] is i.
  headroom_texts Texts() const;

 private:
  std::int64_t MemoryBytes() const;

  std::int64_t most_bytes_;
  std::vector<std::string> names_;
  std::vector<Values> columns_;
  StringPool texts_;
  std::size_t rows_ = 0;
  bool began_ = false, too_large_ = false;
};

/// Runs one statement until `stop` is true. A limit of 0 means no limit. Throws StatusError.
std::shared_ptr<QueryRows> RunQuery(const std::shared_ptr<const Trace>& trace,
                                    const std::string& sql, double timeout_s,
                                    std::int64_t memory_mb, const std::atomic<bool>& stop);

}  // namespace headroom::python
