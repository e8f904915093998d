#include "serve/last_lines.h"

#include <utility>

namespace headroom {

void LastLines::Append(std::string_view output) {
  for (const char c : output) Take(c);
}

void LastLines::Take(char c) {
  if (escape_ == Escape::kBegun) {
    escape_ = c == '[' ? Escape::kSequence : Escape::kNone;
    return;
  }
  if (escape_ == Escape::kSequence) {
    if (c >= '@' && c <= '~') escape_ = Escape::kNone;
    if (c != '\n') return;  // No sequence holds it.
    escape_ = Escape::kNone;
  }
  switch (c) {
    case '\x1b':
      escape_ = Escape::kBegun;
      return;
    case '\r':
      returned_ = true;
      return;
    case '\n':
      whole_.push_back(std::exchange(line_, ""));
      if (whole_.size() > kMostLines) whole_.pop_front();
      returned_ = false;
      return;
    default:
      if (std::exchange(returned_, false)) line_.clear();
      if (line_.size() < kMostBytes) line_ += c;
  }
}

std::vector<std::string> LastLines::Now() const {
  std::vector<std::string> lines(whole_.begin(), whole_.end());
  if (!line_.empty()) lines.push_back(line_);
  if (lines.size() > kMostLines) lines.erase(lines.begin());
  return lines;
}

}  // namespace headroom
