#include "report/text_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/format.h"
#include "base/statistics.h"
#include "report/phrases.h"
#include "report/text_page.h"

namespace headroom {
namespace {

using Kind = TableColumn::Kind;

Style StyleOf(char grade) {
  return grade <= 'B' ? Style::kGood : grade <= 'D' ? Style::kWarning : Style::kBad;
}

Style StyleOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return Style::kDim;
    case Severity::kWarning:
      return Style::kWarning;
    case Severity::kError:
      return Style::kBad;
  }
  return Style::kPlain;
}

/// Writes the sections of one report to a page.
class Writer {
 public:
  Writer(const JobReport& job, const TextOptions& options)
      : job_(job), file_(job.slowest()), options_(options), page_(options.color, options.charset) {}

  std::string Run() {
    if (options_.only) {
      Write(*options_.only);
    } else {
      for (std::size_t i = 0; i < kSectionNames.size(); ++i) {
        const auto section = static_cast<Section>(i);
        if (HasRows(section)) Write(section);
      }
      Footer();
    }
    return std::move(page_).Take();
  }

 private:
  void Write(Section section) {
    switch (section) {
      case Section::kHealth:
        return Health();
      case Section::kBottleneck:
        return BottleneckSection();
      case Section::kSteps:
        return StepsSection();
      case Section::kBreakdown:
        return Breakdown();
      case Section::kGpu:
        return Gpu();
      case Section::kIdle:
        return Idle();
      case Section::kFindings:
        return Findings();
      case Section::kKernels:
        return Kernels();
      case Section::kOperators:
        return Operators();
      case Section::kLayers:
        return Layers();
      case Section::kLines:
        return Lines();
      case Section::kClasses:
        return Classes();
      case Section::kSyncs:
        return Syncs();
      case Section::kEfficiency:
        return EfficiencySection();
    }
  }

  /// Whether a section says anything in the whole report; asked for alone, it always answers.
  bool HasRows(Section section) const {
    switch (section) {
      case Section::kGpu:
        return !file_.gpu_time.empty() || !job_.single();
      case Section::kIdle:
        return !file_.idle.empty();
      case Section::kKernels:
        return !file_.kernels.empty();
      case Section::kOperators:
        return !file_.operators.empty();
      case Section::kLayers:
        return !file_.layers.empty();
      case Section::kLines:
        return !file_.lines.empty();
      case Section::kClasses:
        return !file_.classes.empty();
      case Section::kSyncs:
        return !file_.syncs.empty();
      case Section::kEfficiency:
        return !file_.gpu_time.empty();
      default:
        return true;
    }
  }

  std::size_t Top() const {
    if (options_.top) return *options_.top;
    return options_.only ? static_cast<std::size_t>(-1) : kTextTop;
  }

  void Meaning(std::string_view sentence) {
    page_.Paragraph("  ", sentence, Style::kPlain, Style::kDim);
  }

  void None(std::string_view why) { page_.Paragraph("  ", why); }

  /// What shows all rows of a section that shows only some.
  std::string HowToSeeAll(Section section) const {
    return options_.only ? "drop --top" : fmt::format("--only {}", NameOf(section));
  }

  void More(std::size_t shown, std::size_t all, Section section) {
    if (shown >= all) return;
    page_.Line({{fmt::format("  {} more: {}", FormatCount(static_cast<std::int64_t>(all - shown)),
                             HowToSeeAll(section)),
                 Style::kDim}});
  }

  // --- health
  // --------------------------------------------------------------------------------------------------------

  void Health() {
    page_.Heading(fmt::format("Trace health: {}", job_.grade()), "", Style::kPlain);
    page_.Paragraph("  ", GradeSentence(job_.grade()), Style::kPlain, StyleOf(job_.grade()));
    if (job_.single()) {
      Read(file_);
    } else {
      Ranks();
    }
    Issues();
  }

  void Read(const TraceReport& file) {
    const InputInfo& input = file.input;
    page_.Line({{"  file     ", Style::kDim},
                {CutMiddle(Printable(input.path, page_.charset()), 87, page_.charset())}});
    page_.Paragraph("  read     ", InputText(input), Style::kDim);
    for (const DeviceRow& row : DeviceRows(input)) {
      page_.Paragraph(fmt::format("  {:<8} ", row.numbers), row.text, Style::kDim);
    }
  }

  void Ranks() {
    std::vector<std::vector<Span>> rows;
    for (const TraceReport& file : job_.files()) {
      rows.push_back({{file.input.rank ? fmt::format("{}", *file.input.rank) : "-"},
                      {file.input.path},
                      {FormatBytes(static_cast<double>(file.input.bytes))},
                      {FormatCount(file.input.events)},
                      {std::string(1, file.health.grade), StyleOf(file.health.grade)},
                      {file.steps.p50 ? FormatMs(*file.steps.p50) : "-"},
                      {std::string(NameOf(file.bottleneck.verdict)),
                       &file == &file_ ? Style::kBold : Style::kPlain}});
    }
    page_.Table({{"rank"},
                 {"file", Kind::kName},
                 {"size"},
                 {"events"},
                 {"grade", Kind::kText},
                 {"median step"},
                 {"held back by", Kind::kText}},
                rows);
  }

  /// One entry a kind; with several files the text of the one that has most of it stands for all.
  void Issues() {
    std::vector<std::vector<const RowOfFile<HealthIssue>*>> kinds;
    for (const RowOfFile<HealthIssue>& issue : job_.issues()) {
      const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
        return kind.front()->row->issue == issue.row->issue;
      });
      if (same == kinds.end()) {
        kinds.push_back({&issue});
      } else {
        same->push_back(&issue);
      }
    }
    for (const auto& kind : kinds) Issue(kind);
  }

  void Issue(const std::vector<const RowOfFile<HealthIssue>*>& kind) {
    const RowOfFile<HealthIssue>* most = kind.front();
    std::int64_t count = 0;
    std::string ranks;
    for (const RowOfFile<HealthIssue>* issue : kind) {
      count += issue->row->count;
      if (issue->row->count > most->row->count) most = issue;
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", issue->rank().value_or(0));
    }
    constexpr std::size_t kManyRanks = 8;
    const ImportIssueDoc& doc = DocOf(most->row->issue);
    std::vector<Span> head = {{fmt::format("  {:<9}", NameOf(doc.severity)), StyleOf(doc.severity)},
                              {std::string(doc.code)}};
    if (count > static_cast<std::int64_t>(kind.size()))
      head.push_back({fmt::format("  {} times", FormatCount(count))});
    if (!job_.single()) {
      head.push_back({kind.size() > kManyRanks
                          ? fmt::format("  {} ranks", kind.size())
                          : fmt::format("  rank{} {}", kind.size() == 1 ? "" : "s", ranks),
                      Style::kDim});
    }
    page_.Line(head);
    const bool alike = std::all_of(kind.begin(), kind.end(), [&](const auto* issue) {
      return issue->row->detail == most->row->detail;
    });
    const std::string detail =
        Sentence(most->row->detail.empty() ? doc.sentence : most->row->detail);
    page_.Paragraph(std::string(11, ' '),
                    alike ? detail : fmt::format("On {}: {}", RankName(*most->file), detail));
    if (!most->row->voids.empty()) {
      page_.Paragraph("           takes away: ", Join(most->row->voids), Style::kWarning);
    }
  }

  // --- verdict and steps
  // ---------------------------------------------------------------------------------------------

  void BottleneckSection() {
    const Bottleneck& bottleneck = file_.bottleneck;
    page_.Heading(fmt::format("Bottleneck: {}", NameOf(bottleneck.verdict)), job_.SlowestNote(),
                  Style::kDim);
    page_.Paragraph("  ", VerdictText(bottleneck), Style::kPlain, Style::kBold);
    for (const std::string& evidence : bottleneck.evidence)
      page_.Paragraph("  - ", Sentence(evidence));
    if (file_.causes.empty()) return;
    page_.Blank();
    Meaning("What each moment of the median step is spent on or waits for:");
    DurationNs largest;
    for (const CauseRow& cause : file_.causes) largest = std::max(largest, cause.time);
    for (const CauseRow& cause : file_.causes) {
      if (cause.time.ns() == 0 && !options_.only) continue;
      std::vector<Span> line = {
          {fmt::format("  {:<17}{:>11}{:>9}  ", cause.name, FormatMs(cause.time),
                       FormatPercent(cause.share_pct))}};
      for (Span& span : page_.Bar(cause.time.ms(), cause.time.ms(), largest.ms(), 20)) {
        line.push_back(std::move(span));
      }
      line.push_back({fmt::format("  {}", CauseText(cause.name)), Style::kDim});
      page_.Line(line);
    }
  }

  void StepsSection() {
    const StepSummary& summary = job_.steps();
    if (!summary.p50) {
      page_.Heading("Step time", "", Style::kPlain);
      return None(
          "No steps: nothing marks an iteration, and nothing repeats. Call prof.step() after each "
          "iteration, or name "
          "the range that begins each with --step-marker.");
    }
    page_.Heading(fmt::format("Step time: {}", FormatMs(*summary.p50)), "median", Style::kDim);
    Meaning(AnyGpuWork()
                ? "One step is one iteration of training. It ends where its GPU work ends."
                : "One step is one iteration of training, as long as the host takes for it: no GPU "
                  "work was recorded.");
    std::string spread = fmt::format(
        "{}, from {} to {}, mean {}", Plural(static_cast<std::int64_t>(summary.count), "step"),
        FormatMs(*summary.min), FormatMs(*summary.max), FormatMs(*summary.mean));
    if (summary.count == 1) spread = "1 step";
    page_.Paragraph("  spread   ", spread, Style::kDim);
    page_.Paragraph("  source   ", StepSourceText(file_.steps), Style::kDim);
    if (file_.steps.tasks_before_first + file_.steps.tasks_outside > 0 && job_.single()) {
      page_.Paragraph(
          "  outside  ",
          fmt::format("{} launched before the first step and {} between or after steps: in no step",
                      Plural(file_.steps.tasks_before_first, "GPU task"),
                      FormatCount(file_.steps.tasks_outside)),
          Style::kDim);
    }
    StepTable();
  }

  void StepTable() {
    struct Entry {
      const StepRow* row;
      const TraceReport* file;
    };
    std::vector<Entry> entries;
    for (const TraceReport& file : job_.files()) {
      for (const StepRow& row : file.steps.list) entries.push_back({&row, &file});
    }
    const std::size_t all = entries.size();
    if (all > Top()) {
      // Of many steps, the slow ones are worth a look.
      std::stable_sort(entries.begin(), entries.end(),
                       [](const Entry& a, const Entry& b) { return a.row->wall > b.row->wall; });
      entries.resize(Top());
    }
    const bool any_gpu = AnyGpuWork();
    const bool any_host = std::any_of(entries.begin(), entries.end(),
                                      [](const Entry& entry) { return entry.row->host; });
    page_.Blank();
    std::vector<std::vector<Span>> rows;
    for (const Entry& entry : entries) {
      const StepRow& row = *entry.row;
      const bool ranked = !job_.single() && entry.file->input.rank;
      const bool median =
          file_.breakdown && entry.file == &file_ && row.index == file_.breakdown->step_index;
      // A column that is empty in every row is left out.
      const auto of_gpu = [&](std::string text) {
        return !any_gpu ? "" : row.gpu_busy ? std::move(text) : "-";
      };
      rows.push_back({{ranked ? fmt::format("{}", *entry.file->input.rank) : ""},
                      {fmt::format("{}", row.index)},
                      // Clocks of two files are not comparable.
                      {job_.single() ? FormatMs(row.start - entry.file->trace_start) : ""},
                      {FormatMs(row.wall), Style::kBold},
                      {of_gpu(FormatMs(row.gpu_busy.value_or(DurationNs(0))))},
                      {of_gpu(FormatMs(row.host_wait))},
                      {!any_host  ? ""
                       : row.host ? FormatMs(*row.host)
                                  : "-"},
                      {of_gpu(FormatMs(row.profiler_cost))},
                      {of_gpu(fmt::format("{:.1f}", row.queue_depth_mean))},
                      {of_gpu(FormatCount(row.queue_depth_max))},
                      {median ? "median" : ""}});
    }
    page_.Table({{"rank"},
                 {"step"},
                 {"start"},
                 {"time"},
                 {"GPU busy"},
                 {"host late"},
                 {"host"},
                 {"profiler"},
                 {"queue"},
                 {"most"},
                 {"", Kind::kText}},
                rows);
    if (all > entries.size()) {
      page_.Line(
          {{fmt::format("  the slowest {} of {}; for all: {}", entries.size(),
                        FormatCount(static_cast<std::int64_t>(all)), HowToSeeAll(Section::kSteps)),
            Style::kDim}});
    }
    if (any_gpu) {
      Meaning(
          "host late: GPU idle until the host launched the next task; includes idle behind "
          "blocking calls. host: the step on the host. profiler: rough estimate of what recording "
          "adds while the GPU waits for the host. queue, most: tasks launched but not started, "
          "mean and most.");
    } else if (any_host) {
      Meaning("host: the step on the host.");
    }
  }

  // --- where the time goes
  // -------------------------------------------------------------------------------------------

  void Breakdown() {
    if (!file_.breakdown) {
      page_.Heading("Step breakdown", "", Style::kPlain);
      return None("Not known: it needs steps and host events.");
    }
    const StepBreakdown& breakdown = *file_.breakdown;
    page_.Heading("Step breakdown",
                  job_.single() ? fmt::format("median step ({})", breakdown.step_index)
                                : fmt::format("median step ({}) of {}", breakdown.step_index,
                                              job_.SlowestNote()),
                  Style::kDim);
    const bool gpu = HasGpuWork();
    Meaning(gpu ? "Where the step goes. Each moment belongs to one row, so the rows sum to the "
                  "step; the GPU is idle in the light part of a bar."
                : "Where the step goes on the host. Each moment belongs to one row, so the rows "
                  "sum to the step.");
    DurationNs largest;
    for (const PartName& part : kStepParts) largest = std::max(largest, breakdown.step.*part.part);
    for (const PartName& part : kStepParts) {
      const DurationNs time = breakdown.step.*part.part;
      // Without GPU work nothing is idle: the whole bar is solid.
      const std::optional<DurationNs> busy =
          gpu ? std::optional(breakdown.gpu.*part.part) : std::nullopt;
      BreakdownLine(part.name, time, busy, breakdown.wall, largest, Style::kPlain);
    }
    BreakdownLine("step", breakdown.step.Sum(),
                  gpu ? std::optional(breakdown.gpu.Sum()) : std::nullopt, breakdown.wall,
                  DurationNs(0), Style::kBold);
    if (const auto busy = GpuBusyOfStep(file_); busy && file_.steps.p50) {
      Meaning(fmt::format("Were the GPU never idle, the step would take {}: {} as fast.",
                          FormatMs(*busy),
                          FormatFactor(static_cast<double>(file_.steps.p50->ns()) /
                                       static_cast<double>(busy->ns()))));
    }
  }

  void BreakdownLine(std::string_view name, DurationNs time, std::optional<DurationNs> busy,
                     DurationNs wall, DurationNs largest, Style style) {
    constexpr std::size_t kBarWidth = 34;
    std::vector<Span> line = {{fmt::format("  {:<14}{:>11}{:>9}  ", name, FormatMs(time),
                                           FormatPercent(SharePct(time, wall))),
                               time.ns() == 0 ? Style::kDim : style}};
    for (Span& span : page_.Bar(busy.value_or(time).ms(), time.ms(), largest.ms(), kBarWidth))
      line.push_back(std::move(span));
    if (busy) {
      line.push_back({fmt::format("  GPU busy {:>11}", FormatMs(*busy)),
                      time.ns() == 0 ? Style::kDim : style});
    }
    page_.Line(line);
  }

  void Gpu() {
    page_.Heading("GPU time", "whole trace", Style::kDim);
    Meaning(
        "What each GPU did from its first to its last task. Exposed: while nothing more useful "
        "ran.");
    std::vector<const GpuTimeRow*> rows;
    std::vector<const TraceReport*> files;
    for (const TraceReport& file : job_.files()) {
      for (const GpuTimeRow& row : file.gpu_time) {
        rows.push_back(&row);
        files.push_back(&file);
      }
    }
    if (rows.empty()) return None("No GPU work was recorded.");
    if (rows.size() == 1) return OneGpu(*rows.front());
    // Figures down, GPUs across, so that any number of GPUs fits.
    constexpr std::size_t kAcross = 5;
    for (std::size_t begin = 0; begin < rows.size(); begin += kAcross) {
      const std::size_t end = std::min(begin + kAcross, rows.size());
      std::vector<TableColumn> columns = {{"", Kind::kText}};
      for (std::size_t i = begin; i < end; ++i) {
        columns.push_back({job_.single() || !files[i]->input.rank
                               ? fmt::format("GPU {}", NumberText(rows[i]->device))
                               : fmt::format("rank {} GPU {}", *files[i]->input.rank,
                                             NumberText(rows[i]->device))});
      }
      std::vector<std::vector<Span>> table;
      const auto add = [&](const char* name, auto&& cell) {
        table.push_back({{name}});
        for (std::size_t i = begin; i < end; ++i) table.back().push_back({cell(*rows[i])});
      };
      add("span", [](const GpuTimeRow& r) { return FormatMs(r.span); });
      add("busy", [](const GpuTimeRow& r) { return FormatMs(r.busy); });
      add("  of the span",
          [](const GpuTimeRow& r) { return FormatPercent(SharePct(r.busy, r.span)); });
      add("compute", [](const GpuTimeRow& r) { return FormatMs(r.compute); });
      add("communication", [](const GpuTimeRow& r) { return FormatMs(r.communication); });
      add("  exposed", [](const GpuTimeRow& r) { return FormatMs(r.exposed_communication); });
      add("  overlapped", [](const GpuTimeRow& r) {
        return r.overlap_communication_pct ? FormatPercent(*r.overlap_communication_pct)
                                           : std::string("-");
      });
      add("copies and sets", [](const GpuTimeRow& r) { return FormatMs(r.memory); });
      add("  exposed", [](const GpuTimeRow& r) { return FormatMs(r.exposed_memory); });
      add("idle", [](const GpuTimeRow& r) { return FormatMs(r.idle); });
      add("  of the span",
          [](const GpuTimeRow& r) { return FormatPercent(SharePct(r.idle, r.span)); });
      page_.Table(columns, table);
    }
  }

  void OneGpu(const GpuTimeRow& row) {
    const auto line = [&](std::string_view name, DurationNs time, std::string_view note) {
      constexpr std::size_t kBarWidth = 34;
      const Style style = time.ns() == 0 ? Style::kDim : Style::kPlain;
      std::vector<Span> spans = {{fmt::format("  {:<16}{:>11}{:>9}  ", name, FormatMs(time),
                                              FormatPercent(SharePct(time, row.span))),
                                  style}};
      for (Span& span : page_.Bar(time.ms(), time.ms(), row.span.ms(), kBarWidth))
        spans.push_back(std::move(span));
      spans.push_back({fmt::format("  {}", note), Style::kDim});
      page_.Line(spans);
    };
    page_.Line({{fmt::format("  {:<16}{:>11}", fmt::format("GPU {} span", NumberText(row.device)),
                             FormatMs(row.span))}});
    line("busy", row.busy, "");
    line("compute", row.compute, "");
    line("communication", row.communication,
         row.overlap_communication_pct
             ? fmt::format("{} overlapped", FormatPercent(*row.overlap_communication_pct))
             : "");
    if (row.communication.ns() != 0) line("  exposed", row.exposed_communication, "");
    line("copies and sets", row.memory, "");
    if (row.memory.ns() != 0) line("  exposed", row.exposed_memory, "");
    line("idle", row.idle, "");
  }

  void Idle() {
    page_.Heading("Idle causes", "by stream, whole trace", Style::kDim);
    Meaning(
        "Why a stream stood still. Host: the next task was launched too late. Kernel: it was "
        "queued and waited for other GPU work. Other: its launch is not known. Other streams may "
        "keep the GPU busy meanwhile.");
    struct Entry {
      const IdleRow* row;
      const TraceReport* file;
      DurationNs total;
    };
    std::vector<Entry> entries;
    for (const TraceReport& file : job_.files()) {
      for (const IdleRow& row : file.idle)
        entries.push_back({&row, &file, row.host_wait + row.kernel_wait + row.other});
    }
    if (entries.empty()) return None("No GPU work was recorded.");
    const std::size_t all = entries.size();
    if (all > Top()) {
      std::stable_sort(entries.begin(), entries.end(),
                       [](const Entry& a, const Entry& b) { return a.total > b.total; });
      entries.resize(Top());
    }
    std::vector<std::vector<Span>> rows;
    for (const Entry& entry : entries) {
      const auto share = [&](DurationNs time) {
        return entry.total.ns() == 0 ? std::string("-")
                                     : FormatPercent(SharePct(time, entry.total));
      };
      rows.push_back(
          {{job_.single() || !entry.file->input.rank ? ""
                                                     : fmt::format("{}", *entry.file->input.rank)},
           {NumberText(entry.row->device)},
           {NumberText(entry.row->stream)},
           {FormatMs(entry.row->host_wait)},
           {share(entry.row->host_wait)},
           {FormatMs(entry.row->kernel_wait)},
           {share(entry.row->kernel_wait)},
           {FormatMs(entry.row->other)},
           {share(entry.row->other)},
           {FormatMs(entry.total), Style::kBold}});
    }
    page_.Table({{"rank"},
                 {"GPU"},
                 {"stream"},
                 {"waits for host"},
                 {"share"},
                 {"for kernel"},
                 {"share"},
                 {"other"},
                 {"share"},
                 {"idle"}},
                rows);
    More(entries.size(), all, Section::kIdle);
  }

  // --- findings
  // ------------------------------------------------------------------------------------------------------

  void Findings() {
    page_.Heading("Findings", "", Style::kPlain);
    if (job_.findings().empty())
      return None("None: nothing stands out, or the trace does not carry a finding.");
    Meaning(
        "What to change first: ranked by the time that each holds. They overlap: do not add them "
        "up.");
    int number = 0;
    for (const RowOfFile<Finding>& finding : job_.findings()) {
      std::string title = Sentence(finding.row->title);
      if (!job_.single()) title += fmt::format(" ({})", RankName(*finding.file));
      if (number > 0) page_.Blank();
      page_.Paragraph(fmt::format("  {}. ", ++number), title, Style::kBold, Style::kBold);
      if (finding.row->share_pct) {
        page_.Line(
            {{"     holds  ", Style::kDim},
             {fmt::format("{} of the median step", FormatPercent(*finding.row->share_pct))}});
      }
      bool first = true;
      for (const std::string& evidence : finding.row->evidence) {
        page_.Paragraph(first ? "     why    " : "            ", Sentence(evidence), Style::kDim);
        first = false;
      }
      page_.Paragraph("     do     ", Sentence(finding.row->action), Style::kDim, Style::kGood);
      page_.Command("     check  ", CheckWords(*finding.row, *finding.file, options_), Style::kDim);
    }
  }

  // --- tables
  // --------------------------------------------------------------------------------------------------------

  static std::string Share(double percent) { return FormatPercent(percent); }

  static std::string OptionalMs(const std::optional<DurationNs>& duration) {
    return duration ? FormatMs(*duration) : "-";
  }

  bool HasGpuWork() const { return !file_.gpu_time.empty(); }

  bool AnyGpuWork() const {
    return std::any_of(job_.files().begin(), job_.files().end(),
                       [](const TraceReport& file) { return !file.gpu_time.empty(); });
  }

  /// The roofline's word for a row: "compute 63 %".
  static std::string Bound(const TimeRow& row) {
    if (row.bound.empty()) return "";
    return row.peak_pct ? fmt::format("{} {}", row.bound, FormatPercent(*row.peak_pct)) : row.bound;
  }

  /// Heading of a table of the slowest rank; false where it has no rows.
  template <typename Row>
  bool TableHeading(std::string_view title, const std::vector<Row>& rows, std::string_view meaning,
                    std::string_view none) {
    const std::size_t shown = std::min(rows.size(), Top());
    std::string note = shown < rows.size()
                           ? fmt::format("top {} of {}", shown,
                                         FormatCount(static_cast<std::int64_t>(rows.size())))
                           : "";
    if (!job_.single()) note += (note.empty() ? "" : ", ") + job_.SlowestNote();
    page_.Heading(title, note, Style::kDim);
    if (rows.empty()) {
      None(none);
      return false;
    }
    Meaning(meaning);
    return true;
  }

  void Kernels() {
    if (!TableHeading("Kernels", file_.kernels,
                      "GPU time by kernel, copy or set. TC: whether its name says tensor cores.",
                      "No GPU work was recorded.")) {
      return;
    }
    std::vector<std::vector<Span>> rows;
    for (std::size_t i = 0; i < std::min(file_.kernels.size(), Top()); ++i) {
      const TimeRow& row = file_.kernels[i];
      rows.push_back({{row.name},
                      {FormatMs(row.total), Style::kBold},
                      {Share(row.share_pct)},
                      {FormatCount(row.count)},
                      {MeanText(row)},
                      {row.kind},
                      {row.tensor_cores == "unknown" ? "?" : row.tensor_cores},
                      {Bound(row)}});
    }
    page_.Table({{"kernel", Kind::kKernel},
                 {"GPU time"},
                 {"share"},
                 {"calls"},
                 {"mean"},
                 {"class", Kind::kText},
                 {"TC", Kind::kText},
                 {"bound", Kind::kText}},
                rows);
  }

  void Operators() {
    if (!TableHeading("Operators", file_.operators,
                      HasGpuWork() ? "GPU time by the innermost framework operator that launched "
                                     "it. bound: what limits it on this GPU, and how near it comes."
                                   : "The operators that the host ran.",
                      "No operators were recorded (ProfilerActivity.CPU).")) {
      return;
    }
    std::vector<std::vector<Span>> rows;
    for (std::size_t i = 0; i < std::min(file_.operators.size(), Top()); ++i) {
      const TimeRow& row = file_.operators[i];
      rows.push_back({{row.name},
                      {HasGpuWork() ? FormatMs(row.total) : "", Style::kBold},
                      {HasGpuWork() ? Share(row.share_pct) : ""},
                      {FormatCount(row.count)},
                      {OptionalMs(row.self_host)},
                      {Bound(row)}});
    }
    page_.Table({{"operator", Kind::kName},
                 {"GPU time"},
                 {"share"},
                 {"calls"},
                 {"own host time"},
                 {"bound", Kind::kText}},
                rows);
  }

  void Layers() {
    if (!TableHeading(
            "Layers", file_.layers, "GPU time by layer of the model, its backward pass included.",
            "No layers were recorded: use with_stack=True, or record_function(\"layer::NAME\") "
            "around each module.")) {
      return;
    }
    std::vector<std::vector<Span>> rows;
    for (std::size_t i = 0; i < std::min(file_.layers.size(), Top()); ++i) {
      const TimeRow& row = file_.layers[i];
      rows.push_back({{row.name},
                      {HasGpuWork() ? FormatMs(row.total) : "", Style::kBold},
                      {HasGpuWork() ? Share(row.share_pct) : ""},
                      {FormatCount(row.count)},
                      {OptionalMs(row.forward)},
                      {OptionalMs(row.backward)},
                      {Bound(row)}});
    }
    page_.Table({{"layer", Kind::kName},
                 {"GPU time"},
                 {"share"},
                 {"calls"},
                 {"forward"},
                 {"backward"},
                 {"bound", Kind::kText}},
                rows);
  }

  void Lines() {
    if (!TableHeading(
            "Source lines", file_.lines,
            "GPU time by the line of your program that caused it, its backward pass included.",
            "No Python frames were recorded (with_stack=True).")) {
      return;
    }
    std::vector<std::vector<Span>> rows;
    for (std::size_t i = 0; i < std::min(file_.lines.size(), Top()); ++i) {
      const LineRow& row = file_.lines[i];
      rows.push_back({{row.location},
                      {FormatMs(row.total), Style::kBold},
                      {Share(row.share_pct)},
                      {FormatCount(row.count)},
                      {FormatMs(row.forward)},
                      {FormatMs(row.backward)}});
    }
    page_.Table(
        {{"line", Kind::kName}, {"GPU time"}, {"share"}, {"calls"}, {"forward"}, {"backward"}},
        rows);
  }

  void Classes() {
    if (!TableHeading("Kernel classes", file_.classes, "GPU time by kind of work.",
                      "No GPU work was recorded."))
      return;
    DurationNs largest;
    for (const ClassRow& row : file_.classes) largest = std::max(largest, row.total);
    for (std::size_t i = 0; i < std::min(file_.classes.size(), Top()); ++i) {
      const ClassRow& row = file_.classes[i];
      const std::string name = CutMiddle(Printable(row.name, page_.charset()), 20, page_.charset());
      std::vector<Span> line = {
          {fmt::format("  {}{}{:>11}{:>9}{:>9}  ", name, std::string(21 - DisplayWidth(name), ' '),
                       FormatMs(row.total), FormatPercent(row.share_pct), FormatCount(row.count))}};
      for (Span& span : page_.Bar(row.total.ms(), row.total.ms(), largest.ms(), 34))
        line.push_back(std::move(span));
      page_.Line(line);
    }
    More(std::min(file_.classes.size(), Top()), file_.classes.size(), Section::kClasses);
  }

  void Syncs() {
    if (!TableHeading("Synchronizations", file_.syncs,
                      "Calls that block the host until the GPU is done. Each costs the GPU idle "
                      "that follows it, not the time that it waits.",
                      "No blocking calls were recorded.")) {
      return;
    }
    std::vector<std::vector<Span>> rows;
    for (std::size_t i = 0; i < std::min(file_.syncs.size(), Top()); ++i) {
      const SyncRow& row = file_.syncs[i];
      rows.push_back({{row.name},
                      {row.where.empty() ? "?" : row.where},
                      {FormatCount(row.count)},
                      {FormatMs(row.host)},
                      {FormatMs(row.gpu_idle), Style::kBold}});
    }
    page_.Table({{"call", Kind::kName},
                 {"called by", Kind::kName},
                 {"calls"},
                 {"host blocked"},
                 {"GPU idle after"}},
                rows);
  }

  // --- efficiency
  // ----------------------------------------------------------------------------------------------------

  void EfficiencySection() {
    const Efficiency& e = file_.efficiency;
    page_.Heading("Efficiency", job_.SlowestNote(), Style::kDim);
    Meaning("How much of what the GPU could compute the steps do compute.");
    const auto row = [&](std::string_view name, const std::optional<std::string>& figure,
                         const std::string& note) {
      if (!figure)
        return page_.Line({{fmt::format("  {:<20}{:>14}", name, "unknown"), Style::kDim}});
      page_.Paragraph(fmt::format("  {:<20}{:>14}  ", name, *figure), note.empty() ? " " : note,
                      Style::kPlain, Style::kDim);
    };
    const auto percent = [](const std::optional<double>& value) {
      return value ? std::optional(FormatPercent(*value)) : std::nullopt;
    };
    const auto flops = [](const std::optional<double>& value, std::string_view unit) {
      return value ? std::optional(FormatFlops(*value, unit)) : std::nullopt;
    };
    row("GPU", "", e.device_name.empty() ? "unknown: no specification for it" : e.device_name);
    row("FLOPs per step", flops(e.flops_per_step, "FLOP"), "of operators whose shapes are known");
    row("peak",
        flops(e.peak_tflops ? std::optional(*e.peak_tflops * 1e12) : std::nullopt, "FLOP/s"),
        fmt::format("dense, {}", e.math_dtype.empty() ? "type unknown" : e.math_dtype));
    row("MFU", percent(e.mfu_pct), e.mfu_formula);
    if (!e.error.empty()) page_.Paragraph("  error: ", Sentence(e.error), Style::kBad, Style::kBad);
    row("costed", percent(e.costed_pct), "share of GPU time whose FLOPs and bytes are known");
    row("compute-bound", percent(e.compute_bound_pct), "share of GPU time limited by arithmetic");
    row("memory-bound", percent(e.memory_bound_pct), "share of GPU time limited by device memory");
    row("tensor-core work", percent(e.tensor_core_eligible_pct),
        "share of GPU time: products, convolutions, attention");
    row("on tensor cores", percent(e.tensor_core_used_pct), "of that, by kernel name");
    row("unclassified", FormatPercent(e.unclassified_pct),
        "share of GPU time in kernels that no rule knows");
  }

  void Footer() {
    page_.Blank();
    page_.Line(
        {{"All rows: --only SECTION or --top N.  For programs: --json, --csv DIR.  For a pull "
          "request: --md.",
          Style::kDim}});
  }

  const JobReport& job_;
  const TraceReport& file_;
  const TextOptions& options_;
  TextPage page_;
};

}  // namespace

std::string RenderText(std::span<const TraceReport> files, const TextOptions& options) {
  const JobReport job(files);
  return Writer(job, options).Run();
}

}  // namespace headroom
