#include "serve/timeline/span_search.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/ascii.h"

namespace headroom {
namespace {

bool Holds(std::string_view name, std::string_view lower) {
  return std::search(name.begin(), name.end(), lower.begin(), lower.end(),
                     [](char a, char b) { return ToLower(a) == b; }) != name.end();
}

}  // namespace

SearchResult FindSpans(const TrackSet& set, std::string_view text, std::size_t most) {
  const bool is_whole = text.size() > 2 && text.starts_with('"') && text.ends_with('"');
  std::string lower(is_whole ? text.substr(1, text.size() - 2) : text);
  for (char& c : lower) c = ToLower(c);
  std::map<const StringPool*, std::vector<bool>> matches;
  SearchResult result;
  for (const Lane& lane : set.lanes) {
    const SpanTable& table = *lane.table;
    const auto [at, is_new] = matches.emplace(table.names, std::vector<bool>());
    if (!is_new) continue;
    at->second.resize(table.names->size());
    for (std::uint32_t i = 0; i < table.names->size(); ++i) {
      const std::string_view name = table.names->Get(StringId(i));
      if (is_whole && name.size() != lower.size()) continue;
      if (!Holds(name, lower)) continue;
      at->second[i] = true;
      result.names.push_back(table.first_name + i);
    }
  }
  for (std::uint32_t number = 0; number < set.lanes.size(); ++number) {
    const SpanTable& table = *set.lanes[number].table;
    const std::vector<bool>& is_match = matches.at(table.names);
    // The critical path repeats spans of other tracks.
    if (set.tracks[set.lanes[number].track].kind == TrackKind::kCriticalPath) continue;
    for (const std::uint32_t row : set.lanes[number].rows) {
      if (!is_match[table.name[row].index()]) continue;
      ++result.count;
      result.total += table.duration[row];
      result.hits.push_back({number, row});
    }
  }
  const auto earlier = [&](const SpanHit& a, const SpanHit& b) {
    const TimeNs at = set.lanes[a.lane].table->start[a.row];
    const TimeNs bt = set.lanes[b.lane].table->start[b.row];
    return at != bt ? at < bt : std::pair(a.lane, a.row) < std::pair(b.lane, b.row);
  };
  const std::size_t kept = std::min(most, result.hits.size());
  std::partial_sort(result.hits.begin(), result.hits.begin() + static_cast<std::ptrdiff_t>(kept),
                    result.hits.end(), earlier);
  result.hits.resize(kept);
  return result;
}

std::optional<SpanHit> SpanAt(const TrackSet& set, TimeNs start,
                              std::optional<DurationNs> duration) {
  std::optional<SpanHit> best;
  DurationNs longest;
  for (std::uint32_t number = 0; number < set.lanes.size(); ++number) {
    const Lane& lane = set.lanes[number];
    const TrackKind kind = set.tracks[lane.track].kind;
    if (kind == TrackKind::kCriticalPath || kind == TrackKind::kCounter) continue;
    const SpanTable& table = *lane.table;
    auto row =
        std::lower_bound(lane.rows.begin(), lane.rows.end(), start,
                         [&](std::uint32_t at, TimeNs time) { return table.start[at] < time; });
    for (; row != lane.rows.end() && table.start[*row] == start; ++row) {
      const DurationNs length = table.duration[*row];
      if (length == duration) return SpanHit{number, *row};
      if (best && length <= longest) continue;
      best = {number, *row};
      longest = length;
    }
  }
  return best;
}

}  // namespace headroom
