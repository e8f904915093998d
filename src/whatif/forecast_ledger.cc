#include "whatif/forecast_ledger.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr double kToHold = 0.9;

std::optional<double> NumberIn(const ordered_json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end() || !it->is_number()) return std::nullopt;
  return it->get<double>();
}

std::string TextIn(const ordered_json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::optional<LedgerRecord> ReadRecord(std::string_view line) {
  const ordered_json object = ordered_json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  LedgerRecord record{.machine = TextIn(object, "machine"),
                      .trace = TextIn(object, "trace"),
                      .path = TextIn(object, "path"),
                      .scenario = TextIn(object, "scenario"),
                      .step_ms = {},
                      .actual_ms = NumberIn(object, "actual_ms")};
  const auto low = NumberIn(object, "low_ms"), mid = NumberIn(object, "mid_ms"),
             high = NumberIn(object, "high_ms"), baseline = NumberIn(object, "baseline_ms");
  if (record.trace.empty() || record.scenario.empty() || !low || !mid || !high || !baseline)
    return std::nullopt;
  if (!(*mid > 0 && *low <= *mid && *mid <= *high) || (record.actual_ms && *record.actual_ms <= 0))
    return std::nullopt;
  record.baseline_ms = *baseline;
  record.after = TextIn(object, "after");
  record.step_ms = {*low, *mid, *high};
  return record;
}

/// Returns the factor on the half-width that would put the measured time just inside the interval.
double NeededFactor(const LedgerRecord& record) {
  const double off = *record.actual_ms - record.step_ms.mid;
  const double width =
      off < 0 ? record.step_ms.mid - record.step_ms.low : record.step_ms.high - record.step_ms.mid;
  if (off == 0) return 0;
  return width > 0 ? std::abs(off) / width : kMaxFactor;
}

}  // namespace

std::string LedgerLine(const LedgerRecord& record) {
  ordered_json object = {{"machine", record.machine},
                         {"trace", record.trace},
                         {"path", record.path},
                         {"scenario", record.scenario},
                         {"baseline_ms", record.baseline_ms},
                         {"low_ms", record.step_ms.low},
                         {"mid_ms", record.step_ms.mid},
                         {"high_ms", record.step_ms.high},
                         {"actual_ms", nullptr}};
  if (record.actual_ms) object["actual_ms"] = *record.actual_ms;
  if (!record.after.empty()) object["after"] = record.after;
  // Paths may be invalid UTF-8.
  return object.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::vector<LedgerRecord> ReadLedger(std::string_view text) {
  std::vector<LedgerRecord> records;
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (std::optional<LedgerRecord> record = ReadRecord(text.substr(0, end))) {
      record->line = line;
      records.push_back(std::move(*record));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return records;
}

std::string ScenarioKind(std::string_view scenario) {
  const Result<std::vector<ScenarioCall>> calls = ParseScenario(scenario);
  if (!calls.ok()) return std::string(scenario);  // The record is from another version.
  std::string kind;
  for (const ScenarioCall& call : calls.value()) {
    if (!kind.empty()) kind += "+";
    kind += call.scenario->name;
  }
  return kind;
}

IntervalRule RuleFor(std::span<const LedgerRecord> records, std::string_view machine,
                     std::string_view scenario) {
  const std::string kind = ScenarioKind(scenario);
  std::map<std::tuple<std::string_view, std::string_view, std::string_view>, double> by_pair;
  for (const LedgerRecord& record : records) {
    if (record.scored() && record.machine == machine && ScenarioKind(record.scenario) == kind)
      by_pair[{record.trace, record.scenario, record.after}] = NeededFactor(record);
  }
  std::vector<double> needed;
  needed.reserve(by_pair.size());
  for (const auto& [pair, factor] : by_pair) needed.push_back(factor);
  IntervalRule rule{.scores = needed.size()};
  if (rule.scores < kMinScores) return rule;
  std::sort(needed.begin(), needed.end());
  const auto held =
      static_cast<std::size_t>(std::ceil(kToHold * static_cast<double>(needed.size())));
  rule.factor = std::clamp(needed[held - 1], kMinFactor, kMaxFactor);
  return rule;
}

StepInterval Apply(const IntervalRule& rule, const StepInterval& interval) {
  return {std::max(0.0, interval.mid - rule.factor * (interval.mid - interval.low)), interval.mid,
          interval.mid + rule.factor * (interval.high - interval.mid)};
}

}  // namespace headroom
