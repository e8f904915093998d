#include "whatif/forecast_record.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "base/local_state.h"

namespace headroom {
namespace {

constexpr const char* kLedgerFile = "forecasts.jsonl";

}  // namespace

Result<ForecastRecord> ForecastRecord::Open(bool no_local_state) {
  ForecastRecord record;
  if (no_local_state) return record;
  record.path_ = LocalStatePath(kLedgerFile).value_or("");
  if (record.path_.empty()) return record;
  Result<std::optional<std::string>> text = ReadLocalState(record.path_);
  if (!text.ok()) return text.status();
  record.records_ = ReadLedger(text.value().value_or(""));
  return record;
}

Status ForecastRecord::Append(const std::vector<LedgerRecord>& records) {
  std::string lines;
  for (const LedgerRecord& record : records) {
    lines += LedgerLine(record);
    records_.push_back(record);
  }
  return AppendToLocalState(path_, lines);
}

void ForecastRecord::Adjust(std::string_view machine, Forecast& forecast) const {
  if (!forecast.applies) return;
  const IntervalRule rule = RuleFor(records_, machine, forecast.name);
  if (rule.scores < kMinScores) return;
  forecast.step_ms = Apply(rule, forecast.step_ms);
  forecast.interval_rule = {.scores = static_cast<std::int64_t>(rule.scores),
                            .factor = rule.factor};
}

Result<std::string> FingerprintOf(const std::string& trace) {
  std::ifstream file(trace, std::ios::binary);
  if (!file)
    return Status::BadInput(fmt::format("cannot read {}: {}", trace, std::strerror(errno)));
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(),
                                                                       &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  std::vector<char> block(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  while (file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto count = static_cast<std::size_t>(file.gcount());
    XXH3_64bits_update(state.get(), block.data(), count);
    bytes += count;
  }
  if (!file.eof()) return Status::BadInput("cannot read " + trace);
  return fmt::format("{}-{:016x}", bytes, XXH3_64bits_digest(state.get()));
}

Result<LedgerRecord> FindForecast(const ForecastRecord& record, const std::string& trace,
                                  const std::optional<std::string>& scenario) {
  const Result<std::string> fingerprint = FingerprintOf(trace);
  if (!fingerprint.ok()) return fingerprint.status();
  const LedgerRecord* found = nullptr;
  for (const LedgerRecord& saved : record.records()) {
    if (saved.trace != fingerprint.value() || saved.scored()) continue;
    if (scenario && saved.scenario != *scenario) continue;
    if (!scenario && found != nullptr && found->scenario != saved.scenario) {
      return Status::Usage(
          fmt::format("several forecasts of {} are saved (\"{}\", \"{}\"); choose one: --score "
                      "BEFORE AFTER SCENARIO",
                      trace, found->scenario, saved.scenario));
    }
    found = &saved;
  }
  if (found == nullptr) {
    return Status::Usage(fmt::format(
        "no saved forecast{} for {}; save one with `headroom whatif {} {} --save`",
        scenario ? " of " + *scenario : "", trace, trace, scenario.value_or("SCENARIO")));
  }
  return *found;
}

}  // namespace headroom
