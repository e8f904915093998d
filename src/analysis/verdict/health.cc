#include "analysis/verdict/health.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>

#include "analysis/gpu/lost_records.h"
#include "analysis/verdict/remedies.h"
#include "base/statistics.h"
#include "base/units.h"
#include "render/number_format.h"
#include "store/kineto_args.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

/// Returns true if any host event was recorded. Annotations on a GPU stream, and rows of unknown
/// kind, do not count.
bool HasHostEvents(const TraceStore& store) {
  const std::span<const HostEventKind> kinds = store.host_events.kind.values();
  return std::any_of(kinds.begin(), kinds.end(), [](HostEventKind kind) {
    return kind != HostEventKind::kGpuAnnotation && kind != HostEventKind::kOther;
  });
}

/// Returns true if the host launched GPU work.
bool LaunchesWork(const TraceStore& store, NameFacts& names) {
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kRuntimeCall &&
        events.kind[row] != HostEventKind::kDriverCall)
      continue;
    const HostRoles roles = names.Roles(events.name[row]);
    if (roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch)) return true;
  }
  return false;
}

/// Spans of unknown category, on tracks that no event identifies as a host thread. Profilers of new
/// devices write their kernels this way.
struct NotUnderstood {
  std::int64_t spans = 0, tracks = 0;
  double share_pct = 0;  ///< Share of the recorded time.
};

NotUnderstood FindNotUnderstood(const TraceStore& store) {
  // Kineto's span over the whole recording.
  constexpr std::string_view kOfProfiler = "Trace";
  // Other formats state the kind of each track.
  const std::string& format = store.metadata.recorded_as();
  if (IsKnownFormat(format) && format != kKinetoFormat && format != kChromeFormat) return {};
  const auto& events = store.host_events;
  std::vector<bool> is_known(store.threads.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventKind kind = events.kind[row];
    if (kind != HostEventKind::kOther) is_known[events.thread[row].index()] = true;
  }
  std::set<ThreadId> tracks;
  std::vector<Interval> spans;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (is_known[events.thread[row].index()] || events.duration[row].ns() <= 0 ||
        store.Text(events.category[row]) == kOfProfiler)
      continue;
    tracks.insert(events.thread[row]);
    spans.push_back({events.start[row], store.HostEnd(HostEventId(row))});
  }
  if (spans.empty()) return {};
  Interval extent = spans.front();
  const auto see = [&](TimeNs start, TimeNs end) {
    extent = {std::min(extent.start, start), std::max(extent.end, end)};
  };
  for (std::size_t row = 0; row < events.rows(); ++row)
    see(events.start[row], store.HostEnd(HostEventId(row)));
  for (std::size_t row = 0; row < store.gpu_tasks.rows(); ++row)
    see(store.gpu_tasks.start[row], store.TaskEnd(GpuTaskId(row)));
  const auto count = static_cast<std::int64_t>(spans.size());
  const DurationNs busy = IntervalSet::UnionOf(std::move(spans)).Measure();
  return {.spans = count,
          .tracks = static_cast<std::int64_t>(tracks.size()),
          .share_pct = SharePct(busy, extent.length())};
}

void AddNotUnderstood(const TraceStore& store, ImportLog& log) {
  const NotUnderstood found = FindNotUnderstood(store);
  if (found.spans == 0) return;
  log.Add(ImportIssue::kNotUnderstood, -1,
          fmt::format("{} on {}, {} of the recorded time", Plural(found.spans, "span"),
                      Plural(found.tracks, "track"), FormatPercent(found.share_pct)),
          found.spans);
}

void AddMissingParts(const TraceStore& store, const Efficiency& efficiency, ImportLog& log) {
  const bool has_gpu = store.gpu_tasks.rows() > 0;
  const bool has_host = HasHostEvents(store);
  if (!has_gpu && log.Count(ImportIssue::kNotUnderstood) == 0) log.Add(ImportIssue::kNoGpu);
  if (!has_host) log.Add(ImportIssue::kNoHost);
  if (has_gpu) {
    bool named = !efficiency.device_name.empty();
    for (const StringId name : store.devices.name.values()) named = named || name.valid();
    if (!named) log.Add(ImportIssue::kNoDeviceProperties);
  }
  if (!has_host) return;
  bool has_shapes = false;
  bool has_frames = false;
  bool has_operators = false;
  std::unordered_set<StringId> seen;
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    has_frames = has_frames || store.host_events.kind[row] == HostEventKind::kPythonFrame;
    if (store.host_events.kind[row] != HostEventKind::kOperator) continue;
    has_operators = true;
    const StringId args = store.host_events.args[row];
    if (!has_shapes && args.valid() && seen.insert(args).second)
      has_shapes = !store.Arg(args, kInputDimsArg).empty();
    if (has_shapes && has_frames) break;
  }
  if (!has_operators) log.Add(ImportIssue::kNoOperators);
  if (has_operators && !has_shapes) log.Add(ImportIssue::kNoShapes);
  if (!has_frames) log.Add(ImportIssue::kNoStacks);
}

void AddUnjoined(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                 ImportLog& log) {
  const auto& tasks = store.gpu_tasks;
  if (tasks.rows() == 0 || !HasHostEvents(store)) return;
  DurationNs orphan_time, all_time;
  std::int64_t orphans = 0, drawn = 0;
  // Some profilers record collectives on a separate track, without launches.
  std::vector<bool> has_launch(store.streams.rows());
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    if (tasks.launch[i].valid()) has_launch[tasks.stream[i].index()] = true;
  }
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    all_time += tasks.duration[i];
    if (tasks.launch[i].valid() || steps.before_recording[i]) continue;
    if (!has_launch[tasks.stream[i].index()] && names.IsCommunication(tasks.name[i])) {
      ++drawn;
      continue;
    }
    ++orphans;
    orphan_time += tasks.duration[i];
  }
  if (orphans + drawn == static_cast<std::int64_t>(tasks.rows()) && !LaunchesWork(store, names)) {
    log.Add(ImportIssue::kNoLaunches);
  } else if (orphans > 0) {
    const double share = SharePct(orphan_time, all_time);
    log.Add(
        ImportIssue::kOrphanTask, -1,
        fmt::format("{} of {}, {} of the GPU time", FormatCount(orphans),
                    Plural(static_cast<std::int64_t>(tasks.rows()), "task"), FormatPercent(share)),
        orphans);
  }
  const auto without_task = static_cast<std::int64_t>(FindLaunchesWithoutTask(store, names).size());
  if (without_task > 0) log.Add(ImportIssue::kLaunchWithoutTask, -1, {}, without_task);

  if (!steps.misplaced.empty()) {
    const GpuTaskId first = steps.misplaced.front().task;
    log.Add(ImportIssue::kMisplacedTask, -1,
            fmt::format("first: correlation id {}", tasks.correlation[first.index()]),
            static_cast<std::int64_t>(steps.misplaced.size()));
  }
  std::int64_t lost_steps = 0;
  for (const StepRow& step : steps.steps.list) lost_steps += step.lost_tasks ? 1 : 0;
  if (lost_steps > 0) log.Add(ImportIssue::kStepWithoutKernels, -1, {}, lost_steps);
}

/// Logs the work of graph launches whose captures are unknown.
void AddReplayedGraphs(const TraceStore& store, NameFacts& names, ImportLog& log) {
  constexpr double kNegligiblePct = 1;
  DurationNs all, unknown;
  std::int64_t count = 0;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    const HostEventId launch = store.gpu_tasks.launch[i];
    all += store.gpu_tasks.duration[i];
    if (!launch.valid() || store.RanBy(GpuTaskId(i)) != launch ||
        !names.Roles(store.host_events.name[launch.index()]).Has(HostRole::kGraphLaunch))
      continue;
    unknown += store.gpu_tasks.duration[i];
    ++count;
  }
  const double share = SharePct(unknown, all);
  if (share < kNegligiblePct) return;
  log.Add(ImportIssue::kReplayedGraphs, -1,
          fmt::format("{}, {} of the GPU time", Plural(count, "task"), FormatPercent(share)),
          count);
}

/// Logs a file that mixes ranks. A rank is a process, so several processes that launch GPU work are
/// several ranks in one file. One process with several devices is a single rank. Processes that
/// launch nothing (workers of a data loader) are not ranks.
void AddMixedRanks(const TraceStore& store, ImportLog& log) {
  std::set<ProcessId> processes;
  std::set<DeviceId> devices;
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    const HostEventId launch = store.gpu_tasks.launch[i];
    if (!launch.valid()) continue;
    processes.insert(store.threads.process[store.host_events.thread[launch.index()].index()]);
    devices.insert(store.DeviceOf(GpuTaskId(i)));
  }
  if (processes.size() < 2) return;
  log.Add(ImportIssue::kMixedRanks, -1,
          fmt::format("{} processes launch work on {} {}", processes.size(), devices.size(),
                      devices.size() == 1 ? "device" : "devices"));
}

void AddProfilerOverhead(const TraceStore& store, ImportLog& log) {
  std::int64_t count = 0;
  DurationNs total;
  for (std::size_t row = 0; row < store.host_events.rows(); ++row) {
    if (store.host_events.kind[row] != HostEventKind::kOverhead) continue;
    ++count;
    total += store.host_events.duration[row];
  }
  if (count > 0) log.Add(ImportIssue::kBufferOverhead, -1, FormatTime(total) + " in total", count);
}

/// Returns a number that is at least 0 from the arguments of an instant.
std::optional<double> NumberOf(const TraceStore& store, std::size_t instant, std::string_view key) {
  const std::string_view text = store.Arg(store.instants.args[instant], key);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) && value >= 0 ? std::optional(value) : std::nullopt;
}

std::int64_t CountOf(double number) {
  constexpr double kMaxCounted = 1e15;
  return static_cast<std::int64_t>(std::min(number, kMaxCounted));
}

/// Returns the first characters of a string argument of an instant, still with JSON escapes.
std::string_view Unquoted(const TraceStore& store, std::size_t instant, std::string_view key) {
  constexpr std::size_t kLongest = 300;
  std::string_view text = store.Arg(store.instants.args[instant], key);
  if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
  return text.substr(0, kLongest);
}

/// Messages from the recording of GPU activity, in instants named `cupti_...`: see
/// capture/activity.h.
struct ActivityMessages {
  double lost_records = 0;  ///< Records that CUPTI dropped, or that have no time.
  /// CPU time of recording, on the recorder's thread and on the program's.
  double cpu_ns = 0;
  std::int64_t warnings = 0;
  std::string first_warning;
};

void AddActivityMessage(const TraceStore& store, std::size_t instant, std::string_view name,
                        ActivityMessages& messages) {
  const double value = NumberOf(store, instant, "value").value_or(0);
  if (name == "cupti_dropped_records" || name == "cupti_untimed_records") {
    messages.lost_records += value;
  } else if (name == "cupti_worker_cpu_ns" || name == "cupti_handling_cpu_ns") {
    messages.cpu_ns += value;
  } else if (store.Arg(store.instants.args[instant], "severity") == "\"warning\"") {
    ++messages.warnings;
    if (!messages.first_warning.empty()) return;
    const std::string_view text = Unquoted(store, instant, "text");
    messages.first_warning =
        text.empty() ? fmt::format("{}: {:.0f}", name, value) : std::string(text);
  }
}

/// Logs a recording's report about its own state, in instants of category `headroom`. Instants
/// named `self` have totals since the start, so the last one counts.
void AddSelfReport(const TraceStore& store, ImportLog& log) {
  const auto& instants = store.instants;
  std::optional<std::size_t> last;
  ActivityMessages activity;
  std::string files;
  std::size_t processes = 0;  // Number of further processes.
  bool began = false, closed = false;
  for (std::size_t row = 0; row < instants.rows(); ++row) {
    if (store.Text(instants.category[row]) != "headroom") continue;
    const std::string_view name = store.Text(instants.name[row]);
    if (name == "process") {
      constexpr std::size_t kMaxFiles = 4;
      if (++processes <= kMaxFiles)
        files += fmt::format("{}{}", files.empty() ? "" : ", ", Unquoted(store, row, "file"));
      else if (processes == kMaxFiles + 1)
        files += ", ...";
    }
    began = began || name == "recording";
    closed = closed || name == "closed";
    if (name.starts_with("cupti_")) AddActivityMessage(store, row, name, activity);
    if (name != "self") continue;
    if (!last || instants.time[row] >= instants.time[*last]) last = row;
  }
  if (processes > 0)
    log.Add(ImportIssue::kFurtherProcesses, -1, fmt::format("{} more: {}", processes, files));
  if (began && !closed) log.Add(ImportIssue::kNotClosed);
  if (activity.warnings > 0)
    log.Add(ImportIssue::kRecorderWarning, -1, activity.first_warning, activity.warnings);
  double dropped = activity.lost_records;
  std::string where;
  if (last) {
    std::string says;
    const auto say = [&](std::string_view text) {
      says += fmt::format("{}{}", says.empty() ? "" : ", ", text);
    };
    // Quotes only the names that Headroom writes.
    for (const std::string_view clock : {"tsc", "monotonic", "monotonic-raw"}) {
      if (store.Arg(instants.args[*last], "clock") == fmt::format("\"{}\"", clock))
        say(fmt::format("clock {}", clock));
    }
    if (const auto ns = NumberOf(store, *last, "clock_residual_ns"))
      say(fmt::format("error at most {:.0f} ns", *ns));
    if (const auto ns = NumberOf(store, *last, "zone_ns"))
      say(fmt::format("a region costs {:.1f} ns", *ns));
    if (const auto ms = NumberOf(store, *last, "recorder_cpu_ms"))
      say(fmt::format("the recorder took {:.1f} ms of CPU time", *ms));
    if (activity.cpu_ns > 0)
      say(fmt::format("recording GPU activity took {:.1f} ms of CPU time in the program",
                      activity.cpu_ns / kNsPerMs));
    log.Add(ImportIssue::kRecorder, -1, says);
    dropped += NumberOf(store, *last, "dropped").value_or(0);
    const auto add = [&](const char* member, std::string_view what) {
      const double number = NumberOf(store, *last, member).value_or(0);
      if (number < 1) return;
      where +=
          fmt::format("{}{} {}", where.empty() ? "" : ", ", FormatCount(CountOf(number)), what);
    };
    add("dropped_events", "arrived faster than they could be recorded");
    add("dropped_threads", "came from more than 128 threads at a time");
    add("dropped_depth", "were nested in 256 regions");
    // These events are recorded, under another name.
    if (const double names = NumberOf(store, *last, "dropped_names").value_or(0); names >= 1)
      log.Add(ImportIssue::kTooManyNames, -1, "", CountOf(names));
    constexpr double kBytesAnEvent = 25;  // Size of a begin or end event: docs/recording.md.
    const double unwritten = NumberOf(store, *last, "lost_bytes").value_or(0);
    if (unwritten >= 1) {
      dropped += std::ceil(unwritten / kBytesAnEvent);
      where += fmt::format("{}{} did not fit into the file", where.empty() ? "" : ", ",
                           FormatBytes(unwritten));
    }
  }
  if (dropped >= 1) log.Add(ImportIssue::kDroppedRecords, -1, where, CountOf(dropped));
}

bool HasCommunication(const TraceStore& store, NameFacts& names) {
  for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
    if (store.gpu_tasks.kind[i] == GpuTaskKind::kKernel &&
        names.IsCommunication(store.gpu_tasks.name[i]))
      return true;
  }
  return false;
}

std::vector<std::string> SplitList(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    parts.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

/// Returns the text that replaces the remedy of an issue that a cut may have caused; empty if the
/// cut cannot have caused it.
std::string_view ByTheCut(ImportIssue issue) {
  switch (issue) {
    case ImportIssue::kNoGpu:
    case ImportIssue::kNoHost:
    case ImportIssue::kNoOperators:
    case ImportIssue::kNoStacks:
    case ImportIssue::kNoSteps:
    case ImportIssue::kNoDeviceProperties:
      return " before the file was cut";
    case ImportIssue::kOrphanTask:
    case ImportIssue::kLaunchWithoutTask:
    case ImportIssue::kStepWithoutKernels:
      return "; the missing part may be after the cut";
    default:
      return "";
  }
}

std::string DetailOf(ImportIssue issue, const TraceStore& store, const ImportLog& log, bool cut) {
  const ImportIssueDoc& doc = DocOf(issue);
  const std::string_view by_the_cut = cut ? ByTheCut(issue) : std::string_view();
  std::string detail(doc.sentence);
  // This exporter ignores the setting, so it is not a remedy.
  if (store.metadata.names_and_times_only &&
      (issue == ImportIssue::kNoShapes || issue == ImportIssue::kNoStacks)) {
    return fmt::format(
        "{}: this trace's exporter (PyTorch without Kineto) never writes them. Remedy: a newer "
        "PyTorch, with {}",
        detail, doc.remedy);
  }
  for (const ImportLogRow& row : log.rows()) {
    if (row.issue != issue) continue;
    if (!row.detail.empty()) detail += fmt::format(" ({})", row.detail);
    if (row.offset >= 0) detail += fmt::format("; first at byte {}", row.offset);
    break;
  }
  if (!by_the_cut.empty()) return detail.append(by_the_cut);
  const bool may_be_lost = issue == ImportIssue::kLaunchWithoutTask ||
                           issue == ImportIssue::kOrphanTask ||
                           issue == ImportIssue::kStepWithoutKernels;
  if (may_be_lost && log.Count(ImportIssue::kLostEvent) > 0)
    return detail + "; the missing part may be among the lost events";
  // No setting of the profiler corrects a timestamp.
  if (issue == ImportIssue::kStepWithoutKernels && log.Count(ImportIssue::kMisplacedTask) > 0)
    return detail;
  if (const std::string remedy = RemedyOf(issue, store.metadata.recorded_as()); !remedy.empty())
    detail += fmt::format(". Remedy: {}", remedy);
  return detail;
}

/// Damage is negligible below this share of events: a few lost events among a million change no
/// reported figure.
constexpr double kNegligibleShare = 0.001;

/// Returns true if the error counts single events, of which a few have no effect.
bool CountsEvents(ImportIssue issue) {
  return issue == ImportIssue::kLostEvent || issue == ImportIssue::kBadTime ||
         issue == ImportIssue::kOversizedEvent || issue == ImportIssue::kUnknownClock ||
         issue == ImportIssue::kDroppedRecords;
}

/// Returns the grade. Missing parts do not lower the grade if they are not required. Examples: a
/// job on the CPU has no GPU work, and some profilers record no launches.
char GradeOf(const TraceStore& store, NameFacts& names, const ImportLog& log) {
  const bool has_gpu = store.gpu_tasks.rows() > 0;
  const bool has_host = HasHostEvents(store);
  const bool has_memory = store.memory_events.rows() > 0;
  if (!has_gpu && !has_host && !has_memory) return 'F';
  const auto events = static_cast<double>(std::max<std::int64_t>(store.metadata.events, 1));
  const auto share = [&](ImportIssue issue) {
    return static_cast<double>(log.Count(issue)) / events;
  };
  const auto dropped = static_cast<double>(log.Count(ImportIssue::kDroppedRecords));
  const double lost = share(ImportIssue::kLostEvent) + share(ImportIssue::kBadTime) +
                      share(ImportIssue::kOversizedEvent) + dropped / (events + dropped);
  if (lost > 0.1) return 'E';
  if (lost > 0.01 || (!has_gpu && (LaunchesWork(store, names) || IsCut(store)))) return 'D';
  const auto tasks = static_cast<double>(std::max<std::size_t>(store.gpu_tasks.rows(), 1));
  const double orphans = static_cast<double>(log.Count(ImportIssue::kOrphanTask)) / tasks;
  const double unlaunched = static_cast<double>(log.Count(ImportIssue::kLaunchWithoutTask)) / tasks;
  if (orphans > 0.5 || unlaunched > 0.2) return 'D';
  const bool cut = log.Count(ImportIssue::kTruncated) + log.Count(ImportIssue::kCutCompression) +
                       log.Count(ImportIssue::kEventCap) + log.Count(ImportIssue::kMixedRanks) +
                       log.Count(ImportIssue::kStepWithoutKernels) +
                       log.Count(ImportIssue::kDamagedTable) >
                   0;
  if (cut || lost > kNegligibleShare || orphans > 0.05 || unlaunched > 0.02) return 'C';
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    if (log.Count(issue) > 0 && DocOf(issue).severity != Severity::kInfo) return 'B';
  }
  return 'A';
}

/// Logs the exporter's cap, if the reader did not.
void AddCap(const TraceStore& store, ImportLog& log) {
  if (IsCapped(store) && log.Count(ImportIssue::kEventCap) == 0) log.Add(ImportIssue::kEventCap);
}

}  // namespace

Health AssessHealth(const TraceStore& store, NameFacts& names, const StepAnalysis& steps,
                    const Efficiency& efficiency) {
  ImportLog log = store.log;
  AddNotUnderstood(store, log);
  AddMissingParts(store, efficiency, log);
  AddUnjoined(store, names, steps, log);
  AddReplayedGraphs(store, names, log);
  AddMixedRanks(store, log);
  AddProfilerOverhead(store, log);
  AddSelfReport(store, log);
  if (store.metadata.is_forecast) log.Add(ImportIssue::kForecast);
  if (store.metadata.world_size.value_or(1) > 1 && store.gpu_tasks.rows() > 0 &&
      !HasCommunication(store, names)) {
    log.Add(ImportIssue::kNoCollectives);
  }
  if (steps.steps.source != StepSource::kAnnotation && store.metadata.events > 0)
    log.Add(ImportIssue::kNoSteps);
  AddCap(store, log);
  if (steps.steps.tasks_before_first > 0) {
    log.Add(ImportIssue::kWorkBeforeFirstStep, -1, {}, steps.steps.tasks_before_first);
  }
  if (efficiency.unclassified_pct > 0) {
    log.Add(ImportIssue::kUnclassified, -1,
            FormatPercent(efficiency.unclassified_pct) + " of the GPU time");
  }

  Health health;
  health.cut = IsCut(store);
  health.grade = GradeOf(store, names, log);
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    if (log.Count(issue) == 0) continue;
    health.issues.push_back({issue, log.Count(issue), DetailOf(issue, store, log, health.cut),
                             SplitList(DocOf(issue).voids)});
  }
  std::stable_sort(health.issues.begin(), health.issues.end(),
                   [](const HealthIssue& a, const HealthIssue& b) {
                     return DocOf(a.issue).severity > DocOf(b.issue).severity;
                   });
  return health;
}

bool MayHideGpuWork(const TraceStore& store) {
  constexpr double kNegligiblePct = 5;
  const NotUnderstood found = FindNotUnderstood(store);
  return found.share_pct > (store.gpu_tasks.rows() == 0 ? 0 : kNegligiblePct);
}

bool HasIssue(const Health& health, ImportIssue issue) {
  return std::any_of(health.issues.begin(), health.issues.end(),
                     [&](const HealthIssue& found) { return found.issue == issue; });
}

std::string DamageOf(const TraceStore& store) {
  ImportLog log = store.log;
  AddSelfReport(store, log);
  AddCap(store, log);
  const auto events = static_cast<double>(std::max<std::int64_t>(store.metadata.events, 1));
  std::string damage;
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    const auto count = static_cast<double>(log.Count(issue));
    if (count == 0 || DocOf(issue).severity != Severity::kError) continue;
    if (CountsEvents(issue) && count <= kNegligibleShare * events) continue;
    damage += fmt::format("{} {}: {}", damage.empty() ? "error" : ". Error", DocOf(issue).code,
                          DetailOf(issue, store, log, IsCut(store)));
  }
  return damage;
}

}  // namespace headroom
