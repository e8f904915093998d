#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/steps/step_kind.h"
#include "analysis/verdict/remedies.h"
#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "base/statistics.h"
#include "render/number_format.h"

namespace headroom {
namespace {

/// A step and its file.
struct StepEntry {
  const StepRow* row;
  const TraceReport* file;
};

/// Returns the columns of the table. Columns that are empty in every row are dropped.
std::vector<RowColumn<StepEntry>> StepColumns(const TextContext& c, bool any_gpu, bool any_host) {
  using Entry = StepEntry;
  const auto of_gpu = [any_gpu](auto text_of) {
    return [=](const Entry& e) {
      return Span{!any_gpu ? "" : e.row->gpu_busy ? text_of(*e.row) : std::string("-")};
    };
  };
  const bool single = c.job.single();
  return {
      {"rank", Kind::kNumber,
       [=](const Entry& e) {
         return Span{single || !e.file->input.rank ? "" : fmt::format("{}", *e.file->input.rank)};
       }},
      {"step", Kind::kNumber, [](const Entry& e) { return Span{fmt::format("{}", e.row->index)}; }},
      // Clocks of different files are not comparable, so start times are shown only for a single
      // file.
      {"start", Kind::kNumber,
       [=](const Entry& e) {
         return Span{single ? FormatMs(e.row->start - e.file->trace_start) : ""};
       }},
      {"time", Kind::kNumber,
       [](const Entry& e) {
         return Span{FormatMs(e.row->wall), Style::kBold};
       }},
      {"GPU busy", Kind::kNumber, of_gpu([](const StepRow& r) { return FormatMs(*r.gpu_busy); })},
      {"host late", Kind::kNumber, of_gpu([](const StepRow& r) { return FormatMs(r.host_wait); })},
      {"host", Kind::kNumber,
       [=](const Entry& e) {
         return Span{!any_host ? "" : e.row->host ? FormatMs(*e.row->host) : "-"};
       }},
      {"profiler", Kind::kNumber,
       of_gpu([](const StepRow& r) { return FormatMs(r.profiler_cost); })},
      {"queue", Kind::kNumber,
       of_gpu([](const StepRow& r) { return fmt::format("{:.1f}", r.queue_depth_mean); })},
      {"most", Kind::kNumber,
       of_gpu([](const StepRow& r) { return FormatCount(r.queue_depth_max); })},
      {"", Kind::kText, [file = &c.file](const Entry& e) {
         const bool median =
             file->breakdown && e.file == file && e.row->index == file->breakdown->step_index;
         if (median) return Span{"median"};
         if (e.row->lost_tasks) return Span{"incomplete"};
         return Span{e.row->of_other_kind ? std::string(NameOf(e.row->kind)) : std::string()};
       }}};
}

void StepTable(TextContext& c) {
  std::vector<StepEntry> entries;
  for (const TraceReport& file : c.job.files()) {
    for (const StepRow& row : file.steps.list) entries.push_back({&row, &file});
  }
  const std::size_t all = entries.size();
  if (all > c.Top()) {
    // With too many steps to list, shows only the slowest.
    std::stable_sort(entries.begin(), entries.end(), [](const StepEntry& a, const StepEntry& b) {
      return a.row->wall > b.row->wall;
    });
    entries.resize(c.Top());
  }
  const bool any_gpu = c.AnyGpuWork();
  const bool any_host = std::any_of(entries.begin(), entries.end(),
                                    [](const StepEntry& entry) { return entry.row->host; });
  c.page.Blank();
  WriteTable<StepEntry>(c.page, entries, StepColumns(c, any_gpu, any_host));
  if (all > entries.size()) {
    c.page.Line(
        {{fmt::format("  the slowest {} of {}; for all: {}", entries.size(),
                      FormatCount(static_cast<std::int64_t>(all)), c.HowToSeeAll(Section::kSteps)),
          Style::kDim}});
  }
  if (any_gpu) {
    c.Meaning(
        "host late: GPU idle until the host launched the next task; includes idle after blocking "
        "calls. host: the step on the host. profiler: rough cost of recording while the GPU waits "
        "for the host. queue, most: tasks launched but not started, mean and maximum.");
  } else if (any_host) {
    c.Meaning("host: the step on the host.");
  }
}

void BreakdownLine(TextContext& c, std::string_view name, DurationNs time,
                   std::optional<DurationNs> busy, DurationNs wall, DurationNs largest,
                   Style style) {
  if (time.ns() == 0) return;
  std::vector<Span> line = {{fmt::format("  {:<14}{:>11}{:>9}  ", name, FormatMs(time),
                                         FormatPercent(SharePct(time, wall))),
                             style}};
  const std::size_t width = c.BarWidth(busy ? 60 : 38);
  for (Span& span : c.page.Bar(busy.value_or(time).ms(), time.ms(), largest.ms(), width))
    line.push_back(std::move(span));
  if (busy) line.push_back({fmt::format("  GPU busy {:>11}", FormatMs(*busy)), style});
  c.page.Line(line);
}

/// Returns true if the steps have a backward pass or an optimizer. Steps of an inference server
/// have neither.
bool Trains(const TraceReport& file) {
  if (!file.breakdown) return false;
  const BreakdownParts& parts = file.breakdown->step;
  return (parts.backward + parts.optimizer).ns() > 0;
}

/// Describes one step: "one iteration of training".
std::string IterationText(const TraceReport& file, StepKind kind) {
  switch (kind) {
    case StepKind::kPrefill:
    case StepKind::kDecode:
      return fmt::format("one {} iteration", NameOf(kind));
    case StepKind::kMixed:
      return "one iteration with both prefill and decode";
    case StepKind::kEvaluation:
      return "one iteration of evaluation";
    case StepKind::kUnknown:
    case StepKind::kTraining:
    case StepKind::kTrainingAndEvaluation:
      break;
  }
  return Trains(file) ? "one iteration of training" : "one iteration";
}

/// Writes the whole steps by kind, if there are several kinds or their tokens are known.
void KindTable(TextContext& c) {
  const std::vector<StepKindRow>& kinds = c.file.steps.kinds;
  if (kinds.empty()) return;
  using Row = StepKindRow;
  const std::vector<RowColumn<Row>> columns = {
      {"kind", Kind::kText,
       [](const Row& r) {
         return Span{r.kind == StepKind::kUnknown ? "unknown" : std::string(NameOf(r.kind))};
       }},
      {"steps", Kind::kNumber, [](const Row& r) { return Span{FormatCount(r.count)}; }},
      {"share", Kind::kNumber, [](const Row& r) { return Span{FormatPercent(r.share_pct)}; }},
      {"mean", Kind::kNumber,
       [](const Row& r) {
         return Span{FormatMs(r.mean), Style::kBold};
       }},
      {"median", Kind::kNumber, [](const Row& r) { return Span{FormatMs(r.p50)}; }},
      {"p90", Kind::kNumber, [](const Row& r) { return Span{FormatMs(r.p90)}; }},
      {"tokens", Kind::kNumber,
       [](const Row& r) { return Span{r.tokens ? FormatCount(std::llround(*r.tokens)) : ""}; }},
      {"tokens/s", Kind::kNumber, [](const Row& r) {
         const std::optional<double> rate = TokensPerSecond(r);
         return Span{rate ? FormatCount(std::llround(*rate)) : ""};
       }}};
  c.page.Blank();
  WriteTable<Row>(c.page, kinds, columns);
  if (kinds.size() > 1) {
    c.Meaning(fmt::format(
        "Step figures cover the {} steps{}.", NameOf(kinds.front().kind),
        CountedKind(kinds) == StepKind::kUnknown ? " and those of unknown kind" : " only"));
  }
}

}  // namespace

void WriteBottleneck(TextContext& c) {
  const Bottleneck& bottleneck = c.file.bottleneck;
  c.page.Heading(fmt::format("Bottleneck: {}", NameOf(bottleneck.verdict)), c.job.SlowestNote(),
                 Style::kDim);
  c.page.Paragraph("  ", VerdictText(bottleneck), Style::kPlain, Style::kBold);
  for (const std::string& evidence : bottleneck.evidence)
    c.page.Paragraph("  - ", Sentence(evidence));
  if (c.file.causes.empty()) return;
  c.page.Blank();
  c.Meaning(fmt::format("GPU work and waits ({}):", BreakdownSubject(c.file)));
  DurationNs largest;
  for (const CauseRow& cause : c.file.causes) largest = std::max(largest, cause.time);
  for (const CauseRow& cause : c.file.causes) {
    if (cause.time.ns() == 0) continue;
    std::vector<Span> line = {{fmt::format("  {:<32}{:>11}{:>9}  ", CauseText(cause.name),
                                           FormatMs(cause.time), FormatPercent(cause.share_pct))}};
    for (Span& span : c.page.Bar(cause.time.ms(), cause.time.ms(), largest.ms(), c.BarWidth(56))) {
      line.push_back(std::move(span));
    }
    c.page.Line(line);
  }
}

void WriteSteps(TextContext& c) {
  const StepSummary& summary = c.job.steps();
  if (!summary.p50 && summary.count > 0) {
    c.page.Heading("Step time", "", Style::kPlain);
    c.None("Unknown: no step has all its GPU tasks recorded.");
    return StepTable(c);
  }
  if (!summary.p50) {
    c.page.Heading("Step time", "", Style::kPlain);
    return c.None(
        fmt::format("No steps: nothing marks an iteration, and no repetition was recognized. To "
                    "mark steps: {}.",
                    HowToTellSteps(c.file.input.recorded_as)));
  }
  c.page.Heading(fmt::format("Step time: {}", FormatTime(*summary.step_time)), CountedText(summary),
                 Style::kDim);
  const std::string iteration = IterationText(c.file, summary.kind);
  c.Meaning(c.AnyGpuWork()
                ? fmt::format("One step is {}. It ends where its GPU work ends.", iteration)
                : fmt::format("One step is {}, timed on the host: {}{}.", iteration, c.NoGpuWork(),
                              c.file.health.cut ? " before the file was cut" : ""));
  if (const std::optional<std::int64_t> every = c.file.steps.optimizer_every) {
    c.Meaning(fmt::format("The optimizer runs once in {} steps: each is one of {} micro-batches.",
                          *every, *every));
  }
  std::string spread = fmt::format("median {}, from {} to {}", FormatTime(*summary.p50),
                                   FormatTime(*summary.min), FormatTime(*summary.max));
  if (summary.usual < summary.whole) spread += "; 1 step that is far slower left out";
  if (const std::size_t lost = summary.count - summary.whole - summary.others; lost > 0) {
    spread += fmt::format("; {} with missing GPU tasks left out",
                          FormatCount(static_cast<std::int64_t>(lost)));
  }
  if (summary.count > 1) c.page.Paragraph("  spread   ", spread, Style::kDim);
  if (summary.corrected) c.page.Paragraph("  alone    ", CorrectedText(summary), Style::kDim);
  c.page.Paragraph("  source   ", StepSourceText(c.file.steps), Style::kDim);
  if (c.file.steps.tasks_before_first + c.file.steps.tasks_outside > 0 && c.job.single()) {
    c.page.Paragraph(
        "  outside  ",
        fmt::format("{} launched before the first step and {} between or after steps: in no step",
                    Plural(c.file.steps.tasks_before_first, "GPU task"),
                    FormatCount(c.file.steps.tasks_outside)),
        Style::kDim);
  }
  KindTable(c);
  StepTable(c);
}

void WriteBreakdown(TextContext& c) {
  if (!c.file.breakdown) {
    c.page.Heading("Step breakdown", "", Style::kPlain);
    return c.None(c.file.steps.list.empty() ? "Unknown: this requires steps and host events."
                                            : "Unknown: this requires a complete step.");
  }
  const StepBreakdown& breakdown = *c.file.breakdown;
  c.page.Heading("Step breakdown",
                 c.job.single()
                     ? BreakdownSubject(c.file)
                     : fmt::format("{} of {}", BreakdownSubject(c.file), c.job.SlowestNote()),
                 Style::kDim);
  const bool gpu = c.HasGpuWork();
  if (!gpu && breakdown.step.other == breakdown.wall) {
    return c.None(
        "Unknown: no range or operator shows what the host does (data, forward, backward, "
        "optimizer, callbacks).");
  }
  c.Meaning(gpu ? "Shows where the step goes. Each moment belongs to one row, so the rows sum to "
                  "the step; the GPU is idle in the light part of a bar."
                : "Shows where the step goes on the host. Each moment belongs to one row, so the "
                  "rows sum to the step.");
  DurationNs largest;
  for (const BreakdownPart& part : kBreakdownParts)
    largest = std::max(largest, breakdown.step.*part.time);
  for (const BreakdownPart& part : kBreakdownParts) {
    const DurationNs time = breakdown.step.*part.time;
    // Without GPU work there is no idle time, so the whole bar is solid.
    const std::optional<DurationNs> busy =
        gpu ? std::optional(breakdown.gpu.*part.time) : std::nullopt;
    BreakdownLine(c, part.label, time, busy, breakdown.wall, largest, Style::kPlain);
  }
  BreakdownLine(c, "step", breakdown.step.Sum(),
                gpu ? std::optional(breakdown.gpu.Sum()) : std::nullopt, breakdown.wall,
                DurationNs(0), Style::kBold);
  if (const auto busy = c.file.ceiling) {
    c.Meaning(fmt::format(
        "Without GPU idle time {} would take {}: {} as fast.",
        c.file.stretch ? "the recording" : "the step", FormatTime(*busy),
        FormatFactor(static_cast<double>(breakdown.wall.ns()) / static_cast<double>(busy->ns()))));
  }
}

}  // namespace headroom
