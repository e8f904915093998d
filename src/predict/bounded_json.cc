#include "predict/bounded_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kDeepest = 16, kMaxValues = 65536;

enum class Failure { kNone, kSyntax, kRange, kNoArray, kTooLarge, kRefused };

/// Builds a value, or each element of an array, and passes it on when it is complete.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  /// @param of_array  true if the text is an array whose elements are passed on
  /// @param take      callback with a complete value; returns false to stop
  Builder(bool of_array, const std::function<bool(Json&)>& take)
      : of_array_(of_array), take_(take) {}

  Failure failure() const { return failure_; }
  std::size_t position() const { return position_; }  ///< Position of the syntax error in bytes.

  bool null() override { return Add(Json()); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(std::int64_t value) override { return Add(value); }
  bool number_unsigned(std::uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string& /*text*/) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON has no binary values.
  bool start_object(std::size_t /*size*/) override { return Open(Json::object()); }
  bool start_array(std::size_t /*size*/) override {
    if (!of_array_ || is_inside_) return Open(Json::array());
    return is_inside_ = true;
  }
  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return open_.empty() || Close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    position_ = position;
    const bool is_range = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    return Fail(is_range ? Failure::kRange : Failure::kSyntax);
  }

 private:
  bool Fail(Failure failure) {
    failure_ = failure;
    return false;
  }

  /// Returns the stored value; nullptr if no value is allowed at this point.
  Json* Place(Json value) {
    if (of_array_ && !is_inside_) {
      Fail(Failure::kNoArray);
      return nullptr;
    }
    if (++values_ > kMaxValues) {
      Fail(Failure::kTooLarge);
      return nullptr;
    }
    if (open_.empty()) return &(value_ = std::move(value));
    Json& outer = *open_.back();
    if (outer.is_object()) return &(outer[key_] = std::move(value));
    return &outer.emplace_back(std::move(value));
  }

  bool Add(Json value) { return Place(std::move(value)) != nullptr && HandOver(); }

  bool Open(Json value) {
    Json* const placed = Place(std::move(value));
    if (placed == nullptr) return false;
    if (open_.size() == kDeepest) return Fail(Failure::kTooLarge);
    open_.push_back(placed);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return HandOver();
  }

  bool HandOver() {
    if (!open_.empty()) return true;
    values_ = 0;
    return take_(value_) || Fail(Failure::kRefused);
  }

  const bool of_array_;
  const std::function<bool(Json&)>& take_;
  bool is_inside_ = false;  ///< True while the parser is inside the outer array.
  Json value_;
  /// Open objects and arrays in `value_`, from the outermost to the innermost.
  std::vector<Json*> open_;
  std::string key_;
  std::size_t values_ = 0;
  Failure failure_ = Failure::kNone;
  std::size_t position_ = 0;
};

}  // namespace

std::optional<Json> ParseBoundedJson(std::string_view text) {
  std::optional<Json> parsed;
  const std::function<bool(Json&)> take = [&](Json& value) {
    parsed = std::move(value);
    return true;
  };
  Builder builder(/*of_array=*/false, take);
  if (!Json::sax_parse(text, &builder)) return std::nullopt;
  return parsed;
}

Status ForEachJsonElement(std::string_view text, const std::string& name, std::string_view element,
                          const std::function<Status(std::size_t, Json&)>& take) {
  std::size_t number = 1;
  Status refused;
  const std::function<bool(Json&)> take_next = [&](Json& value) {
    refused = take(number++, value);
    return refused.ok();
  };
  Builder builder(/*of_array=*/true, take_next);
  Json::sax_parse(text, &builder);
  const std::size_t read = std::min(builder.position(), text.size());
  const auto line =
      1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(read), '\n');
  switch (builder.failure()) {
    case Failure::kNone:
      return Status::Ok();
    case Failure::kSyntax:
      return Status::BadInput(fmt::format(
          "{}, line {}: not JSON; correct the text before this point, or write the file again",
          name, line));
    case Failure::kRange:
      return Status::BadInput(
          fmt::format("{}, line {}: a number is out of range; correct it", name, line));
    case Failure::kNoArray: {
      const std::size_t begin = text.find_first_not_of(" \t\r\n");
      return Status::BadInput(fmt::format(
          "{}: is {}, not an array; write an array in which each element is one {}", name,
          text.substr(std::min(begin, text.size())).starts_with('{') ? "one JSON object"
                                                                     : "one JSON value",
          element));
    }
    case Failure::kTooLarge:
      return Status::BadInput(fmt::format(
          "{}, {} {}: is nested deeper than {} levels, or has more than {} values; correct it, "
          "or write the file again",
          name, element, number, kDeepest, kMaxValues));
    case Failure::kRefused:
      return refused;
  }
  return refused;
}

}  // namespace headroom
