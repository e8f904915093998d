#include "cli/metric_lines.h"

#include <fmt/format.h>

#include <ctime>
#include <string_view>

#include "report/json_writer.h"

namespace headroom::cli {

std::string UtcTime(std::int64_t unix_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::time_t seconds = unix_ns / kSecond;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     unix_ns % kSecond);
}

std::string MetricLine(const std::vector<Metric>& metrics, const Reading& reading,
                       std::int64_t unix_ns) {
  JsonWriter json;
  json.BeginObject();
  json.Key("schema").String("headroom.monitor/1");
  json.Key("time").String(UtcTime(unix_ns));
  json.Key("monotonic_ns").Integer(reading.time.ns());
  json.Key("values").BeginObject();
  // Metrics with instances are objects; those of one name may have joined at different times.
  std::vector<bool> written(metrics.size(), false);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (written[i]) continue;
    json.Key(metrics[i].name);
    if (metrics[i].instance.empty()) {
      json.Number(reading.values[i]);
      continue;
    }
    json.BeginObject();
    for (std::size_t j = i; j < metrics.size(); ++j) {
      if (metrics[j].name != metrics[i].name) continue;
      written[j] = true;
      json.Key(metrics[j].instance).Number(reading.values[j]);
    }
    json.EndObject();
  }
  json.EndObject();
  json.Key("users").BeginArray();
  for (const ResourceUser& user : reading.users) {
    json.BeginObject();
    json.Key("resource").String(user.resource);
    json.Key("pid").Integer(user.pid);
    json.Key("name").StringOrNull(user.name);
    json.Key(user.resource == "CPU" ? "cpu_pct" : "memory_bytes").Number(user.value);
    json.Key("in_tree").Bool(user.in_tree);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::move(json).Take() + "\n";
}

}  // namespace headroom::cli
