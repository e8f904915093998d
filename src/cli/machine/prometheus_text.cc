#include "cli/machine/prometheus_text.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <map>
#include <string_view>

#include "capture/metrics/descriptions.h"

namespace headroom::cli {
namespace {

/// A unit of Headroom's metrics, and its base unit in Prometheus.
struct BaseUnit {
  std::string_view unit;
  /// Suffix of the names of Headroom's metrics with this unit; empty for none.
  std::string_view ending;
  std::string_view base;
  double scale;
};
constexpr BaseUnit kBaseUnits[] = {
    {"%", "_pct", "_ratio", 0.01},
    {"bytes", "_bytes", "_bytes", 1},
    {"bytes/s", "_bytes_per_s", "_bytes_per_second", 1},
    {"1/s", "_per_s", "_per_second", 1},
    {"W", "_w", "_watts", 1},
    {"J", "_j", "_joules", 1},
    {"MHz", "_mhz", "_hertz", 1e6},
    {"C", "_c", "_celsius", 1},
    {"cores", "_cores", "_cores", 1},
};

struct Sample {
  std::string labels;
  double value;
};

struct Family {
  std::string help;
  bool counter = false;
  std::vector<Sample> samples;
};

/// Escapes the value of a label, in UTF-8.
std::string EscapeLabel(std::string_view text) {
  std::string out;
  // Process names may have any bytes, but the format is UTF-8.
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '"') {
      out += "\\\"";
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) {
      out += '?';
    } else {
      out += c;
    }
  }
  return out;
}

void AddMetric(std::map<std::string, Family>& families, const Metric& metric, double value,
               double total) {
  const bool counter = metric.kind == MetricKind::kTotal || !metric.counter.empty();
  std::string name = "headroom_" + metric.name;
  double scale = 1;
  if (!metric.counter.empty()) {
    name = "headroom_" + metric.counter;
    value = total;
  } else {
    for (const BaseUnit& unit : kBaseUnits) {
      if (metric.unit != unit.unit) continue;
      if (name.ends_with(unit.ending)) name.resize(name.size() - unit.ending.size());
      name += unit.base;
      scale = unit.scale;
    }
  }
  if (counter) name += "_total";
  if (!std::isfinite(value)) return;
  Family& family = families[name];
  family.counter = counter;
  family.help = DescribeMetric(metric.name);
  std::string labels = fmt::format("scope=\"{}\"", Name(metric.scope));
  if (!metric.instance.empty()) {
    const std::string_view key = metric.scope == MetricScope::kProcess ? "process" : "device";
    labels += fmt::format(",{}=\"{}\"", key, EscapeLabel(metric.instance));
  }
  family.samples.push_back({std::move(labels), value * scale});
}

}  // namespace

std::string PrometheusText(const std::vector<Metric>& metrics, const Reading& reading,
                           const std::vector<GpuIdentity>& gpus) {
  std::map<std::string, Family> families;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    AddMetric(families, metrics[i], reading.values[i], reading.totals[i]);
  for (const GpuIdentity& gpu : gpus) {
    Family& family = families["headroom_gpu_info"];
    family.help = "Name and UUID of each GPU that the program sees";
    family.samples.push_back(
        {fmt::format("device=\"{}\",name=\"{}\",uuid=\"{}\"", EscapeLabel(gpu.instance),
                     EscapeLabel(gpu.name), EscapeLabel(gpu.uuid)),
         1});
  }
  std::string text;
  auto out = std::back_inserter(text);
  for (const auto& [name, family] : families) {
    fmt::format_to(out, "# HELP {} {}\n# TYPE {} {}\n", name, family.help, name,
                   family.counter ? "counter" : "gauge");
    for (const Sample& sample : family.samples)
      fmt::format_to(out, "{}{{{}}} {}\n", name, sample.labels, sample.value);
  }
  return text;
}

}  // namespace headroom::cli
