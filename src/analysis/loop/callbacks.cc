#include "analysis/loop/callbacks.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/loop/time_inside.h"
#include "base/ascii.h"
#include "base/interval_set.h"
#include "base/statistics.h"

namespace headroom {
namespace {

bool IsIdentifier(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return IsLetter(c) || IsDigit(c) || c == '_'; });
}

/// Sums of one callback on one event.
struct Sums {
  std::int64_t count = 0;
  DurationNs total, self;
  std::vector<Interval> ran;
};

using Key = std::pair<std::string, std::string>;  ///< Callback, event.

}  // namespace

CallbackName ReadCallbackName(std::string_view name) {
  constexpr std::string_view kPrefix = "callbacks.";
  while (name.starts_with('[')) {
    const std::size_t end = name.find(']');
    if (end == std::string_view::npos || end + 1 == name.size()) break;
    name.remove_prefix(end + 1);
  }
  if (name.starts_with(kPrefix) && name.size() > kPrefix.size()) name.remove_prefix(kPrefix.size());
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || !IsIdentifier(name.substr(dot + 1)))
    return {.callback = std::string(name), .event = {}};
  return {.callback = std::string(name.substr(0, dot)), .event = std::string(name.substr(dot + 1))};
}

std::vector<CallbackRow> CallbackTable(const TraceStore& store, NameFacts& names,
                                       const StepAnalysis& steps) {
  const auto& events = store.host_events;
  std::unordered_map<StringId, Key> keys;
  std::map<Key, Sums> by_key;
  TimeInside inside(store);
  const auto is_callback = [&](HostEventId event) {
    return events.kind[event.index()] == HostEventKind::kAnnotation &&
           names.Roles(events.name[event.index()]).Has(HostRole::kCallback);
  };
  const auto around = [&](HostEventId event) {
    HostEventId at = events.parent[event.index()];
    while (at.valid() && !is_callback(at)) at = events.parent[at.index()];
    return at;
  };
  const auto sums_of = [&](HostEventId event) -> Sums& {
    const StringId name = events.name[event.index()];
    auto [known, is_new] = keys.try_emplace(name);
    if (is_new) {
      CallbackName read = ReadCallbackName(store.Text(name));
      known->second = {std::move(read.callback), std::move(read.event)};
    }
    return by_key[known->second];
  };
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId event(row);
    if (!is_callback(event)) continue;
    Sums& sums = sums_of(event);
    const HostEventId outer = around(event);
    bool reentered = false;
    for (HostEventId at = outer; at.valid() && !reentered; at = around(at))
      reentered = &sums_of(at) == &sums;
    ++sums.count;
    sums.self += events.duration[row];
    if (!reentered) {
      sums.total += events.duration[row];
      sums.ran.push_back({events.start[row], store.HostEnd(event)});
    }
    const DurationNs lost = inside.Enter(event, outer);
    if (outer.valid()) sums_of(outer).self -= lost;
  }
  if (by_key.empty()) return {};

  std::vector<Interval> spans;
  DurationNs wall;
  for (std::size_t i = 0; i < steps.spans.size(); ++i) {
    if (!steps.steps.list[i].Counts()) continue;
    spans.push_back(steps.spans[i]);
    wall += steps.spans[i].length();
  }
  const IntervalSet in_steps = IntervalSet::UnionOf(std::move(spans));
  std::vector<CallbackRow> rows;
  for (auto& [key, sums] : by_key) {
    CallbackRow& row = rows.emplace_back();
    row.callback = key.first;
    row.event = key.second;
    row.count = sums.count;
    row.total = sums.total;
    row.self = sums.self;
    const IntervalSet ran = IntervalSet::UnionOf(std::move(sums.ran));
    if (wall.ns() > 0) {
      row.in_steps = Intersect(ran, in_steps).Measure();
      row.share_pct = SharePct(*row.in_steps, wall);
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const CallbackRow& a, const CallbackRow& b) { return a.total > b.total; });
  return rows;
}

const CallbackRow* MostExpensiveCallback(const std::vector<CallbackRow>& rows) {
  const auto most_expensive =
      std::max_element(rows.begin(), rows.end(),
                       [](const CallbackRow& a, const CallbackRow& b) { return a.self < b.self; });
  return most_expensive == rows.end() ? nullptr : &*most_expensive;
}

}  // namespace headroom
