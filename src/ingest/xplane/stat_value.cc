#include "ingest/xplane/stat_value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "ingest/input/json_escapes.h"
#include "store/tables.h"

namespace headroom::xplane {

std::int64_t StatValue::Integer() const {
  const bool is_integer = type == Type::kSigned || type == Type::kUnsigned;
  if (is_integer) return integer;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = type == Type::kText && !text.empty() && error == std::errc() &&
                     end == text.data() + text.size();
  return whole ? value : kUnknown;
}

void StatValue::AppendTo(std::string& out) const {
  switch (type) {
    case Type::kNone:
      out += "null";
      break;
    case Type::kNumber:  // JSON has no infinity and no NaN.
      if (std::isfinite(number)) {
        fmt::format_to(std::back_inserter(out), "{}", number);
      } else {
        out += "null";
      }
      break;
    case Type::kUnsigned:
      out += fmt::format_int(static_cast<std::uint64_t>(integer)).c_str();
      break;
    case Type::kSigned:
      out += fmt::format_int(integer).c_str();
      break;
    case Type::kText:
      AppendQuoted(text, out);
      break;
  }
}

}  // namespace headroom::xplane
