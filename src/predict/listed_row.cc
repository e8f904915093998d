#include "predict/listed_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "predict/bounded_json.h"

namespace headroom {

using Json = nlohmann::json;

Status BadRow(const std::string& place, std::string_view what) {
  return Status::BadInput(fmt::format("{}: {}", place, what));
}

std::optional<Json> ParseLiteral(std::string_view text) {
  std::string json;
  json.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(') {
      json += '[';
    } else if (c == ')') {
      json += ']';
    } else if (c == '\'') {
      json += '"';
    } else if (c == ',') {
      // A tuple of one: "(1,)".
      std::size_t next = i + 1;
      while (next < text.size() && text[next] == ' ') ++next;
      if (next >= text.size() || text[next] != ')') json += ',';
    } else {
      json += c;
    }
  }
  if (json.empty()) return Json::array();
  std::optional<Json> value = ParseBoundedJson(json);
  if (!value || !value->is_array()) return std::nullopt;
  return value;
}

std::optional<Extents> ExtentsOf(const Json& value) {
  Extents extents;
  if (value.is_number()) {
    extents.push_back(value.get<double>());
  } else if (value.is_array()) {
    for (const Json& item : value) {
      if (!item.is_number()) return std::nullopt;
      extents.push_back(item.get<double>());
    }
  } else {
    return std::nullopt;
  }
  for (const double extent : extents) {
    if (!std::isfinite(extent) || extent < 0) return std::nullopt;
  }
  return extents;
}

double ElementsOf(const Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies<>());
}

double LargestElements(const Json& shapes) {
  double most = 0;
  if (!shapes.is_array()) return 0;
  for (const Json& shape : shapes) {
    if (const std::optional<Extents> extents = ExtentsOf(shape))
      most = std::max(most, ElementsOf(*extents));
  }
  return most;
}

double AllElements(const Json& shapes) {
  double all = 0;
  for (const Json& shape : shapes) {
    if (const std::optional<Extents> extents = ExtentsOf(shape)) all += ElementsOf(*extents);
  }
  return all;
}

}  // namespace headroom
