// Describes a sampled metric: name, unit, scope and instance. docs/metrics.md has a row for each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace headroom {

/// Subject of a metric. In a container, kHost metrics describe the whole machine.
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

/// Type of a metric's values.
enum class MetricKind {
  kGauge,  ///< State at the time of the sample.
  kShare,  ///< Share of the time since the previous sample; the first is missing.
  kRate,   ///< Increase of a counter since the previous sample, per second; the first is missing.
  kTotal,  ///< Value of a counter since the start of its source.
};

struct Metric {
  std::string name = {};  ///< "cpu_util_simple"; has the same unit everywhere.
  std::string unit = {};  ///< "%", "bytes", "bytes/s", "W", "J", "MHz", "C", "cores", "1", "1/s".
  MetricScope scope = MetricScope::kHost;
  std::string instance = {};  ///< "GPU 0", "eth0", "4711 python3"; empty: the whole scope.
  MetricKind kind = MetricKind::kGauge;
  /// For kRate: name of the underlying counter, which ends in its unit ("network_sent_bytes").
  /// Empty for other kinds.
  std::string counter = {};
};

/// A process that uses a notable share of a resource.
struct ResourceUser {
  std::string resource;  ///< "CPU", or the instance of a device ("GPU 0").
  std::int64_t pid = 0;
  /// Name from the kernel: at most 15 bytes of any value; empty if unknown.
  std::string name;
  /// CPU: % of one core. GPU: bytes of GPU memory; NaN if not reported.
  double value = 0;
  bool in_tree = false;  ///< Belongs to the watched process tree.
};

/// One sample. Values and totals are in the order of the sampler's metrics(). NaN: missing.
struct Reading {
  TimeNs time;                      ///< CLOCK_MONOTONIC, in the middle of the sample.
  std::vector<double> values;       ///< In the metric's unit.
  std::vector<double> totals;       ///< Underlying counters of kRate, in the counter's unit.
  std::vector<ResourceUser> users;  ///< Grouped by resource; for the CPU, largest first.
};

}  // namespace headroom
