#include "answers/scale/exchange_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <utility>

#include "render/escape.h"

namespace headroom {
namespace {

/// Schedules that change the content and time of messages.
constexpr std::array kScenarios = {"p3", "dgc", "blueconnect"};
constexpr std::string_view kServers = "parameter-server";

/// Schedules without keys.
struct Plain {
  std::string_view name;
  ExchangeSchedule (*make)();
};
constexpr Plain kPlain[] = {
    {"ddp", [] { return ExchangeSchedule(); }},
    {"per-tensor", [] { return ExchangeSchedule{.has_buckets = false, .per_tensor = true}; }},
    {"local-sgd", [] { return ExchangeSchedule{.has_buckets = false, .local_sgd = true}; }},
    {"zero-1", [] { return ExchangeSchedule{.schedule = ZeroSharding{ZeroStage::kOptimizer}}; }},
    {"zero-2", [] { return ExchangeSchedule{.schedule = ZeroSharding{ZeroStage::kGradients}}; }},
    {"zero-3", [] { return ExchangeSchedule{.schedule = ZeroSharding{ZeroStage::kParameters}}; }},
    {"fsdp", [] { return ExchangeSchedule{.schedule = ZeroSharding{ZeroStage::kParameters}}; }},
};

Status Unknown(std::string_view text) {
  return Status::Usage(fmt::format("--schedule {}: must be {}",
                                   Printable(std::string(text), Charset::kAscii), kSchedules));
}

/// Parses "NAME:KEY=COUNT". REQUIRES: `text` starts with the name.
Result<std::int64_t> ParseCount(std::string_view text, std::string_view name, std::string_view key,
                                std::int64_t min) {
  constexpr std::int64_t kMax = 1'000'000;
  const std::string head = fmt::format("{}:{}=", name, key);
  if (!text.starts_with(head)) return Unknown(text);
  const std::string_view digits = text.substr(head.size());
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (error != std::errc() || end != digits.data() + digits.size() || count < min || count > kMax) {
    return Status::Usage(fmt::format("--schedule {}: {} must be from {} to {}",
                                     Printable(std::string(text), Charset::kAscii), key, min,
                                     kMax));
  }
  return count;
}

}  // namespace

Result<ExchangeSchedule> ParseSchedule(std::string_view text) {
  for (const Plain& plain : kPlain) {
    if (text == plain.name) return plain.make();
  }
  if (text == kServers) return ExchangeSchedule{.schedule = ServerSchedule(), .has_buckets = false};
  if (text.starts_with(kServers)) {
    const Result<std::int64_t> servers = ParseCount(text, kServers, "servers", 1);
    if (!servers.ok()) return servers.status();
    return ExchangeSchedule{.schedule = ServerSchedule{.servers = servers.value()},
                            .has_buckets = false};
  }
  for (const std::string_view name : {"fsdp", "zero-3"}) {
    if (!text.starts_with(name)) continue;
    const Result<std::int64_t> gpus = ParseCount(text, name, "shard", 2);
    if (!gpus.ok()) return gpus.status();
    return ExchangeSchedule{
        .schedule = ZeroSharding{.stage = ZeroStage::kParameters, .gpus = gpus.value()}};
  }
  Result<std::vector<ScenarioCall>> calls = ParseScenario(text);
  if (!calls.ok() || calls.value().size() != 1) return Unknown(text);
  ScenarioCall& call = calls.value().front();
  const std::string_view name = call.scenario->name;
  if (std::find(kScenarios.begin(), kScenarios.end(), name) == kScenarios.end())
    return Unknown(text);
  if (name == "dgc" && call.arguments.Number("ratio") < 1) {
    return Status::Usage(
        fmt::format("--schedule {}: a ratio below 1 does not compress; ratio=100 sends one "
                    "hundredth of the gradients",
                    text));
  }
  const bool has_buckets = name != "p3";
  return ExchangeSchedule{.schedule = std::move(call), .has_buckets = has_buckets};
}

std::vector<std::string_view> ScheduleNames() {
  std::vector<std::string_view> names(kScenarios.begin(), kScenarios.end());
  names.push_back(kServers);
  for (const Plain& plain : kPlain) names.push_back(plain.name);
  return names;
}

}  // namespace headroom
