#include <fmt/format.h>

#include <cmath>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "base/statistics.h"
#include "render/number_format.h"

namespace headroom {
namespace {

/// Returns a rate such as "108.2" or "12,345".
std::string Rate(double per_second) {
  constexpr double kWhole = 1000;
  return per_second < kWhole ? fmt::format("{:.4g}", per_second)
                             : FormatCount(std::llround(per_second));
}

std::string WithShare(DurationNs time, DurationNs of) {
  return fmt::format("{} ({})", FormatTime(time), FormatPercent(SharePct(time, of)));
}

const TimingRow* FindTiming(const TraceReport& file, std::string_view name) {
  const auto row = std::find_if(file.timings.begin(), file.timings.end(),
                                [&](const TimingRow& r) { return r.name == name; });
  return row == file.timings.end() ? nullptr : &*row;
}

/// Returns a wait of the host in the mean step, and the GPU idle time during the wait.
std::string OnBothClocks(const TraceReport& file, DurationNs on_host, DurationNs gpu_idle) {
  std::string text = fmt::format("{} of the step on the host", WithShare(on_host, file.loop->step));
  if (!file.gpu_time.empty())
    text += fmt::format("; the GPU idles {} meanwhile", WithShare(gpu_idle, file.breakdown->wall));
  return text;
}

void Answers(TextContext& c) {
  const TraceReport& file = c.file;
  const BreakdownParts& step = file.breakdown->step;
  const DurationNs busy = file.breakdown->gpu.Sum();
  c.page.Paragraph(
      "  GPU         ",
      c.HasGpuWork() ? fmt::format("busy {} of the {} step", WithShare(busy, file.breakdown->wall),
                                   FormatTime(file.breakdown->wall))
                     : fmt::format("unknown: {}", c.NoGpuWork()),
      Style::kDim);
  c.page.Paragraph("  next batch  ",
                   FindTiming(file, "dataloader_next") == nullptr && file.loop->data_wait.ns() == 0
                       ? "no range of a loader was recorded in the steps"
                       : OnBothClocks(file, file.loop->data_wait, step.data_wait),
                   Style::kDim);
  std::string callbacks = file.callbacks.empty()
                              ? "no range of a callback was recorded"
                              : OnBothClocks(file, file.loop->callback, step.callback);
  c.page.Paragraph("  callbacks   ", callbacks, Style::kDim);
  if (const std::string most_expensive = MostExpensiveCallbackText(file); !most_expensive.empty())
    c.page.Paragraph("              ", Sentence(most_expensive));
  if (const std::optional<InputWait>& wait = file.input_wait; wait && wait->host.ns() > 0)
    c.page.Paragraph("  input wait  ", InputWaitText(*wait), Style::kDim);
  if (const std::optional<Throughput>& speed = file.throughput) {
    c.page.Paragraph(
        "  throughput  ",
        fmt::format("{} samples/s as recorded, {} per step{}", Rate(speed->samples_per_s),
                    Plural(speed->batch_size, "sample"), c.job.single() ? "" : " on this rank"),
        Style::kDim);
  }
}

void Timings(TextContext& c) {
  c.page.Blank();
  c.Meaning(
      "The parts of the steps, on the host and per step. Indented rows lie inside train_batch; the "
      "others add up to the steps. GPU: time of the tasks that the part launched.");
  WriteTable<TimingRow>(
      c.page, c.file.timings,
      {{"part", Kind::kText,
        [](const TimingRow& r) {
          return Span{r.inside.empty() ? r.name : "  " + r.name.substr(r.inside.size())};
        }},
       {"share", Kind::kNumber,
        [](const TimingRow& r) { return Span{FormatPercent(r.share_pct)}; }},
       {"mean", Kind::kNumber,
        [](const TimingRow& r) {
          return Span{FormatMs(r.mean), Style::kBold};
        }},
       {"median", Kind::kNumber, [](const TimingRow& r) { return Span{FormatMs(r.p50)}; }},
       {"p99", Kind::kNumber, [](const TimingRow& r) { return Span{FormatMs(r.p99)}; }},
       {"in steps", Kind::kNumber, [](const TimingRow& r) { return Span{FormatCount(r.count)}; }},
       {"GPU total", Kind::kNumber,
        [](const TimingRow& r) { return Span{r.gpu ? FormatMs(*r.gpu) : ""}; }},
       {"source", Kind::kText, [](const TimingRow& r) {
          return Span{r.source == "rest" ? "" : r.source, Style::kDim};
        }}});
}

void OverRanks(TextContext& c) {
  const std::vector<RegionOverRanks> all = c.job.RegionsOverRanks();
  const std::span<const RegionOverRanks> shown(all.data(), std::min(all.size(), c.Top()));
  c.page.Blank();
  c.Meaning("Total time of each region in a rank: minimum, mean and maximum over the ranks.");
  WriteTable<RegionOverRanks>(
      c.page, shown,
      {{"region", Kind::kName, [](const RegionOverRanks& r) { return Span{r.key}; }},
       {"ranks", Kind::kNumber,
        [](const RegionOverRanks& r) { return Span{FormatCount(r.ranks)}; }},
       {"min", Kind::kNumber, [](const RegionOverRanks& r) { return Span{FormatMs(r.min)}; }},
       {"mean", Kind::kNumber,
        [](const RegionOverRanks& r) {
          return Span{FormatMs(r.mean), Style::kBold};
        }},
       {"max", Kind::kNumber, [](const RegionOverRanks& r) { return Span{FormatMs(r.max)}; }},
       {"longest on", Kind::kText,
        [](const RegionOverRanks& r) { return Span{RankName(*r.longest)}; }},
       {"of BATCH", Kind::kNumber, [](const RegionOverRanks& r) {
          return Span{r.share_of_batch_pct ? FormatPercent(*r.share_of_batch_pct) : ""};
        }}});
}

/// Writes the communication share from timers alone.
void CommunicationShare(TextContext& c) {
  for (const RegionOverRanks& row : c.job.RegionsOverRanks()) {
    if (row.key != "COMM" || !row.share_of_batch_pct) continue;
    c.page.Paragraph("  ", fmt::format("Communication (COMM) takes {} of the batches (BATCH){}.",
                                       FormatPercent(*row.share_of_batch_pct),
                                       c.job.single() ? "" : ", over all ranks"));
  }
}

/// Returns a value with its unit, in a readable form.
std::string Amount(double value, std::string_view unit) {
  if (unit == "bytes") return FormatBytes(value);
  if (unit == "bytes/s") return FormatBytes(value) + "/s";
  if (unit == "%") return FormatPercent(value);
  const std::string number = fmt::format("{:.4g}", value);
  return unit.empty() || unit == "1" ? number : fmt::format("{} {}", number, unit);
}

/// The most used metrics, in this order, with their names from docs/metrics.md. The other metrics
/// follow, sorted by name.
constexpr std::string_view kFirstMetrics[] = {
    "gpu_util",
    "gpu_sm_util_pct",
    "gpu_memory_used_bytes",
    "gpu_free_memory",
    "gpu_mean_power_w",
    "gpu_sm_clock_mhz",
    "cpu_util_simple",
    "cpu_busiest_core_pct",
    "process_tree_cpu_pct",
    "process_tree_runqueue_wait_pct",
    "cgroup_cpu_throttled_periods_pct",
    "free_memory",
    "cgroup_memory_free_bytes",
    "process_tree_rss_bytes",
    "disk_throughput_read",
    "disk_throughput_write",
    "disk_iops",
    "net_throughput_recv",
    "net_throughput_sent",
};

std::vector<MetricRow> FirstThingsFirst(std::vector<MetricRow> rows) {
  // The program's counters, which have no unit, come after the machine's metrics.
  const auto place = [](const MetricRow& row) {
    return std::pair(std::find(std::begin(kFirstMetrics), std::end(kFirstMetrics), row.name),
                     row.unit.empty());
  };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const MetricRow& a, const MetricRow& b) { return place(a) < place(b); });
  return rows;
}

}  // namespace

void WriteLoop(TextContext& c) {
  if (!c.file.loop || !c.file.breakdown) {
    c.page.Heading("Loop", "", Style::kPlain);
    return c.None("Unknown: this requires a complete step.");
  }
  c.page.Heading("Loop",
                 c.job.single()
                     ? BreakdownSubject(c.file)
                     : fmt::format("{} of {}", BreakdownSubject(c.file), c.job.SlowestNote()),
                 Style::kDim);
  Answers(c);
  // Timings of a trace without marked regions appear only on request: the breakdown shows
  // operators and frameworks better.
  const bool marked = !c.file.regions.empty();
  if (!c.file.timings.empty() && (marked || c.options.only)) Timings(c);
}

void WriteRegions(TextContext& c) {
  WriteTable<RegionRow>(
      c,
      {"Regions",
       "Ranges that you or your framework marked. own: without inner regions. GPU: time of the "
       "tasks that the region launched.",
       "No regions were marked: use record_function(\"NAME\"), or the timers of headroom."},
      c.file.regions,
      {{"region", Kind::kName, [](const RegionRow& r) { return Span{r.key}; }},
       {"total", Kind::kNumber,
        [](const RegionRow& r) {
          return Span{FormatMs(r.total), Style::kBold};
        }},
       {"own", Kind::kNumber, [](const RegionRow& r) { return Span{FormatMs(r.self)}; }},
       {"times", Kind::kNumber, [](const RegionRow& r) { return Span{FormatCount(r.count)}; }},
       {"median", Kind::kNumber, [](const RegionRow& r) { return Span{FormatMs(r.p50)}; }},
       {"p99", Kind::kNumber, [](const RegionRow& r) { return Span{FormatMs(r.p99)}; }},
       {"GPU", Kind::kNumber,
        [](const RegionRow& r) { return Span{r.gpu ? FormatMs(*r.gpu) : ""}; }}});
  if (!c.job.single()) OverRanks(c);
  CommunicationShare(c);
}

void WriteCallbacks(TextContext& c) {
  WriteTable<CallbackRow>(
      c,
      {"Callbacks",
       "Time in each trainer callback on each event. own: without nested callbacks; in steps: the "
       "part inside complete steps; share: of the steps' time.",
       "No callbacks were recorded: they are ranges whose name contains \"callback\"."},
      c.file.callbacks,
      {{"callback", Kind::kName, [](const CallbackRow& r) { return Span{r.callback}; }},
       {"event", Kind::kName,
        [](const CallbackRow& r) { return Span{r.event.empty() ? "?" : r.event}; }},
       {"total", Kind::kNumber,
        [](const CallbackRow& r) {
          return Span{FormatMs(r.total), Style::kBold};
        }},
       {"own", Kind::kNumber, [](const CallbackRow& r) { return Span{FormatMs(r.self)}; }},
       {"calls", Kind::kNumber, [](const CallbackRow& r) { return Span{FormatCount(r.count)}; }},
       {"in steps", Kind::kNumber,
        [](const CallbackRow& r) { return Span{r.in_steps ? FormatMs(*r.in_steps) : ""}; }},
       {"share", Kind::kNumber, [](const CallbackRow& r) {
          return Span{r.share_pct ? FormatPercent(*r.share_pct) : ""};
        }}});
  if (const std::string most_expensive = MostExpensiveCallbackText(c.file); !most_expensive.empty())
    c.page.Paragraph("  ", FullSentence(most_expensive));
}

void WriteMetrics(TextContext& c) {
  WriteTable<MetricRow>(
      c,
      {"Machine while it ran",
       "Samples of the machine, then counters of the program, which have no unit. mean: weighted "
       "by time.",
       "No metrics were recorded."},
      FirstThingsFirst(c.file.metrics),
      {{"metric", Kind::kName, [](const MetricRow& r) { return Span{r.name}; }},
       {"of", Kind::kName, [](const MetricRow& r) { return Span{r.instance}; }},
       {"mean", Kind::kNumber,
        [](const MetricRow& r) {
          return Span{Amount(r.mean, r.unit), Style::kBold};
        }},
       {"min", Kind::kNumber, [](const MetricRow& r) { return Span{Amount(r.min, r.unit)}; }},
       {"max", Kind::kNumber, [](const MetricRow& r) { return Span{Amount(r.max, r.unit)}; }},
       {"samples", Kind::kNumber,
        [](const MetricRow& r) { return Span{FormatCount(r.samples)}; }}});
  for (const MachineNote& note : c.file.machine_notes)
    c.page.Paragraph("  - ", FullSentence(note.text));
}

bool HasMoreThanSteps(const RunTime& run) {
  constexpr double kWorthASection = 1;
  const double share = run.rows.empty() ? 0 : run.rows.front().share_pct;
  return 100 - share >= kWorthASection;
}

void WriteRun(TextContext& c) {
  const std::optional<RunTime>& run = c.file.run;
  c.page.Heading("Run", run ? fmt::format("{} recorded", FormatTime(run->wall)) : "",
                 Style::kPlain);
  if (!run) return c.None("Unknown: this requires a complete step.");
  c.Meaning(fmt::format("Shows where the time of the recording went; the rows sum to it.{}",
                        c.HasGpuWork()
                            ? " Compilation, garbage collection, checkpoints, memory calls, "
                              "epoch edges and data wait count only while the GPU is idle."
                            : ""));
  constexpr double kMinutes = 60, kPercent = 100;
  WriteTable<RunRow>(
      c.page, run->rows,
      {{"part", Kind::kText, [](const RunRow& r) { return Span{r.name}; }},
       {"time", Kind::kNumber,
        [](const RunRow& r) {
          return Span{FormatMs(r.time), Style::kBold};
        }},
       {"share", Kind::kNumber, [](const RunRow& r) { return Span{FormatPercent(r.share_pct)}; }},
       {"of an hour", Kind::kNumber,
        [=](const RunRow& r) {
          return Span{fmt::format("{:.1f} min", r.share_pct * kMinutes / kPercent)};
        }},
       {"count", Kind::kNumber,
        [](const RunRow& r) { return Span{r.count > 0 ? FormatCount(r.count) : ""}; }},
       {"longest", Kind::kName, [](const RunRow& r) { return Span{r.example}; }}});
}

}  // namespace headroom
