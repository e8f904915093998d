#include "mcp/fit_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace headroom::mcp {
namespace {

using Json = nlohmann::ordered_json;

struct Limits {
  std::size_t rows;
  std::size_t bytes;  ///< Maximum length of a string.
};

/// Limits to try in this order until the result fits.
constexpr Limits kLimits[] = {{100, 2000}, {50, 2000}, {30, 1000}, {20, 1000}, {10, 500}, {5, 300},
                              {3, 300},    {2, 200},   {1, 200},   {0, 200},   {0, 40}};

std::size_t SizeOf(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace).size();
}

/// Returns the largest number of bytes, up to `most`, that does not split a character.
std::size_t CutAt(const std::string& text, std::size_t most) {
  std::size_t size = std::min(most, text.size());
  if (size == text.size()) return size;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return size;
}

Json Cut(const Json& value, const Limits& limits, const Json::json_pointer& here, Json& left_out) {
  if (value.is_object()) {
    Json cut = Json::object();
    for (const auto& [key, inner] : value.items())
      cut[key] = Cut(inner, limits, here / key, left_out);
    return cut;
  }
  if (value.is_array()) {
    Json cut = Json::array();
    const std::size_t rows = std::min(value.size(), limits.rows);
    for (std::size_t i = 0; i < rows; ++i) cut.push_back(Cut(value[i], limits, here / i, left_out));
    if (rows < value.size()) {
      left_out.push_back(
          {{"select", here.to_string()}, {"from", rows}, {"rows", value.size() - rows}});
    }
    return cut;
  }
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() <= limits.bytes) return value;
    const std::size_t size = CutAt(text, limits.bytes);
    left_out.push_back({{"select", here.to_string()}, {"bytes", text.size() - size}});
    return text.substr(0, size) + "...";
  }
  return value;
}

}  // namespace

Json FitJson(const Json& value, std::size_t most, const std::string& select) {
  const Json::json_pointer here(select);
  if (SizeOf(value) <= most) return value;
  for (const Limits& limits : kLimits) {
    Json left_out = Json::array();
    Json cut = Cut(value, limits, here, left_out);
    if (cut.is_object() && !left_out.empty()) cut["left_out"] = std::move(left_out);
    if (SizeOf(cut) <= most) return cut;
  }
  // The value is too large even under the strictest limits. Lists only the names of its members,
  // and omits the last names if necessary.
  Json cut = Json::object();
  if (!value.is_object()) return cut;
  Json names = Json::array();
  for (const auto& [key, inner] : value.items()) {
    names.push_back({{"select", (here / key).to_string()}});
    Json longer = {{"left_out", names}};
    if (SizeOf(longer) > most) break;
    cut = std::move(longer);
  }
  return cut;
}

Result<Json> SelectJson(const Json& value, const std::string& select, std::size_t from,
                        std::size_t most) {
  const Json* part = nullptr;
  try {
    const Json::json_pointer pointer(select);
    if (!value.contains(pointer)) {
      return Status::Usage(fmt::format(
          "select: the answer has no {}; call the tool without select to see its parts", select));
    }
    part = &value.at(pointer);
  } catch (const Json::exception&) {
    return Status::Usage(fmt::format(
        "select: {} is not a JSON pointer: /kernels names a list, /kernels/3 its fourth row",
        select));
  }
  Json found = Json::object();
  if (value.is_object() && value.contains("schema")) found["schema"] = value["schema"];
  found["select"] = select;
  if (!part->is_array()) {
    const std::size_t frame = SizeOf(found) + 16;
    if (SizeOf(*part) + frame <= most || part->is_structured()) {
      found["value"] = FitJson(*part, most > frame ? most - frame : 0, select);
      return found;
    }
    // Escapes may make a string up to six times as long.
    for (std::size_t bytes = most;; bytes /= 2) {
      Json left_out = Json::array();
      found["value"] =
          Cut(*part, {.rows = 0, .bytes = bytes}, Json::json_pointer(select), left_out);
      found["left_out"] = std::move(left_out);
      if (SizeOf(found) <= most || bytes == 0) return found;
    }
  }
  if (from >= part->size() && from > 0) {
    return Status::Usage(fmt::format("from: {} is past the end of {}, which has {} rows", from,
                                     select, part->size()));
  }
  found["from"] = from;
  found["rows"] = part->size();
  found["value"] = Json::array();
  constexpr std::size_t kNextKey = 40;
  std::size_t size = SizeOf(found) + kNextKey;
  std::size_t next = from;
  for (; next < part->size(); ++next) {
    const std::size_t row = SizeOf((*part)[next]) + 1;
    if (size + row > most) break;
    size += row;
    found["value"].push_back((*part)[next]);
  }
  if (next == from && next < part->size()) {  // A single row that is too long.
    const std::string row = fmt::format("{}/{}", select, next);
    found["value"].push_back(FitJson((*part)[next], most > size ? most - size : 0, row));
    ++next;
  }
  if (next < part->size()) found["next"] = next;
  return found;
}

std::string FitText(std::string text, std::size_t most, const std::string& remark) {
  if (text.size() <= most) return text;
  const std::size_t room = CutAt(text, most - remark.size());
  const std::size_t line = text.rfind('\n', room == 0 ? 0 : room - 1);
  text.resize(line == std::string::npos ? room : line + 1);
  return text + remark;
}

}  // namespace headroom::mcp
