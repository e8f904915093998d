#include "serve/run/last_lines.h"

#include <utility>

namespace headroom {

void LastLines::Append(std::string_view output) {
  for (const char c : output) Take(c);
}

bool LastLines::TakeEscape(char c) {
  if (c == '\n') escape_ = Escape::kNone;  // No sequence contains a line break.
  switch (escape_) {
    case Escape::kNone:
      return false;
    case Escape::kBegun:
      if (c == '[') {
        escape_ = Escape::kSequence;
      } else if (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_') {
        escape_ = Escape::kText;
      } else if ((c < ' ' || c > '/') && c != '\x1b') {
        escape_ = Escape::kNone;  // Final byte; the bytes before it are from space to slash.
      }
      return true;
    case Escape::kSequence:
      if (c >= '@' && c <= '~') escape_ = Escape::kNone;
      if (c == '\x1b') escape_ = Escape::kBegun;
      return true;
    case Escape::kText:
      if (c == '\a') escape_ = Escape::kNone;
      if (c == '\x1b') escape_ = Escape::kTextEscape;
      return true;
    case Escape::kTextEscape:
      escape_ = Escape::kNone;
      if (c == '\\') return true;
      escape_ = Escape::kBegun;  // ESC begins another sequence and ends this one.
      return TakeEscape(c);
  }
  return false;
}

void LastLines::Take(char c) {
  if (TakeEscape(c)) return;
  switch (c) {
    case '\x1b':
      escape_ = Escape::kBegun;
      return;
    case '\r':
      returned_ = true;
      return;
    case '\n':
      whole_.push_back(std::exchange(line_, ""));
      if (whole_.size() > kMaxLines) whole_.pop_front();
      returned_ = false;
      return;
    default:
      if (std::exchange(returned_, false)) line_.clear();
      if (line_.size() < kMaxBytes) line_ += c;
  }
}

std::vector<std::string> LastLines::Now() const {
  std::vector<std::string> lines(whole_.begin(), whole_.end());
  if (!line_.empty()) lines.push_back(line_);
  if (lines.size() > kMaxLines) lines.erase(lines.begin());
  return lines;
}

}  // namespace headroom
