#include "serve/tile_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "render/escape.h"
#include "render/json_writer.h"
#include "render/short_name.h"

namespace headroom {
namespace {

static_assert(std::endian::native == std::endian::little, "tiles require little-endian memory");

constexpr std::uint32_t kFormat = 1;
/// Minimum width of a rectangle with a label, in buckets.
constexpr float kLabelBuckets = 6;

template <typename T>
void AppendColumn(const std::vector<T>& column, std::string& out) {
  static_assert(sizeof(T) == 4);
  const std::size_t at = out.size();
  out.resize(at + column.size() * sizeof(T));
  if (!column.empty()) std::memcpy(out.data() + at, column.data(), column.size() * sizeof(T));
}

std::string NamesJson(const Tile& tile, const TrackSet& set) {
  std::map<std::uint32_t, std::string> labels;
  for (std::size_t i = 0; i < tile.size(); ++i) {
    if (tile.end[i] - tile.begin[i] < kLabelBuckets) continue;
    const SpanTable& table = *set.lanes[tile.lane[i]].table;
    const auto [at, is_new] = labels.emplace(tile.name[i], std::string());
    if (is_new) at->second = LabelOf(table.names->Get(table.name[tile.row[i]]), tile.style[i]);
  }
  JsonWriter json;
  json.BeginObject();
  for (const auto& [number, label] : labels) json.Key(std::to_string(number)).String(label);
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace

std::string LabelOf(std::string_view name, std::uint32_t style) {
  const bool is_kernel = static_cast<SpanStyle>(style & 0xFF) == SpanStyle::kCompute;
  return CutMiddle(Printable(is_kernel ? ReadableKernelName(name) : std::string(name)),
                   kLongestLabel);
}

std::string EncodeTile(const Tile& tile, const TrackSet& set) {
  const std::string names = NamesJson(tile, set);
  std::string out;
  AppendColumn(std::vector<std::uint32_t>{kFormat, static_cast<std::uint32_t>(tile.size()),
                                          static_cast<std::uint32_t>(names.size()), 0},
               out);
  AppendColumn(tile.begin, out);
  AppendColumn(tile.end, out);
  AppendColumn(tile.fill, out);
  AppendColumn(tile.lane, out);
  AppendColumn(tile.row, out);
  AppendColumn(tile.name, out);
  AppendColumn(tile.style, out);
  AppendColumn(tile.count, out);
  return out + names;
}

}  // namespace headroom
