// Writes the first screen of `headroom report`.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/steps/step_time.h"
#include "analysis/verdict/bottleneck.h"
#include "analysis/verdict/remedies.h"
#include "answers/report/phrases.h"
#include "answers/report/ranks_phrases.h"
#include "answers/report/text.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/text_page.h"
#include "store/trace_formats.h"

namespace headroom {
namespace {

constexpr std::size_t kScreenLines = 24;
constexpr std::size_t kMaxActions = 3;
constexpr std::size_t kMinPartRows = 4, kMaxPartRows = 6;
/// Parts and actions below this share of the step are not shown.
constexpr double kMinSharePct = 1;

std::string_view GradeWord(char grade) {
  switch (grade) {
    case 'A':
      return "good";
    case 'B':
      return "usable";
    case 'C':
      return "incomplete";
    case 'D':
      return "poor";
    case 'E':
      return "damaged";
    default:
      return "empty";
  }
}

Style GradeStyle(char grade) {
  return grade <= 'B' ? Style::kGood : grade <= 'D' ? Style::kWarning : Style::kBad;
}

/// Returns "H200" for "NVIDIA H200".
std::string_view WithoutVendor(std::string_view name) {
  for (const std::string_view vendor : {"NVIDIA ", "AMD ", "Instinct ", "GeForce "}) {
    if (name.starts_with(vendor)) name.remove_prefix(vendor.size());
  }
  return name;
}

std::size_t Left(std::size_t whole, std::size_t used) { return whole - std::min(used, whole); }

std::string Spaces(std::size_t count) { return std::string(count, ' '); }

/// A row of the bar chart: a part of the step. Shares are percent of the step.
struct Part {
  std::string label;
  double share_pct = 0;
  double busy_pct = 0;
  double begin_pct = 0;  ///< Position at which the bar begins: the end of the previous part.
};

class Summary {
 public:
  Summary(std::span<const TraceReport> files, const TextOptions& options)
      : job_(files), file_(job_.slowest()), options_(options) {}

  std::string Take() && {
    const std::string head = Section([this](TextPage& page) { WriteHead(page); });
    const std::string verdict = Section([this](TextPage& page) { WriteVerdict(page); });
    const std::string step = Section([this](TextPage& page) { WriteStep(page); });
    const std::string end = Section([this](TextPage& page) { WriteEnd(page); });
    const std::size_t fixed = Lines({head, verdict, step, end});
    // Commands with long paths take more lines. Then fewer actions and parts are shown.
    std::string actions, parts;
    for (std::size_t count = kMaxActions + 1; count-- > 0;) {
      actions = Section([&](TextPage& page) { WriteActions(page, count); });
      const std::size_t room = Left(kScreenLines, fixed + Lines({actions}) + 1);
      parts = Section(
          [&](TextPage& page) { WriteParts(page, std::clamp(room, kMinPartRows, kMaxPartRows)); });
      if (fixed + Lines({parts, actions}) <= kScreenLines + 1) break;
    }
    std::string text;
    for (const std::string& section : {head, verdict, step, parts, actions, end}) {
      if (!section.empty()) text += (text.empty() ? "" : "\n") + section;
    }
    return text;
  }

 private:
  /// Returns the number of lines of sections, including the blank lines between them.
  static std::size_t Lines(std::initializer_list<std::string_view> sections) {
    std::ptrdiff_t lines = 0;
    for (const std::string_view section : sections)
      if (!section.empty()) lines += std::count(section.begin(), section.end(), '\n') + 1;
    return static_cast<std::size_t>(lines);
  }

  template <typename Write>
  std::string Section(Write&& write) const {
    TextPage page(options_.style);
    write(page);
    return std::move(page).Take();
  }

  std::string Gpus() const {
    const std::vector<DeviceInfo>& devices = file_.input.devices;
    const std::size_t used = file_.gpu_time.size();
    if (used == 0) return "no GPU work";
    const std::string_view name =
        devices.empty() ? "" : WithoutVendor(NameOfModel(devices.front()));
    if (!job_.single()) return std::string(name);
    return fmt::format("{} x {}", used, name.empty() ? "GPU" : name);
  }

  static std::string_view NameOfModel(const DeviceInfo& device) {
    return device.told_by_size || device.name.empty() ? device.model : device.name;
  }

  std::string Steps() const {
    const StepSummary& steps = job_.steps();
    if (steps.count == 0) return "no steps";
    std::string text = Plural(static_cast<std::int64_t>(file_.steps.list.size()), "step");
    if (steps.source == StepSource::kInferred) text += " (inferred)";
    return text;
  }

  void WriteHead(TextPage& page) const {
    const Charset charset = options_.style.charset;
    std::string facts(RecorderName(file_.input.recorded_as.empty() ? file_.input.format
                                                                   : file_.input.recorded_as));
    if (!job_.single()) facts = fmt::format("{}, {} ranks", facts, job_.files().size());
    for (const std::string& fact : {Gpus(), Steps()}) {
      if (!fact.empty()) facts += ", " + fact;
    }
    const std::string grade = fmt::format("trace: {} ({})", GradeWord(job_.grade()), job_.grade());
    constexpr std::size_t kGap = 2, kMinName = 16;
    const std::size_t width = options_.style.width;
    facts = CutMiddle(Printable(facts, charset), width, charset);
    const std::string& whole =
        job_.single() || options_.inputs.empty() ? file_.input.path : options_.inputs.front();
    const std::string path = Printable(whole, charset);
    // Facts get a separate line if they would cut the file's name.
    const std::size_t file_name = DisplayWidth(path.substr(path.rfind('/') + 1));
    const std::size_t taken = grade.size() + DisplayWidth(facts) + 2 * kGap;
    const bool beside = taken + std::max(file_name + kGap, kMinName) <= width;
    const std::size_t room = Left(width, beside ? taken : grade.size() + kGap);
    const std::string name = CutPath(path, room, charset);
    page.Line({{name, Style::kBold},
               {beside ? Spaces(kGap) + facts : "", Style::kDim},
               {Spaces(kGap + Left(room, DisplayWidth(name)))},
               {grade, GradeStyle(job_.grade())}});
    if (!beside) page.Line({{facts, Style::kDim}});
  }

  void WriteVerdict(TextPage& page) const {
    std::string text = VerdictSentence(file_.bottleneck);
    if (!job_.single() && text.ends_with(")."))
      text.insert(text.size() - 2, "; " + job_.SlowestNote());
    else if (!job_.single())
      text.insert(text.size() - 1, fmt::format(" ({})", job_.SlowestNote()));
    page.Paragraph("", text, Style::kPlain, Style::kBold);
    if (const std::string& reason = file_.bottleneck.confidence_reason; !reason.empty())
      page.Paragraph("", fmt::format("Low confidence: {}.", reason));
    if (options_.ranks != nullptr && options_.ranks->waits.pattern != StragglerPattern::kNone)
      page.Paragraph("", RanksVerdict(*options_.ranks));
    constexpr double kWorthSayingShare = 0.05;
    if (options_.ranks != nullptr && options_.ranks->pipeline &&
        options_.ranks->pipeline->bubble_share >= kWorthSayingShare)
      page.Paragraph("", PipelineVerdict(*options_.ranks->pipeline));
    if (file_.bottleneck.verdict == Verdict::kUnknown && !file_.bottleneck.evidence.empty())
      page.Paragraph("", Sentence(file_.bottleneck.evidence.front()));
  }

  /// Returns the GPU busy time of the steps that the step time averages. Without steps, returns the
  /// GPU busy time of the recording.
  std::optional<DurationNs> GpuBusy() const {
    if (file_.gpu_time.empty()) return std::nullopt;
    if (const std::optional<StepTime> time = StepTimeOf(file_.steps)) return time->gpu_busy;
    if (file_.breakdown) return file_.breakdown->gpu.Sum();
    return std::nullopt;
  }

  /// Writes the step time and what belongs to it. Figures without the profiler's cost and recorded
  /// figures are on different lines.
  void WriteStep(TextPage& page) const {
    const std::optional<DurationNs> recorded =
        job_.steps().step_time
            ? job_.steps().step_time
            : (file_.stretch ? std::optional(file_.stretch->wall) : std::nullopt);
    if (!recorded) {
      if (!file_.gpu_time.empty()) {
        const GpuTimeRow& row = file_.gpu_time.front();
        page.Paragraph(
            "", fmt::format("GPU busy {} of {}.", FormatTime(row.busy), FormatTime(row.span)));
      }
      WriteFacts(page, {MfuText(), RateText(), TokensText(), MemoryText()});
      return;
    }
    const std::string_view what = job_.steps().step_time   ? "Step"
                                  : file_.gpu_time.empty() ? "Recording"
                                                           : "GPU work spans";
    const MsInterval base = *job_.Base();
    const std::string between = base.high > base.low
                                    ? FormatTimeBetween(base.mid, base.low, base.high)
                                    : FormatTime(*recorded);
    std::string busy;
    if (const std::optional<DurationNs> time = GpuBusy())
      busy = fmt::format("GPU busy {}", FormatTime(*time));
    if (!IsCorrected(base, *recorded)) {
      page.Paragraph("",
                     fmt::format("{} {}.{}", what, between, busy.empty() ? "" : " " + busy + "."));
      WriteFacts(page, {MfuText(), RateText(), TokensText(), MemoryText()});
      return;
    }
    std::string line = fmt::format("{} {} without the profiler", what, between);
    if (const std::string rate = RateText(); !rate.empty()) line += ", " + rate;
    page.Paragraph("", line + ".");
    WriteFacts(page, {fmt::format("Recorded: {}", FormatTime(*recorded)), busy, MfuText(),
                      TokensText(), MemoryText()});
  }

  /// Returns true if the step without the profiler's cost is another figure than the recorded one,
  /// or is less certain.
  bool IsCorrected(const MsInterval& base, DurationNs recorded) const {
    constexpr double kNarrow = 0.05;
    if (base.high <= base.low) return false;
    const double change_pct = 100 * std::abs(recorded.ms() - base.mid) / recorded.ms();
    return change_pct >= kMinSharePct || base.high - base.low >= kNarrow * base.mid;
  }

  static void WriteFacts(TextPage& page, const std::vector<std::string>& facts) {
    std::string line;
    for (const std::string& fact : facts) {
      if (!fact.empty()) line += (line.empty() ? "" : ", ") + fact;
    }
    if (!line.empty()) page.Paragraph("", line + ".");
  }

  std::string MfuText() const {
    const std::optional<double>& mfu = file_.efficiency.mfu_pct;
    return mfu ? fmt::format("MFU {}", FormatPercent(*mfu)) : "";
  }

  std::string RateText() const {
    const std::optional<MsInterval> base = job_.Base();
    if (!file_.throughput || !base || base->mid <= 0 || !job_.steps().step_time) return "";
    return fmt::format(
        "{} samples/s",
        FormatNumber(static_cast<double>(file_.throughput->batch_size) / base->mid * 1e3));
  }

  std::string TokensText() const {
    const StepKindRow* kind = MainKind();
    if (kind == nullptr || !kind->tokens || kind->mean.ns() <= 0) return "";
    return fmt::format("{} tokens/s", FormatNumber(*kind->tokens / kind->mean.ms() * 1e3));
  }

  std::string MemoryText() const {
    for (const MemoryUse& use : file_.memory) {
      if (use.device && use.peak.allocated_bytes > 0)
        return FormatBytes(static_cast<double>(use.peak.allocated_bytes)) + " peak memory";
    }
    return "";
  }

  const StepKindRow* MainKind() const {
    return file_.steps.kinds.empty() ? nullptr : &file_.steps.kinds.front();
  }

  /// Returns phases of the step, or classes of kernels if no phase is known.
  std::pair<std::string, std::vector<Part>> Parts() const {
    std::vector<Part> parts;
    const bool gpu = !file_.gpu_time.empty();
    if (file_.breakdown && file_.breakdown->wall.ns() > 0) {
      const StepBreakdown& breakdown = *file_.breakdown;
      const double wall = breakdown.wall.ms();
      const double other = 100 * breakdown.step.other.ms() / wall;
      const bool is_told = other < 60 || file_.classes.empty();
      for (const BreakdownPart& part : kBreakdownParts) {
        const double share = 100 * (breakdown.step.*part.time).ms() / wall;
        const double busy = gpu ? 100 * (breakdown.gpu.*part.time).ms() / wall : share;
        if (is_told && share > 0) parts.push_back({std::string(part.label), share, busy});
      }
      const bool utf8 = options_.style.charset == Charset::kUtf8;
      const std::string key =
          fmt::format("{} GPU busy  {} GPU idle", utf8 ? "\u2588" : "#", utf8 ? "\u2591" : ".");
      if (is_told && other <= 99) return {gpu ? key : "", parts};
      parts.clear();
    }
    for (const ClassRow& row : file_.classes) {
      if (row.share_pct > 0) parts.push_back({row.name, row.share_pct, row.share_pct});
    }
    return {"of GPU time", parts};
  }

  /// Moves the smallest parts and those under 1 % into a last row, "other", so at most `count` rows
  /// sum to the step.
  static void MergeSmallParts(std::vector<Part>& parts, std::size_t count) {
    Part other{.label = "other"};
    const auto move = [&](std::vector<Part>::iterator part) {
      other.share_pct += part->share_pct;
      other.busy_pct += part->busy_pct;
      parts.erase(part);
    };
    if (const auto named = std::ranges::find(parts, other.label, &Part::label);
        named != parts.end())
      move(named);
    while (!parts.empty()) {
      const auto least = std::ranges::min_element(parts, {}, &Part::share_pct);
      const std::size_t rows = parts.size() + (other.share_pct >= kMinSharePct ? 1 : 0);
      if (rows <= count && least->share_pct >= kMinSharePct) break;
      move(least);
    }
    if (other.share_pct >= kMinSharePct) parts.push_back(std::move(other));
  }

  /// Writes the parts as a waterfall: each bar begins where the previous bar ends.
  void WriteParts(TextPage& page, std::size_t max_rows) const {
    auto [legend, parts] = Parts();
    MergeSmallParts(parts, max_rows);
    for (std::size_t i = 1; i < parts.size(); ++i)
      parts[i].begin_pct = parts[i - 1].begin_pct + parts[i - 1].share_pct;
    std::size_t label = 0;
    for (const Part& part : parts) label = std::max(label, DisplayWidth(part.label));
    label = std::min<std::size_t>(label, 24);
    constexpr std::size_t kShare = 6;
    const std::size_t width = Left(options_.style.width, 2 + label + kShare + 2);
    const Charset charset = options_.style.charset;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[i];
      const auto columns = [&](double pct) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(pct, 0.0, 100.0) / 100 * static_cast<double>(width)));
      };
      const std::size_t begin = std::min(columns(part.begin_pct), width - 1);
      const std::size_t end = std::max(columns(part.begin_pct + part.share_pct), begin + 1);
      const std::string name = CutMiddle(Printable(part.label, charset), label, charset);
      std::vector<Span> line = {
          {fmt::format("  {}{}{:>{}.0f} %  ", name, Spaces(Left(label, DisplayWidth(name))),
                       part.share_pct, kShare - 2)},
          {Spaces(begin)}};
      for (Span& span : page.Bar(part.busy_pct, part.share_pct, part.share_pct, end - begin))
        line.push_back(std::move(span));
      if (i == 0 && end + DisplayWidth(legend) + 2 <= width) {
        line.push_back({Spaces(width - end - DisplayWidth(legend))});
        line.push_back({legend, Style::kDim});
      }
      page.Line(line);
    }
  }

  /// Without an action, shows whether the job is fine or the trace lacks data.
  void WriteNoAction(TextPage& page) const {
    const Verdict verdict = file_.bottleneck.verdict;
    if (job_.steps().count == 0 || verdict == Verdict::kUnknown) return;
    const auto of_cause = std::ranges::find_if(
        job_.findings(),
        [&](const RowOfFile<Finding>& finding) { return ActsOn(verdict, *finding.row); });
    if (of_cause != job_.findings().end() && of_cause->row->saves_ms &&
        of_cause->row->share_pct.value_or(0) >= kMinSharePct) {
      page.Paragraph("", fmt::format("A replay without this cause saves only {}, because something "
                                     "else also limits the step. No other change was found that "
                                     "saves 1 % or more. Details: --only findings",
                                     FormatMs(of_cause->row->saves_ms->mid)));
    } else if (file_.gpu_time.empty() && verdict == Verdict::kCommunication) {
      page.Paragraph(
          "",
          "One rank's trace does not show which rank it waits for. Record all ranks, and run "
          "headroom report on their files together.");
    } else if (!file_.gpu_time.empty() || (file_.engine && file_.engine->error.empty())) {
      page.Paragraph("", "No change was found that saves 1 % of the step or more.");
    } else if (verdict != Verdict::kCpuCompute) {
      page.Paragraph("", fmt::format("Savings are unknown without GPU work. To record it: {}.",
                                     RemedyOf(ImportIssue::kNoGpu, file_.input.recorded_as)));
    }
  }

  void WriteActions(TextPage& page, std::size_t max_actions) const {
    std::vector<const RowOfFile<Finding>*> shown;
    std::size_t others = 0;
    for (const RowOfFile<Finding>& finding : job_.findings()) {
      if (ActionLabel(*finding.row) != "do" || !job_.Matters(*finding.row)) continue;
      if (shown.size() < max_actions) {
        shown.push_back(&finding);
      } else {
        ++others;
      }
    }
    const auto write_others = [&] {
      if (others == 0) return;
      page.Line(
          {{fmt::format("{} more: --only findings", FormatCount(static_cast<std::int64_t>(others))),
            Style::kDim}});
    };
    if (shown.empty() && others == 0) return WriteNoAction(page);
    if (shown.empty()) return write_others();
    constexpr std::size_t kSaves = 23, kSpeedup = 9;
    const Charset charset = options_.style.charset;
    constexpr std::size_t kMaxWidth = 100;  // Wider rows are hard to read.
    const std::size_t title_width = std::min(options_.style.width, kMaxWidth) - kSaves - kSpeedup;
    page.Line({{"What to do", Style::kBold},
               {Spaces(title_width - 10)},
               {fmt::format("{:>{}}{:>{}}", "saves", kSaves, "speedup", kSpeedup), Style::kDim}});
    for (std::size_t i = 0; i < shown.size(); ++i) {
      const Finding& finding = *shown[i]->row;
      constexpr std::size_t kNumber = 3, kGap = 2;
      std::string title = fmt::format("{}. {}", i + 1,
                                      Sentence(ActionTitle(finding, title_width - kNumber - kGap)));
      title = CutMiddle(Printable(title, charset), title_width - kGap, charset);
      const auto [saves, speedup] = Gain(finding, *shown[i]->file);
      page.Line({{title, Style::kGood},
                 {Spaces(Left(title_width, DisplayWidth(title)))},
                 {fmt::format("{:>{}}", saves, kSaves)},
                 {fmt::format("{:>{}}", speedup, kSpeedup)}});
      page.Command("     ", CommandOf(finding, *shown[i]->file));
    }
    write_others();
  }

  /// Returns the command that says more about an action.
  std::vector<std::string> CommandOf(const Finding& finding, const TraceReport& file) const {
    if (auto forecast = ForecastWords(finding, file, options_); !forecast.empty()) return forecast;
    // Headroom's own recordings have the stages of the loader.
    if (finding.id == "data-wait" && file.input.recorded_as == kPerfettoFormat)
      return {"headroom", "data", PathArgument(file.input.path)};
    return CheckWords(finding, file, options_);
  }

  /// Returns the step of a file, in ms. Returns nullopt if it is far from the job's step: then a
  /// speedup would be of another step than the shown one.
  std::optional<MsInterval> BaseOf(const TraceReport& file) const {
    const std::optional<MsInterval> of_job = job_.Base(), own = JobReport({&file, 1}).Base();
    constexpr double kSame = 1.1;
    const bool is_same =
        own && of_job && std::max(own->mid, of_job->mid) <= kSame * std::min(own->mid, of_job->mid);
    return is_same ? own : std::nullopt;
  }

  /// Returns the saving of an action, and the speedup.
  std::pair<std::string, std::string> Gain(const Finding& finding, const TraceReport& file) const {
    const std::optional<MsInterval> base = BaseOf(file);
    if (!finding.saves_ms) {
      return {"unknown", ""};
    }
    const MsInterval& saves = *finding.saves_ms;
    const bool bound = finding.saves_note.starts_with("at most");
    std::string speedup;
    // If the step itself is uncertain, a speedup computed from an upper bound is misleading.
    constexpr double kBadlyKnown = 0.5;
    const bool promises = !bound || (base && base->high - base->low < kBadlyKnown * base->mid);
    if (promises && base && base->mid - saves.mid > 0)
      speedup = FormatFactor(base->mid / (base->mid - saves.mid));
    return {bound ? "up to " + FormatUncertainTime(saves.mid, saves.low, saves.high)
                  : FormatTimeBetween(saves.mid, std::max(saves.low, 0.0), saves.high),
            speedup};
  }

  /// Writes the most important caveat, and the commands to continue with.
  void WriteEnd(TextPage& page) const {
    if (const std::string caveat = Caveat(); !caveat.empty()) {
      constexpr std::size_t kMaxLines = 2;
      std::string text = Printable(caveat, options_.style.charset);
      const std::size_t limit = kMaxLines * options_.style.width - 16;
      if (DisplayWidth(text) > limit) {
        text.resize(PrefixBytes(text, limit));
        text.resize(std::min(text.rfind(' '), text.size()));
        text += " ...";
      }
      page.Paragraph("", text, Style::kPlain, Style::kDim);
    }
    std::string more = "More: --full, --only SECTION";
    std::vector<std::string> commands;
    if (job_.single()) {
      const std::string path = ShellQuote(file_.input.path, options_.style.charset);
      if (file_.engine && file_.engine->error.empty())
        commands.push_back("headroom whatif " + path);
      commands.push_back("headroom ui " + path);
    } else {
      commands.emplace_back("--only ranks");
    }
    for (const std::string& command : commands) {
      if (DisplayWidth(more) + 2 + DisplayWidth(command) <= options_.style.width)
        more += ", " + command;
    }
    page.Line({{more, Style::kDim}});
  }

  std::string Caveat() const {
    for (const RowOfFile<HealthIssue>& issue : job_.issues()) {
      const ImportIssueDoc& doc = DocOf(issue.row->issue);
      if (doc.severity == Severity::kInfo) continue;
      // Only the detail shows how the files differ.
      if (issue.row->issue == ImportIssue::kOtherJob) return Sentence(issue.row->detail) + ".";
      std::string text = Sentence(doc.sentence.substr(0, doc.sentence.find_first_of(";:"))) + ".";
      if (!issue.row->voids.empty())
        text += fmt::format(" Unreliable: {}.", Join(issue.row->voids));
      return text;
    }
    const StepSummary& steps = job_.steps();
    if (steps.count == 0) {
      return fmt::format("No steps were found. To mark steps: {}.",
                         HowToTellSteps(file_.input.recorded_as));
    }
    constexpr double kWorthSaying = 5;
    if (steps.profiler_overhead_pct && *steps.profiler_overhead_pct >= kWorthSaying &&
        steps.step_time && steps.corrected) {
      return fmt::format("The profiler adds {} per step; all savings exclude it.",
                         FormatUncertainTime(steps.step_time->ms() - steps.corrected->mid, 0, 0));
    }
    return {};
  }

  JobReport job_;
  const TraceReport& file_;
  const TextOptions& options_;
};

}  // namespace

std::string RenderSummary(std::span<const TraceReport> files, const TextOptions& options) {
  return Summary(files, options).Take();
}

}  // namespace headroom
