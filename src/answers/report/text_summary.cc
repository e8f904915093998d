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

#include "analysis/verdict/bottleneck.h"
#include "analysis/verdict/remedies.h"
#include "answers/report/phrases.h"
#include "answers/report/ranks_phrases.h"
#include "answers/report/summary.h"
#include "answers/report/text.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/text_page.h"

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

class FirstScreen {
 public:
  FirstScreen(std::span<const TraceReport> files, const TextOptions& options)
      : job_(files), file_(job_.slowest()), options_(options), summary_(SummaryOf(job_, options)) {}

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

  /// Writes the step time and what belongs to it. Figures without the profiler's cost and recorded
  /// figures are on different lines.
  void WriteStep(TextPage& page) const {
    const std::optional<DurationNs>& recorded = summary_.recorded;
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
    const MsInterval base = *summary_.step_ms;
    const std::string between = base.high > base.low
                                    ? FormatTimeBetween(base.mid, base.low, base.high)
                                    : FormatTime(*recorded);
    std::string busy;
    if (summary_.gpu_busy) busy = fmt::format("GPU busy {}", FormatTime(*summary_.gpu_busy));
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
    const std::optional<double>& rate = summary_.samples_per_s;
    return rate ? fmt::format("{} samples/s", FormatNumber(*rate)) : "";
  }

  std::string TokensText() const {
    const std::optional<double>& rate = summary_.tokens_per_s;
    return rate ? fmt::format("{} tokens/s", FormatNumber(*rate)) : "";
  }

  std::string MemoryText() const {
    const std::optional<std::int64_t>& peak = summary_.peak_memory_bytes;
    return peak ? FormatBytes(static_cast<double>(*peak)) + " peak memory" : "";
  }

  /// Moves the smallest parts and those under 1 % into a last row, "other", so at most `count` rows
  /// sum to the step.
  static void MergeSmallParts(std::vector<SummaryPart>& parts, std::size_t count) {
    SummaryPart other{.name = "other"};
    const auto move = [&](std::vector<SummaryPart>::iterator part) {
      other.share_pct += part->share_pct;
      other.busy_pct += part->busy_pct;
      parts.erase(part);
    };
    if (const auto named = std::ranges::find(parts, other.name, &SummaryPart::name);
        named != parts.end())
      move(named);
    while (!parts.empty()) {
      const auto least = std::ranges::min_element(parts, {}, &SummaryPart::share_pct);
      const std::size_t rows = parts.size() + (other.share_pct >= kMinSharePct ? 1 : 0);
      if (rows <= count && least->share_pct >= kMinSharePct) break;
      move(least);
    }
    if (other.share_pct >= kMinSharePct) parts.push_back(std::move(other));
  }

  /// Writes the parts as a waterfall: each bar begins where the previous bar ends.
  void WriteParts(TextPage& page, std::size_t max_rows) const {
    std::vector<SummaryPart> parts = summary_.parts;
    MergeSmallParts(parts, max_rows);
    const bool utf8 = options_.style.charset == Charset::kUtf8;
    std::string legend;
    if (summary_.parts_of == PartsOf::kGpuTime) {
      legend = "of GPU time";
    } else if (!file_.gpu_time.empty()) {
      legend =
          fmt::format("{} GPU busy  {} GPU idle", utf8 ? "\u2588" : "#", utf8 ? "\u2591" : ".");
    }
    std::size_t label = 0;
    for (const SummaryPart& part : parts) label = std::max(label, DisplayWidth(part.name));
    label = std::min<std::size_t>(label, 24);
    constexpr std::size_t kShare = 6;
    const std::size_t width = Left(options_.style.width, 2 + label + kShare + 2);
    const Charset charset = options_.style.charset;
    double begin_pct = 0;
    for (const SummaryPart& part : parts) {
      const auto columns = [&](double pct) {
        return static_cast<std::size_t>(
            std::lround(std::clamp(pct, 0.0, 100.0) / 100 * static_cast<double>(width)));
      };
      const std::size_t begin = std::min(columns(begin_pct), width - 1);
      const std::size_t end = std::max(columns(begin_pct + part.share_pct), begin + 1);
      const std::string name = CutMiddle(Printable(part.name, charset), label, charset);
      std::vector<Span> line = {
          {fmt::format("  {}{}{:>{}.0f} %  ", name, Spaces(Left(label, DisplayWidth(name))),
                       part.share_pct, kShare - 2)},
          {Spaces(begin)}};
      for (Span& span : page.Bar(part.busy_pct, part.share_pct, part.share_pct, end - begin))
        line.push_back(std::move(span));
      if (begin_pct == 0 && end + DisplayWidth(legend) + 2 <= width) {
        line.push_back({Spaces(width - end - DisplayWidth(legend))});
        line.push_back({legend, Style::kDim});
      }
      page.Line(line);
      begin_pct += part.share_pct;
    }
  }

  void WriteActions(TextPage& page, std::size_t max_actions) const {
    const std::vector<SummaryAction>& actions = summary_.actions;
    const std::size_t count = std::min(max_actions, actions.size()),
                      others = actions.size() - count;
    const auto write_others = [&] {
      if (others == 0) return;
      page.Line(
          {{fmt::format("{} more: --only findings", FormatCount(static_cast<std::int64_t>(others))),
            Style::kDim}});
    };
    if (actions.empty() && !summary_.no_action.empty()) page.Paragraph("", summary_.no_action);
    if (count == 0) return write_others();
    constexpr std::size_t kSaves = 23, kSpeedup = 9;
    const Charset charset = options_.style.charset;
    constexpr std::size_t kMaxWidth = 100;  // Wider rows are hard to read.
    const std::size_t title_width = std::min(options_.style.width, kMaxWidth) - kSaves - kSpeedup;
    page.Line({{"What to do", Style::kBold},
               {Spaces(title_width - 10)},
               {fmt::format("{:>{}}{:>{}}", "saves", kSaves, "speedup", kSpeedup), Style::kDim}});
    for (std::size_t i = 0; i < count; ++i) {
      const SummaryAction& action = actions[i];
      constexpr std::size_t kNumber = 3, kGap = 2;
      std::string title = fmt::format(
          "{}. {}", i + 1, Sentence(ActionTitle(*action.finding, title_width - kNumber - kGap)));
      title = CutMiddle(Printable(title, charset), title_width - kGap, charset);
      page.Line(
          {{title, Style::kGood},
           {Spaces(Left(title_width, DisplayWidth(title)))},
           {fmt::format("{:>{}}", GainText(action), kSaves)},
           {fmt::format("{:>{}}", action.speedup ? FormatFactor(*action.speedup) : "", kSpeedup)}});
      page.Command("     ", action.command);
    }
    write_others();
  }

  static std::string GainText(const SummaryAction& action) {
    const std::optional<MsInterval>& saves = action.finding->saves_ms;
    if (!saves) return "unknown";
    if (action.upper_bound)
      return "up to " + FormatUncertainTime(saves->mid, saves->low, saves->high);
    return FormatTimeBetween(saves->mid, std::max(saves->low, 0.0), saves->high);
  }

  /// Writes the note, and the commands to continue with.
  void WriteEnd(TextPage& page) const {
    if (!summary_.note.empty()) {
      constexpr std::size_t kMaxLines = 2;
      std::string text = Printable(summary_.note, options_.style.charset);
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

  JobReport job_;
  const TraceReport& file_;
  const TextOptions& options_;
  const Summary summary_;
};

}  // namespace

std::string RenderSummary(std::span<const TraceReport> files, const TextOptions& options) {
  return FirstScreen(files, options).Take();
}

}  // namespace headroom
