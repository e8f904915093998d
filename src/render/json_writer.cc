#include "render/json_writer.h"

#include <fmt/format.h>

#include <cassert>
#include <cmath>

#include "render/escape.h"

namespace headroom {

std::string DecimalOf(std::int64_t value, int decimals) {
  std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  std::uint64_t one = 1;
  for (int i = 0; i < decimals; ++i) one *= 10;
  std::string text = fmt::format("{}{}", value < 0 ? "-" : "", magnitude / one);
  if (const std::uint64_t fraction = magnitude % one; fraction != 0) {
    text += fmt::format(".{:0{}}", fraction, decimals);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

std::string MeanUs(DurationNs total, std::int64_t count) {
  assert(count > 0);
  return DecimalOf(total.ns() / count * 1000 + (total.ns() % count * 1000 + count / 2) / count, 6);
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  out_ += JsonString(key);
  out_ += ": ";
  after_key_ = true;
  return *this;
}

void JsonWriter::String(std::string_view text) { Raw(JsonString(text)); }

void JsonWriter::Integer(std::int64_t value) { Raw(fmt::format("{}", value)); }

void JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Null();
  Raw(fmt::format("{}", value));
}

void JsonWriter::Raw(std::string_view json) {
  if (!after_key_) Separate();
  after_key_ = false;
  out_ += json;
}

void JsonWriter::Begin(char bracket, Layout layout) {
  if (!after_key_) Separate();
  after_key_ = false;
  if (!levels_.empty() && levels_.back().layout == Layout::kInline) layout = Layout::kInline;
  out_.push_back(bracket);
  levels_.push_back({layout});
}

void JsonWriter::End(char bracket) {
  const Level level = levels_.back();
  levels_.pop_back();
  if (level.layout == Layout::kLines && !level.empty) NewLine();
  out_.push_back(bracket);
}

void JsonWriter::NewLine() {
  out_.push_back('\n');
  out_.append(2 * levels_.size(), ' ');
}

void JsonWriter::Separate() {
  if (levels_.empty()) return;
  Level& level = levels_.back();
  if (!level.empty) out_.push_back(',');
  if (level.layout == Layout::kLines) {
    NewLine();
  } else if (!level.empty) {
    out_.push_back(' ');
  }
  level.empty = false;
}

}  // namespace headroom
