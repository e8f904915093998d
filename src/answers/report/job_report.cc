#include "answers/report/job_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/steps/step_kind.h"
#include "analysis/steps/step_time.h"
#include "analysis/steps/steps.h"
#include "analysis/verdict/bottleneck.h"
#include "base/statistics.h"
#include "render/escape.h"

namespace headroom {
namespace {

StepSummary Summarize(std::span<const TraceReport> files, const TraceReport& slowest) {
  Steps all;
  for (const TraceReport& file : files) {
    all.list.insert(all.list.end(), file.steps.list.begin(), file.steps.list.end());
  }
  static_cast<WallSummary&>(all) = SummarizeWalls(all.list);
  StepSummary summary;
  static_cast<WallSummary&>(summary) = all;
  summary.source = slowest.steps.source;
  summary.count = all.list.size();
  summary.kind = CountedKind(slowest.steps.kinds);
  for (const StepRow& row : all.list) {
    summary.whole += row.Counts() ? 1 : 0;
    summary.others += !row.lost_tasks && row.of_other_kind ? 1 : 0;
  }
  std::int64_t sum = 0;
  for (const TraceReport& file : files) {
    const std::optional<StepTime> of_file = StepTimeOf(file.steps);
    if (!of_file) continue;
    summary.counted += static_cast<std::size_t>(of_file->steps);
    sum += of_file->mean.ns() * of_file->steps;
    summary.usual += static_cast<std::size_t>(std::ranges::count(UsualSteps(file.steps), true));
  }
  const auto counted = static_cast<std::int64_t>(summary.counted);
  if (counted > 0) summary.step_time = DurationNs((sum + counted / 2) / counted);
  summary.profiler_overhead_pct = slowest.steps.profiler_overhead_pct;
  if (!slowest.steps.corrected_p50 || !summary.step_time) return summary;
  // Assumes that recording slows all ranks by the same factor.
  const auto of_all = [](DurationNs all_ranks, DurationNs one) {
    return one.ns() > 0 ? static_cast<double>(all_ranks.ns()) / static_cast<double>(one.ns()) : 1;
  };
  const double median = of_all(*summary.p50, *slowest.steps.p50);
  summary.corrected_p50 =
      DurationNs(std::llround(static_cast<double>(slowest.steps.corrected_p50->ns()) * median));
  const MsInterval& one = *slowest.engine->corrected_step_ms;
  const double mean = of_all(*summary.step_time, *slowest.steps.step_time);
  summary.corrected = MsInterval{one.low * mean, one.mid * mean, one.high * mean};
  return summary;
}

/// @param verdict  verdict of the job; the best finding that acts on it comes first
std::vector<RowOfFile<Finding>> JoinFindings(std::span<const TraceReport> files, Verdict verdict) {
  std::vector<RowOfFile<Finding>> joined;
  const auto share = [](const RowOfFile<Finding>& f) { return f.row->share_pct.value_or(-1); };
  for (const TraceReport& file : files) {
    for (const Finding& finding : file.findings) {
      const RowOfFile<Finding> candidate{&finding, &file};
      const auto same = std::find_if(joined.begin(), joined.end(),
                                     [&](const auto& f) { return f.row->id == finding.id; });
      if (same == joined.end()) {
        joined.push_back(candidate);
      } else if (share(candidate) > share(*same)) {
        *same = candidate;
      }
    }
  }
  // The findings of a single file are already ranked, including those without a share.
  if (files.size() > 1) {
    const auto rank = [&](const RowOfFile<Finding>& f) {
      const std::optional<MsInterval>& saves = f.row->saves_ms;
      return std::pair(saves ? std::optional(saves->mid) : std::nullopt, share(f));
    };
    std::stable_sort(joined.begin(), joined.end(),
                     [&](const auto& a, const auto& b) { return rank(a) > rank(b); });
    const auto first = std::find_if(joined.begin(), joined.end(),
                                    [&](const auto& f) { return ActsOn(verdict, *f.row); });
    if (first != joined.end()) std::rotate(joined.begin(), first, first + 1);
  }
  if (joined.size() > kMaxFindings) joined.resize(kMaxFindings);
  return joined;
}

/// Returns the time by which a list orders its rows.
template <typename Row>
DurationNs SizeOf(const Row& row) {
  return row.total;
}
std::pair<DurationNs, DurationNs> SizeOf(const TimeRow& row) {
  return {row.total, row.self_host.value_or(DurationNs(0))};
}
DurationNs SizeOf(const SyncRow& row) { return row.gpu_idle; }

}  // namespace

JobReport::JobReport(std::span<const TraceReport> files) : files_(files) {
  assert(!files.empty());
  slowest_ = &files.front();
  // An absent time sorts below any time. Among equal times, a file with a verdict is preferred.
  const auto key = [](const TraceReport& file) {
    return std::pair(file.steps.p50, file.bottleneck.verdict != Verdict::kUnknown);
  };
  for (const TraceReport& file : files) {
    if (key(file) > key(*slowest_)) slowest_ = &file;
    grade_ = std::max(grade_, file.health.grade);
    for (const HealthIssue& issue : file.health.issues) {
      issues_.push_back({&issue, &file});
      // The figures of each file are valid, but statements about the set may not be.
      if (issue.of_set && DocOf(issue.issue).severity != Severity::kInfo)
        grade_ = std::max(grade_, 'B');
    }
  }
  if (!single()) {
    std::stable_sort(issues_.begin(), issues_.end(), [](const auto& a, const auto& b) {
      return DocOf(a.row->issue).severity > DocOf(b.row->issue).severity;
    });
  }
  steps_ = Summarize(files, *slowest_);
  findings_ = JoinFindings(files, slowest_->bottleneck.verdict);
}

template <typename Row>
std::vector<RowOfFile<Row>> JobReport::Rows(std::vector<Row> TraceReport::*list,
                                            std::optional<std::size_t> top) const {
  std::vector<RowOfFile<Row>> rows;
  for (const TraceReport& file : files_) {
    const std::vector<Row>& all = file.*list;
    const std::size_t count = std::min(all.size(), top.value_or(all.size()));
    for (std::size_t i = 0; i < count; ++i) rows.push_back({&all[i], &file});
  }
  if (!single()) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return SizeOf(*a.row) > SizeOf(*b.row); });
  }
  return rows;
}

std::vector<RegionOverRanks> JobReport::RegionsOverRanks() const {
  constexpr std::string_view kBatch = "BATCH";
  struct Sums {
    RegionOverRanks row;
    DurationNs total, shared, batches;
  };
  std::map<std::string_view, Sums> by_key;
  for (const TraceReport& file : files_) {
    const auto batch = std::find_if(file.regions.begin(), file.regions.end(),
                                    [&](const RegionRow& row) { return row.key == kBatch; });
    for (const RegionRow& region : file.regions) {
      Sums& sums = by_key[region.key];
      RegionOverRanks& row = sums.row;
      row.min = row.ranks == 0 ? region.total : std::min(row.min, region.total);
      if (row.ranks == 0 || region.total > row.max) {
        row.max = region.total;
        row.longest = &file;
      }
      ++row.ranks;
      sums.total += region.total;
      if (batch == file.regions.end()) continue;
      sums.shared += region.total;
      sums.batches += batch->total;
    }
  }
  std::vector<RegionOverRanks> rows;
  for (auto& [key, sums] : by_key) {
    RegionOverRanks& row = rows.emplace_back(sums.row);
    row.key = key;
    row.mean = DurationNs((sums.total.ns() + row.ranks / 2) / row.ranks);
    if (sums.batches.ns() > 0) row.share_of_batch_pct = SharePct(sums.shared, sums.batches);
  }
  std::stable_sort(
      rows.begin(), rows.end(),
      [](const RegionOverRanks& a, const RegionOverRanks& b) { return a.mean > b.mean; });
  return rows;
}

std::optional<MsInterval> JobReport::Base() const {
  if (steps_.corrected) return steps_.corrected;
  const TraceReport& file = *slowest_;
  if (file.engine && file.engine->corrected_step_ms && steps_.count == 0)
    return file.engine->corrected_step_ms;
  std::optional<DurationNs> time = steps_.step_time;
  if (!time && file.stretch) time = file.stretch->wall;
  if (!time) return std::nullopt;
  return MsInterval{time->ms(), time->ms(), time->ms()};
}

bool JobReport::Matters(const Finding& finding) const {
  constexpr double kMinPct = 1;
  const std::optional<MsInterval> base = Base();
  if (finding.saves_ms && base && base->mid > 0)
    return 100 * finding.saves_ms->mid / base->mid >= kMinPct;
  return !finding.share_pct || *finding.share_pct >= kMinPct;
}

std::string JobReport::SlowestNote() const {
  if (single()) return "";
  const bool alike = std::all_of(files_.begin(), files_.end(), [&](const TraceReport& file) {
    return file.steps.p50 == slowest_->steps.p50;
  });
  if (alike && slowest_->steps.p50)
    return fmt::format("{}, one of {} equally fast", RankName(*slowest_), files_.size());
  return fmt::format("{}, the {} of {}", RankName(*slowest_),
                     slowest_->steps.p50 ? "slowest" : "first", files_.size());
}

template std::vector<RowOfFile<TimeRow>> JobReport::Rows(std::vector<TimeRow> TraceReport::*,
                                                         std::optional<std::size_t>) const;
template std::vector<RowOfFile<ClassRow>> JobReport::Rows(std::vector<ClassRow> TraceReport::*,
                                                          std::optional<std::size_t>) const;
template std::vector<RowOfFile<LineRow>> JobReport::Rows(std::vector<LineRow> TraceReport::*,
                                                         std::optional<std::size_t>) const;
template std::vector<RowOfFile<StackRow>> JobReport::Rows(std::vector<StackRow> TraceReport::*,
                                                          std::optional<std::size_t>) const;
template std::vector<RowOfFile<RegionRow>> JobReport::Rows(std::vector<RegionRow> TraceReport::*,
                                                           std::optional<std::size_t>) const;
template std::vector<RowOfFile<CallbackRow>> JobReport::Rows(
    std::vector<CallbackRow> TraceReport::*, std::optional<std::size_t>) const;
template std::vector<RowOfFile<SyncRow>> JobReport::Rows(std::vector<SyncRow> TraceReport::*,
                                                         std::optional<std::size_t>) const;

std::string RankName(const TraceReport& file) {
  return file.input.rank ? fmt::format("rank {}", *file.input.rank) : "this file";
}

std::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnknown:
      return "unknown";
    case Verdict::kHost:
      return "host";
    case Verdict::kGpuCompute:
      return "gpu-compute";
    case Verdict::kGpuMemory:
      return "gpu-memory";
    case Verdict::kCpuCompute:
      return "cpu-compute";
    case Verdict::kInput:
      return "input";
    case Verdict::kCommunication:
      return "communication";
    case Verdict::kCallback:
      return "callback";
    case Verdict::kSynchronization:
      return "synchronization";
    case Verdict::kBalanced:
      return "balanced";
  }
  return "unknown";
}

std::string_view NameOf(StepKind kind) {
  constexpr std::string_view kNames[] = {
      "", "training", "evaluation", "prefill", "decode", "mixed", "training-and-evaluation"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view NameOf(StepSource source) {
  switch (source) {
    case StepSource::kNone:
      return "none";
    case StepSource::kAnnotation:
      return "annotation";
    case StepSource::kInferred:
      return "inferred";
    case StepSource::kGiven:
      return "given";
  }
  return "none";
}

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "error";
}

std::vector<std::string> CheckWords(const Finding& finding, const TraceReport& file,
                                    const ReportOptions& options) {
  std::vector<std::string> words = {"headroom", "report"};
  if (finding.of_set) {
    for (const std::string& input : options.inputs) words.push_back(PathArgument(input));
  } else {
    words.push_back(PathArgument(file.input.path));
  }
  words.insert(words.end(), {"--only", finding.check_section});
  words.insert(words.end(), options.check_arguments.begin(), options.check_arguments.end());
  return words;
}

std::string ShellCommand(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command.push_back(' ');
    command += ShellQuote(word);
  }
  return command;
}

std::string CheckCommand(const Finding& finding, const TraceReport& file,
                         const ReportOptions& options) {
  return ShellCommand(CheckWords(finding, file, options));
}

std::vector<std::string> ForecastWords(const Finding& finding, const TraceReport& file,
                                       const ReportOptions& options) {
  if (finding.scenario.empty()) return {};
  std::vector<std::string> words = {"headroom", "whatif", PathArgument(file.input.path),
                                    finding.scenario};
  words.insert(words.end(), options.forecast_arguments.begin(), options.forecast_arguments.end());
  return words;
}

std::string ForecastCommand(const Finding& finding, const TraceReport& file,
                            const ReportOptions& options) {
  return ShellCommand(ForecastWords(finding, file, options));
}

}  // namespace headroom
