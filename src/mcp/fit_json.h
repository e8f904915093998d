// Cuts JSON to a size that fits a model's context, and records the omitted parts.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace headroom::mcp {

/// Returns `value`, cut if necessary to at most `most` bytes as one line. Long lists lose their
/// last rows first, and long strings their end. An object then has a key `left_out` with one row
/// per cut:
/// - `select`: JSON pointer of the cut part.
/// - `from`, `rows`: of a list, the first missing row and the number of rows.
/// - `bytes`: of a string, the number of omitted bytes.
///
/// SelectJson() with `select` and `from` gives the rest of a list. For a very small `most`, the
/// result has only `left_out`, or a part of it.
///
/// @param select  JSON pointer of `value` in the whole answer
nlohmann::ordered_json FitJson(const nlohmann::ordered_json& value, std::size_t most,
                               const std::string& select = "");

/// Returns the part of `value` that a JSON pointer names; of a list, the rows from `from` on. The
/// result is `{"schema", "select", "from", "rows", "value"}`, with `rows` and `from` only for a
/// list, and `next` (the next `from`) if rows are missing. Fails (kUsage) if the part does not
/// exist.
Result<nlohmann::ordered_json> SelectJson(const nlohmann::ordered_json& value,
                                          const std::string& select, std::size_t from,
                                          std::size_t most);

/// Returns UTF-8 text of at most `most` bytes. A longer text is cut to whole lines, followed by
/// `remark`. REQUIRES: most > remark.size().
std::string FitText(std::string text, std::size_t most, const std::string& remark);

}  // namespace headroom::mcp
