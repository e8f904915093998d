// What is sampled of the machine: a metric's name, unit, scope and instance. docs/metrics.md has a
// row for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace headroom {

/// Whose figure a metric is. A container sees the counters of its host, which are not its own.
enum class MetricScope { kHost, kCgroup, kProcess, kDevice };

constexpr std::string_view Name(MetricScope scope) {
  switch (scope) {
    case MetricScope::kHost:
      return "host";
    case MetricScope::kCgroup:
      return "cgroup";
    case MetricScope::kProcess:
      return "process";
    case MetricScope::kDevice:
      return "device";
  }
  return "";
}

/// How the values of a metric come about.
enum class MetricKind {
  kGauge,  ///< A state at the time of the sample.
  kShare,  ///< Of the time since the sample before: the first is missing.
  kRate,   ///< Increase of a counter since the sample before, per second: the first is missing.
  kTotal,  ///< A counter itself, from wherever its source began to count.
};

struct Metric {
  std::string name = {};  ///< "cpu_util_simple"; of one unit wherever it appears.
  std::string unit = {};  ///< "%", "bytes", "bytes/s", "W", "J", "MHz", "C", "cores", "1", "1/s".
  MetricScope scope = MetricScope::kHost;
  std::string instance = {};  ///< "GPU 0", "eth0", "4711 python3"; empty: one for the scope.
  MetricKind kind = MetricKind::kGauge;
  /// For kRate: name of the counter below it, which ends in its unit ("network_sent_bytes"); empty
  /// if it has none.
  std::string counter = {};
};

/// A process that takes a notable share of a resource.
struct ResourceUser {
  std::string resource;  ///< "CPU", or the instance of a device ("GPU 0").
  std::int64_t pid = 0;
  std::string name;      ///< As the kernel has it, at most 15 bytes, any bytes; empty: unknown.
  double value = 0;      ///< CPU: % of one core; GPU: bytes of its memory, NaN: not told.
  bool in_tree = false;  ///< Whether it belongs to the process tree that is watched.
};

/// One sample. Values and totals are in the order of the sampler's metrics(); NaN: missing.
struct Reading {
  TimeNs time;                      ///< CLOCK_MONOTONIC, in the middle of the sample.
  std::vector<double> values;       ///< In the metric's unit.
  std::vector<double> totals;       ///< Of kRate: its counter, in the counter's unit.
  std::vector<ResourceUser> users;  ///< Largest first, by resource.
};

}  // namespace headroom
