#include "redact/same_report.h"

#include <algorithm>
#include <vector>

namespace headroom {
namespace {

using nlohmann::json;

/// Returns the value without its strings, which depend on names.
json Numbers(const json& value) {
  if (value.is_string()) return nullptr;
  if (!value.is_structured()) return value;
  json out = value.is_array() ? json::array() : json::object();
  for (const auto& [key, item] : value.items()) {
    if (value.is_array()) {
      out.push_back(Numbers(item));
    } else {
      out[key] = Numbers(item);
    }
  }
  return out;
}

class Comparison {
 public:
  Comparison(TextRedactor& redactor, std::int64_t& compared)
      : redactor_(redactor), compared_(compared) {}

  std::optional<std::string> Differ(const json& a, const json& b, const std::string& at) {
    ++compared_;
    if (a.is_string() && b.is_string()) {
      if (a == b) return std::nullopt;
      const auto& text = a.get_ref<const std::string&>();
      return redactor_.Text(text) != text ? std::nullopt : std::optional(at);
    }
    if (a.is_object() && b.is_object()) return Objects(a, b, at);
    if (a.is_array() && b.is_array()) return Lists(a, b, at);
    return a == b ? std::nullopt : std::optional(at);
  }

 private:
  std::optional<std::string> Objects(const json& a, const json& b, const std::string& at) {
    if (a.size() != b.size()) return at;
    for (const auto& [key, item] : a.items()) {
      if (key == "id" || (at.empty() && (key == "inputs" || key == "health"))) continue;
      const std::string here = std::string(at).append("/").append(key);
      const auto other = b.find(key);
      if (other == b.end()) return here;
      if (auto found = Differ(item, *other, here)) return found;
    }
    return std::nullopt;
  }

  std::optional<std::string> Lists(const json& a, const json& b, const std::string& at) {
    if (a.size() != b.size()) return at;
    std::optional<std::string> first;
    for (std::size_t i = 0; i < a.size() && !first; ++i)
      first = Differ(a[i], b[i], at + "/" + std::to_string(i));
    if (!first) return std::nullopt;
    std::vector<std::string> of_a, of_b;
    for (const json& item : a) of_a.push_back(Numbers(item).dump());
    for (const json& item : b) of_b.push_back(Numbers(item).dump());
    std::sort(of_a.begin(), of_a.end());
    std::sort(of_b.begin(), of_b.end());
    return of_a == of_b ? std::nullopt : first;
  }

  TextRedactor& redactor_;
  std::int64_t& compared_;
};

}  // namespace

std::optional<std::string> FirstDifference(const json& before, const json& after,
                                           TextRedactor& redactor, std::int64_t& compared) {
  compared = 0;
  return Comparison(redactor, compared).Differ(before, after, "");
}

}  // namespace headroom
