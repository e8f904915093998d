// JSON of any size cut to one that a model's context has room for, and what was left out.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"

namespace headroom::mcp {

/// `value`, or so much of it that it takes at most `most` bytes as one line. Long lists lose their
/// last rows first and long strings their end; an object then has a key `left_out`, one row for
/// each cut: `select` (JSON pointer), `from` (first row that is missing) and `rows` of a list,
/// `bytes` of a string: with the first two, SelectJson() gives the rest. In the worst case that is
/// all it has, or not even all of that.
nlohmann::ordered_json FitJson(const nlohmann::ordered_json& value, std::size_t most);

/// The part of `value` that a JSON pointer names, of a list the rows from `from` on, as `{"schema",
/// "select", "from", "rows", "value"}`; `rows` and `from` only of a list, `next` (the next `from`)
/// where not all fit. Fails (kUsage) where there is no such part.
Result<nlohmann::ordered_json> SelectJson(const nlohmann::ordered_json& value,
                                          const std::string& select, std::size_t from,
                                          std::size_t most);

/// UTF-8 text of at most `most` bytes: whole lines, then `remark`, where it is longer. REQUIRES:
/// most > remark.size().
std::string FitText(std::string text, std::size_t most, const std::string& remark);

}  // namespace headroom::mcp
