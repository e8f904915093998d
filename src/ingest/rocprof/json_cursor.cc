#include "ingest/rocprof/json_cursor.h"

#include <charconv>
#include <system_error>

#include "base/ascii.h"
#include "ingest/input/json_escapes.h"

namespace headroom::rocprof {

bool JsonCursor::NextItem(char close) {
  SkipWhite();
  if (!fine()) return false;
  if (*p_ == close) {
    ++p_;
    first_ = false;
    return false;
  }
  if (!first_) {
    if (*p_ != ',') return Fail();
    ++p_;
    SkipWhite();
  }
  first_ = false;
  return fine();
}

bool JsonCursor::NextMember(std::string_view& key) {
  bool has_escapes = false;
  if (!NextItem('}')) return false;
  if (*p_ != '"') return Fail();
  if (!Quoted(key, has_escapes)) return false;
  SkipWhite();
  if (!fine()) return false;
  if (*p_ != ':') return Fail();
  ++p_;
  SkipWhite();
  return fine();
}

bool JsonCursor::NextElement() { return NextItem(']'); }

bool JsonCursor::Quoted(std::string_view& text, bool& has_escapes) {
  const char* const from = ++p_;
  for (; p_ != end_; ++p_) {
    if (*p_ == '"') {
      text = {from, static_cast<std::size_t>(p_ - from)};
      ++p_;
      return true;
    }
    // rocprofv3 escapes control characters in texts, so a raw one means that a quote was lost.
    if (static_cast<unsigned char>(*p_) < 0x20) return Fail();
    if (*p_ != '\\') continue;
    has_escapes = true;
    if (++p_ == end_) break;
  }
  return Fail(State::kCut);
}

bool JsonCursor::Integer(std::uint64_t& value) {
  const char first = Peek();
  if (!IsDigit(first) && first != '-') {
    Skip();
    return false;
  }
  const char* const from = p_;
  const bool negative = first == '-';
  if (negative) ++p_;
  bool fits = p_ != end_ && IsDigit(*p_);
  std::uint64_t magnitude = 0;
  for (; p_ != end_ && IsDigit(*p_); ++p_) {
    fits = fits && !__builtin_mul_overflow(magnitude, std::uint64_t{10}, &magnitude) &&
           !__builtin_add_overflow(magnitude, static_cast<std::uint64_t>(*p_ - '0'), &magnitude);
  }
  if (p_ == end_) return Fail(State::kCut);
  if (*p_ != ',' && *p_ != '}' && *p_ != ']' && !IsSpace(*p_)) {  // A fraction, or not a number.
    p_ = from;
    Skip();
    return false;
  }
  if (!fits || (negative && magnitude > std::uint64_t{1} << 63)) return false;
  value = negative ? std::uint64_t{0} - magnitude : magnitude;
  return true;
}

bool JsonCursor::Number(double& value) {
  const char first = Peek();
  const char* const from = p_;
  Skip();
  if (!fine() || (!IsDigit(first) && first != '-')) return false;
  double number = 0;
  const auto [end, error] = std::from_chars(from, p_, number);
  if (error != std::errc() || end != p_) return false;
  value = number;
  return true;
}

bool JsonCursor::Text(std::string_view& text, std::string& scratch) {
  if (Peek() != '"') {
    Skip();
    return false;
  }
  bool has_escapes = false;
  if (!Quoted(text, has_escapes)) return false;
  if (!has_escapes) return true;
  scratch.clear();
  Unescape(text, scratch);
  text = scratch;
  return true;
}

void JsonCursor::Skip() {
  std::int64_t depth = 0;
  do {
    const char c = Peek();
    if (!fine()) return;
    if (c == '"') {
      std::string_view text;
      bool has_escapes = false;
      if (!Quoted(text, has_escapes)) return;
    } else if (c == '{' || c == '[') {
      ++depth;
      ++p_;
    } else if (c == '}' || c == ']') {
      if (--depth < 0) {
        Fail();
        return;
      }
      ++p_;
    } else if (c == ',' || c == ':') {
      if (depth == 0) {
        Fail();
        return;
      }
      ++p_;
    } else {
      const char* const from = p_;
      const auto is_bare = [](char b) {
        return IsDigit(b) || IsLetter(b) || b == '+' || b == '-' || b == '.';
      };
      while (p_ != end_ && is_bare(*p_)) ++p_;
      if (p_ == end_) {
        Fail(State::kCut);
        return;
      }
      if (p_ == from) {
        Fail();
        return;
      }
    }
  } while (depth > 0);
}

}  // namespace headroom::rocprof
