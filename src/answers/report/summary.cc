#include "answers/report/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/steps/step_time.h"
#include "analysis/verdict/bottleneck.h"
#include "analysis/verdict/remedies.h"
#include "answers/report/phrases.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

std::optional<DurationNs> GpuBusyOf(const TraceReport& file) {
  if (file.gpu_time.empty()) return std::nullopt;
  if (const std::optional<StepTime> time = StepTimeOf(file.steps)) return time->gpu_busy;
  if (file.breakdown) return file.breakdown->gpu.Sum();
  return std::nullopt;
}

std::optional<double> SamplesPerSecond(const JobReport& job) {
  const TraceReport& file = job.slowest();
  const std::optional<MsInterval> base = job.Base();
  if (!file.throughput || !base || base->mid <= 0 || !job.steps().step_time) return std::nullopt;
  return static_cast<double>(file.throughput->batch_size) / base->mid * 1e3;
}

std::optional<double> TokensPerSecond(const TraceReport& file) {
  if (file.steps.kinds.empty()) return std::nullopt;
  const StepKindRow& kind = file.steps.kinds.front();
  if (!kind.tokens || kind.mean.ns() <= 0) return std::nullopt;
  return *kind.tokens / kind.mean.ms() * 1e3;
}

std::optional<std::int64_t> PeakMemoryOf(const TraceReport& file) {
  for (const MemoryUse& use : file.memory) {
    if (use.device && use.peak.allocated_bytes > 0) return use.peak.allocated_bytes;
  }
  return std::nullopt;
}

void AddParts(const TraceReport& file, Summary& summary) {
  if (file.breakdown && file.breakdown->wall.ns() > 0) {
    const StepBreakdown& breakdown = *file.breakdown;
    const double wall = breakdown.wall.ms();
    const double other = 100 * breakdown.step.other.ms() / wall;
    // Mostly "other": classes of GPU work tell more.
    constexpr double kMaxOtherPct = 60, kMaxOtherAlonePct = 99;
    if ((other < kMaxOtherPct || file.classes.empty()) && other <= kMaxOtherAlonePct) {
      for (const BreakdownPart& part : kBreakdownParts) {
        const double share = 100 * (breakdown.step.*part.time).ms() / wall;
        const double busy =
            file.gpu_time.empty() ? share : 100 * (breakdown.gpu.*part.time).ms() / wall;
        if (share > 0) summary.parts.push_back({std::string(part.label), share, busy});
      }
      return;
    }
  }
  summary.parts_of = PartsOf::kGpuTime;
  for (const ClassRow& row : file.classes) {
    if (row.share_pct > 0) summary.parts.push_back({row.name, row.share_pct, row.share_pct});
  }
}

std::vector<std::string> CommandOf(const Finding& finding, const TraceReport& file,
                                   const ReportOptions& options) {
  if (auto forecast = ForecastWords(finding, file, options); !forecast.empty()) return forecast;
  // Headroom's own recordings have the stages of the loader.
  if (finding.id == "data-wait" && file.input.recorded_as == kPerfettoFormat)
    return {"headroom", "data", PathArgument(file.input.path)};
  return CheckWords(finding, file, options);
}

/// Returns the step of a file, in ms. Returns nullopt if it is far from the job's step: then a
/// speedup would be of another step than the shown one.
std::optional<MsInterval> BaseOf(const TraceReport& file, const std::optional<MsInterval>& of_job) {
  const std::optional<MsInterval> own = JobReport({&file, 1}).Base();
  constexpr double kSame = 1.1;
  const bool is_same =
      own && of_job && std::max(own->mid, of_job->mid) <= kSame * std::min(own->mid, of_job->mid);
  return is_same ? own : std::nullopt;
}

SummaryAction ActionOf(const RowOfFile<Finding>& row, const std::optional<MsInterval>& of_job,
                       const ReportOptions& options) {
  const Finding& finding = *row.row;
  SummaryAction action = {.finding = &finding,
                          .upper_bound = finding.saves_note.starts_with("at most"),
                          .command = CommandOf(finding, *row.file, options)};
  const std::optional<MsInterval> base = BaseOf(*row.file, of_job);
  if (!finding.saves_ms || !base || base->mid <= finding.saves_ms->mid) return action;
  // If the step itself is uncertain, a speedup computed from an upper bound is misleading.
  constexpr double kBadlyKnown = 0.5;
  if (!action.upper_bound || base->high - base->low < kBadlyKnown * base->mid)
    action.speedup = base->mid / (base->mid - finding.saves_ms->mid);
  return action;
}

/// Says whether the job is fine or the trace lacks data.
std::string NoAction(const JobReport& job) {
  const TraceReport& file = job.slowest();
  const Verdict verdict = file.bottleneck.verdict;
  if (job.steps().count == 0 || verdict == Verdict::kUnknown) return {};
  const auto of_cause = std::ranges::find_if(
      job.findings(),
      [&](const RowOfFile<Finding>& finding) { return ActsOn(verdict, *finding.row); });
  constexpr double kMinSharePct = 1;
  if (of_cause != job.findings().end() && of_cause->row->saves_ms &&
      of_cause->row->share_pct.value_or(0) >= kMinSharePct) {
    return fmt::format(
        "A replay without this cause saves only {}, because something else also limits the step. "
        "No other change was found that saves 1 % or more.",
        FormatMs(of_cause->row->saves_ms->mid));
  }
  if (file.gpu_time.empty() && verdict == Verdict::kCommunication) {
    return "One rank's trace does not show which rank it waits for. Record all ranks, and run "
           "headroom report on their files together.";
  }
  if (!file.gpu_time.empty() || (file.engine && file.engine->error.empty()))
    return "No change was found that saves 1 % of the step or more.";
  if (verdict == Verdict::kCpuCompute) return {};
  return fmt::format("Savings are unknown without GPU work. To record it: {}.",
                     RemedyOf(ImportIssue::kNoGpu, file.input.recorded_as));
}

std::string NoteOf(const JobReport& job) {
  for (const RowOfFile<HealthIssue>& issue : job.issues()) {
    const ImportIssueDoc& doc = DocOf(issue.row->issue);
    if (doc.severity == Severity::kInfo) continue;
    // Only the detail shows how the files differ.
    if (issue.row->issue == ImportIssue::kOtherJob) return Sentence(issue.row->detail) + ".";
    std::string text = Sentence(doc.sentence.substr(0, doc.sentence.find_first_of(";:"))) + ".";
    if (!issue.row->voids.empty()) text += fmt::format(" Unreliable: {}.", Join(issue.row->voids));
    return text;
  }
  const StepSummary& steps = job.steps();
  if (steps.count == 0) {
    return fmt::format("No steps were found. To mark steps: {}.",
                       HowToTellSteps(job.slowest().input.recorded_as));
  }
  constexpr double kWorthSayingPct = 5;
  if (steps.profiler_overhead_pct && *steps.profiler_overhead_pct >= kWorthSayingPct &&
      steps.step_time && steps.corrected) {
    return fmt::format("The profiler adds {} per step; all savings exclude it.",
                       FormatUncertainTime(steps.step_time->ms() - steps.corrected->mid, 0, 0));
  }
  return {};
}

}  // namespace

Summary SummaryOf(const JobReport& job, const ReportOptions& options) {
  const TraceReport& file = job.slowest();
  Summary summary = {.rank = job.single() ? std::nullopt : file.input.rank,
                     .rank_note = job.SlowestNote(),
                     .step_ms = job.Base(),
                     .recorded = job.steps().step_time,
                     .gpu_busy = GpuBusyOf(file),
                     .samples_per_s = SamplesPerSecond(job),
                     .tokens_per_s = TokensPerSecond(file),
                     .peak_memory_bytes = PeakMemoryOf(file),
                     .note = NoteOf(job)};
  if (!summary.recorded && file.stretch) summary.recorded = file.stretch->wall;
  AddParts(file, summary);
  for (const RowOfFile<Finding>& finding : job.findings()) {
    if (ActionLabel(*finding.row) == "do" && job.Matters(*finding.row))
      summary.actions.push_back(ActionOf(finding, summary.step_ms, options));
  }
  if (summary.actions.empty()) summary.no_action = NoAction(job);
  return summary;
}

}  // namespace headroom
