#include "serve/query.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "render/escape.h"

namespace headroom {
namespace {

std::string Shown(const std::string& text) { return Printable(text, Charset::kAscii); }

}  // namespace

void Query::Fail(std::string message) {
  if (status_.ok()) status_ = Status::Usage(std::move(message));
}

const std::string* Query::One(const std::string& name) {
  taken_.insert(name);
  const auto [begin, end] = parameters_.equal_range(name);
  if (begin == end) return nullptr;
  if (std::next(begin) != end) Fail(fmt::format("{} is given more than once", name));
  return &begin->second;
}

std::vector<std::string> Query::List(const std::string& name) {
  taken_.insert(name);
  std::vector<std::string> values;
  const auto [begin, end] = parameters_.equal_range(name);
  for (auto parameter = begin; parameter != end; ++parameter) {
    std::string_view rest = parameter->second;
    while (true) {
      const std::size_t comma = rest.find(',');
      if (rest.substr(0, comma).empty()) Fail(fmt::format("{}: a value is empty", name));
      values.emplace_back(rest.substr(0, comma));
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return values;
}

std::vector<std::string> Query::Texts(const std::string& name) {
  taken_.insert(name);
  std::vector<std::string> texts;
  const auto [begin, end] = parameters_.equal_range(name);
  for (auto parameter = begin; parameter != end; ++parameter) texts.push_back(parameter->second);
  return texts;
}

std::string Query::Text(const std::string& name) {
  const std::string* text = One(name);
  return text == nullptr ? std::string() : *text;
}

std::optional<double> Query::NumberIn(const std::string& name, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value))
    return value;
  Fail(fmt::format("{}: '{}' is not a number", name, Shown(text)));
  return std::nullopt;
}

std::optional<double> Query::Number(const std::string& name) {
  const std::string* text = One(name);
  return text == nullptr ? std::nullopt : NumberIn(name, *text);
}

std::vector<double> Query::Numbers(const std::string& name) {
  std::vector<double> values;
  for (const std::string& text : List(name)) values.push_back(NumberIn(name, text).value_or(0));
  return values;
}

std::int64_t Query::IntegerIn(const std::string& name, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  Fail(fmt::format("{}: '{}' is not an integer", name, Shown(text)));
  return 0;
}

std::int64_t Query::Integer(const std::string& name) {
  const std::string* text = One(name);
  if (text != nullptr) return IntegerIn(name, *text);
  Fail(fmt::format("{} is required", name));
  return 0;
}

std::optional<std::int64_t> Query::OptionalInteger(const std::string& name) {
  const std::string* text = One(name);
  return text == nullptr ? std::nullopt : std::optional(IntegerIn(name, *text));
}

std::vector<std::int64_t> Query::Integers(const std::string& name) {
  std::vector<std::int64_t> values;
  for (const std::string& text : List(name)) values.push_back(IntegerIn(name, text));
  return values;
}

std::optional<std::int64_t> Query::Count(const std::string& name, std::int64_t most) {
  const std::string* text = One(name);
  if (text == nullptr) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error == std::errc() && end == text->data() + text->size() && value >= 1 && value <= most)
    return value;
  Fail(fmt::format("{}: '{}' is not an integer from 1 to {}", name, Shown(*text), most));
  return std::nullopt;
}

bool Query::Flag(const std::string& name) {
  const std::string* text = One(name);
  if (text == nullptr || *text == "0") return false;
  if (*text != "1") Fail(fmt::format("{}: must be 0 or 1, not '{}'", name, Shown(*text)));
  return true;
}

Status Query::Finish() const {
  if (!status_.ok()) return status_;
  for (const auto& [name, value] : parameters_) {
    if (taken_.contains(name)) continue;
    std::set<std::string> known = taken_;
    for (const std::string& shared : shared_) known.erase(shared);
    if (known.empty())
      return Status::Usage(fmt::format("'{}': this request has no parameters", Shown(name)));
    return Status::Usage(fmt::format("'{}' is not a parameter of this request; it accepts {}",
                                     Shown(name), fmt::join(known, ", ")));
  }
  return Status::Ok();
}

}  // namespace headroom
