#include "export/openmetrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "render/escape.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

std::string LabelText(std::string_view text) {
  std::string out;
  for (const char c : ValidUtf8(text)) {
    if (c == '\\' || c == '"') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

using Labels = std::vector<std::pair<std::string_view, std::string>>;

/// The samples of one metric from all files, which the format requires to be adjacent.
class MetricFamily {
 public:
  MetricFamily(std::string_view name, std::string_view unit, std::string_view help)
      : name_(unit.empty() ? fmt::format("headroom_{}", name)
                           : fmt::format("headroom_{}_{}", name, unit)),
        head_(fmt::format("# TYPE {0} gauge\n{1}# HELP {0} {2}\n", name_,
                          unit.empty() ? "" : fmt::format("# UNIT {} {}\n", name_, unit), help)) {}

  void Add(const TraceReport& file, const Labels& labels, std::string_view value) {
    std::vector<std::string> written;
    if (file.input.rank) written.push_back(fmt::format("rank=\"{}\"", *file.input.rank));
    for (const auto& [key, text] : labels)
      written.push_back(fmt::format("{}=\"{}\"", key, LabelText(text)));
    samples_ += fmt::format("{}{}{}{} {}\n", name_, written.empty() ? "" : "{",
                            fmt::join(written, ","), written.empty() ? "" : "}", value);
  }
  void Seconds(const TraceReport& file, const Labels& labels, std::optional<DurationNs> time) {
    if (time) Add(file, labels, DecimalOf(time->ns(), 9));
  }
  void Number(const TraceReport& file, const Labels& labels, std::optional<double> value) {
    if (value) Add(file, labels, fmt::format("{}", *value));
  }

  std::string Text() const { return samples_.empty() ? std::string() : head_ + samples_; }

 private:
  std::string name_, head_, samples_;
};

constexpr double kPercent = 100;

std::optional<double> Share(std::optional<double> percent) {
  return percent ? std::optional(*percent / kPercent) : std::nullopt;
}

/// Returns GPU busy time as a share of the time of all whole steps; nullopt without GPU work.
std::optional<double> GpuBusyShare(const Steps& steps) {
  DurationNs busy, wall;
  for (const StepRow& step : steps.list) {
    if (!step.Counts()) continue;
    busy += step.gpu_busy.value_or(DurationNs(0));
    wall += step.wall;
  }
  if (busy.ns() == 0 || wall.ns() == 0) return std::nullopt;
  return static_cast<double>(busy.ns()) / static_cast<double>(wall.ns());
}

}  // namespace

std::string OpenMetricsText(std::span<const TraceReport> files) {
  MetricFamily steps("steps", "", "Steps in the trace.");
  MetricFamily step("step", "seconds", "Step time, by statistic; without steps that lost events.");
  MetricFamily corrected("step_corrected", "seconds", "Step time without profiler overhead.");
  MetricFamily overhead("profiler_overhead", "ratio",
                        "Share of the step time that the profiler adds.");
  MetricFamily busy("step_gpu_busy", "ratio",
                    "GPU busy time as a share of the time of complete steps.");
  MetricFamily part("step_part", "seconds", "Time of the mean step, by part.");
  MetricFamily mfu(
      "mfu", "ratio",
      "FLOPs per second of the steps as a share of the GPU's peak (model FLOPs utilization).");
  MetricFamily gpu("gpu_time", "seconds", "Time of the steps on a GPU, by state.");
  MetricFamily idle("gpu_idle", "seconds", "Idle time of a stream, by cause.");
  MetricFamily throughput("samples_per_second", "", "Samples per second of this rank.");
  MetricFamily finding("finding_share", "ratio", "Share of the step that a finding covers.");
  MetricFamily issues("health_issue_count", "",
                      "Number of events affected by damage in the trace, by issue.");
  for (const TraceReport& file : files) {
    steps.Add(file, {}, fmt::format("{}", file.steps.list.size()));
    step.Seconds(file, {{"stat", "p50"}}, file.steps.p50);
    step.Seconds(file, {{"stat", "mean"}}, file.steps.mean);
    step.Seconds(file, {{"stat", "min"}}, file.steps.min);
    step.Seconds(file, {{"stat", "max"}}, file.steps.max);
    if (!file.stretch && file.engine && file.engine->corrected_step_ms) {
      corrected.Seconds(file, {},
                        DurationNs(std::llround(file.engine->corrected_step_ms->mid * 1e6)));
    }
    overhead.Number(file, {}, Share(file.steps.profiler_overhead_pct));
    busy.Number(file, {}, GpuBusyShare(file.steps));
    if (file.breakdown) {
      for (const BreakdownPart& row : kBreakdownParts)
        part.Seconds(file, {{"part", std::string(row.name)}}, file.breakdown->step.*row.time);
    }
    mfu.Number(file, {}, Share(file.efficiency.mfu_pct));
    for (const GpuTimeRow& row : file.gpu_time) {
      const std::pair<std::string_view, DurationNs> kStates[] = {
          {"span", row.span},
          {"busy", row.busy},
          {"compute", row.compute},
          {"communication", row.communication},
          {"memory", row.memory},
          {"exposed_communication", row.exposed_communication},
          {"exposed_memory", row.exposed_memory},
          {"idle", row.idle}};
      for (const auto& [state, time] : kStates) {
        gpu.Seconds(file,
                    {{"device", row.device ? fmt::format("{}", *row.device) : ""},
                     {"state", std::string(state)}},
                    time);
      }
    }
    for (const IdleRow& row : file.idle) {
      const auto number = [](std::optional<std::int64_t> value) {
        return value ? fmt::format("{}", *value) : std::string();
      };
      const std::pair<std::string_view, DurationNs> kCauses[] = {
          {"host_wait", row.host_wait}, {"kernel_wait", row.kernel_wait}, {"other", row.other}};
      for (const auto& [cause, time] : kCauses) {
        idle.Seconds(file,
                     {{"device", number(row.device)},
                      {"stream", number(row.stream)},
                      {"cause", std::string(cause)}},
                     time);
      }
    }
    if (file.throughput) throughput.Number(file, {}, file.throughput->samples_per_s);
    for (const Finding& row : file.findings)
      finding.Number(file, {{"id", row.id}}, Share(row.share_pct));
    for (const HealthIssue& row : file.health.issues)
      issues.Add(file, {{"code", std::string(DocOf(row.issue).code)}},
                 fmt::format("{}", row.count));
  }
  std::string text;
  for (const MetricFamily* family : {&steps, &step, &corrected, &overhead, &busy, &part, &mfu, &gpu,
                                     &idle, &throughput, &finding, &issues})
    text += family->Text();
  return text + "# EOF\n";
}

}  // namespace headroom
