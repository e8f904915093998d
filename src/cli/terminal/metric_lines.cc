#include "cli/terminal/metric_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <iterator>
#include <utility>

#include "render/escape.h"
#include "render/json_writer.h"

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

void MetricLines::Describe(const std::vector<Metric>& metrics) {
  values_.clear();
  described_.clear();
  for (const Metric& metric : metrics) described_.push_back(metric.instance);
  ends_in_object_ = false;
  std::string before;
  const auto add = [&](std::size_t metric) {
    values_.push_back({.before = std::move(before), .metric = metric});
    before.clear();
  };
  // Metrics with instances are objects. Instances of one metric may have been added at different
  // times, so they are not adjacent.
  std::vector<bool> written(metrics.size(), false);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (written[i]) continue;
    if (ends_in_object_) before += '}';
    if (!values_.empty()) before += ", ";
    before += JsonString(metrics[i].name) + ": ";
    ends_in_object_ = !metrics[i].instance.empty();
    if (!ends_in_object_) {
      add(i);
      continue;
    }
    before += '{';
    for (std::size_t j = i; j < metrics.size(); ++j) {
      if (metrics[j].name != metrics[i].name) continue;
      written[j] = true;
      if (j > i) before += ", ";
      before += JsonString(metrics[j].instance) + ": ";
      add(j);
    }
  }
}

std::string_view MetricLines::LineOf(const std::vector<Metric>& metrics, const Reading& reading,
                                     std::int64_t unix_ns) {
  if (!std::equal(metrics.begin(), metrics.end(), described_.begin(), described_.end(),
                  [](const Metric& metric, const std::string& instance) {
                    return metric.instance == instance;
                  }))
    Describe(metrics);
  line_.clear();
  const auto into = std::back_inserter(line_);
  fmt::format_to(
      into, R"({{"schema": "headroom.monitor/1", "time": "{}", "monotonic_ns": {}, "values": {{)",
      UtcTime(unix_ns), reading.time.ns());
  for (const Value& value : values_) {
    line_ += value.before;
    const double number = reading.values[value.metric];
    if (std::isfinite(number)) {
      fmt::format_to(into, "{}", number);
    } else {
      line_ += "null";
    }
  }
  if (ends_in_object_) line_ += '}';
  line_ += R"(}, "users": )";
  JsonWriter users;
  users.BeginArray();
  for (const ResourceUser& user : reading.users) {
    users.BeginObject();
    users.Key("resource").String(user.resource);
    users.Key("pid").Integer(user.pid);
    users.Key("name").StringOrNull(user.name);
    users.Key(user.resource == "CPU" ? "cpu_pct" : "memory_bytes").Number(user.value);
    users.Key("in_tree").Bool(user.in_tree);
    users.EndObject();
  }
  users.EndArray();
  line_ += std::move(users).Take();
  line_ += "}\n";
  return line_;
}

}  // namespace headroom::cli
