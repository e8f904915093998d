#include "ingest/rocprof/json_window.h"

#include <algorithm>
#include <span>

#include "base/ascii.h"

namespace headroom::rocprof {

bool JsonWindow::Fill() {
  if (ended_) return false;
  buffer_.erase(0, at_);
  offset_ += static_cast<std::int64_t>(at_);
  at_ = 0;
  const std::size_t had = buffer_.size();
  const std::size_t wanted = std::max(step_, had);
  buffer_.resize(had + wanted);
  const Result<std::size_t> read = source_.Read(std::span(buffer_).subspan(had));
  if (!read.ok()) status_ = read.status();
  const std::size_t got = read.ok() ? read.value() : 0;
  buffer_.resize(had + got);
  ended_ = got < wanted;
  if (progress_) progress_(source_.file_bytes_read());
  return got > 0;
}

char JsonWindow::Next() {
  for (;;) {
    while (at_ < buffer_.size() && (IsSpace(buffer_[at_]) || buffer_[at_] == ',')) ++at_;
    if (at_ < buffer_.size()) return buffer_[at_] == '\0' ? '?' : buffer_[at_];
    if (!Fill()) return '\0';
  }
}

bool JsonWindow::SkipValue() {
  std::int64_t depth = 0;
  bool in_text = false, escaped = false, any = false;
  for (;;) {
    while (at_ < buffer_.size()) {
      const char c = buffer_[at_];
      if (in_text) {
        if (escaped) {
          escaped = false;
        } else if (c == '\\') {
          escaped = true;
        } else if (c == '"') {
          in_text = false;
          if (depth == 0) return ++at_, true;
        }
      } else if (c == '"') {
        in_text = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (c == '}' || c == ']') {
        if (depth == 0) return true;  // The end of a bare value.
        if (--depth == 0) return ++at_, true;
      } else if (depth == 0 && any && (c == ',' || IsSpace(c))) {
        return true;
      }
      any = any || !IsSpace(c);
      ++at_;
    }
    if (!Fill()) return false;
  }
}

}  // namespace headroom::rocprof
