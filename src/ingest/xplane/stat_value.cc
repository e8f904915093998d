#include "ingest/xplane/stat_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "store/tables.h"

namespace headroom::xplane {
namespace {

bool IsPlain(char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; }

}  // namespace

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
    case Type::kNumber:  // JSON knows no infinity and no NaN.
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

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  if (std::all_of(text.begin(), text.end(), IsPlain)) {
    out += text;
  } else {
    for (const char c : text) {
      if (IsPlain(c)) {
        out += c;
      } else if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else {
        fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
      }
    }
  }
  out += '"';
}

}  // namespace headroom::xplane
