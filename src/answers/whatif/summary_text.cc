// Writes `headroom whatif` without a scenario: all scenarios on one screen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "answers/whatif/render.h"
#include "render/escape.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom {
namespace {

constexpr double kMinGainPct = 1;  ///< Share of the step below which a saving is not a gain.

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Returns the change in memory, such as "-1.26 GB"; empty if it is 0 or unknown.
std::string MemoryText(const Forecast& forecast) {
  const std::int64_t bytes = forecast.memory_delta_bytes.value_or(0);
  if (bytes == 0) return "";
  return (bytes > 0 ? "+" : "") + FormatBytes(static_cast<double>(bytes));
}

/// Returns the hardware that `scenario` makes twice as fast; empty for a change to the program.
std::string_view HardwareOf(std::string_view scenario) {
  if (scenario == "gpu-speed") return "GPU";
  if (scenario == "host-speed") return "CPU";
  if (scenario == "network-speed") return "network";
  return "";
}

/// Returns true if `part` is one of the changes that `whole` combines: "a+b" includes "a".
bool Includes(const std::string& whole, const std::string& part) {
  return ("+" + whole + "+").find("+" + part + "+") != std::string::npos;
}

/// Adds a change to those that are worth trying together, unless one of these includes it or makes
/// the same kernels faster. A combination replaces its parts.
void AddTogether(const std::string& change, std::vector<std::string>& changes) {
  constexpr std::size_t kMax = 2;
  std::erase_if(changes, [&](const std::string& other) { return Includes(change, other); });
  const bool is_covered = std::ranges::any_of(changes, [&](const std::string& other) {
    return Includes(other, change) || (change == "tf32" && Includes(other, "amp"));
  });
  if (!is_covered && changes.size() < kMax) changes.push_back(change);
}

std::vector<Span> RowOf(const Forecast& forecast) {
  const StepInterval& step = forecast.step_ms;
  const std::string bound = IsUpperBound(forecast) ? "up to " : "";
  return {{forecast.name},
          {FormatTimeBetween(step.mid, step.low, step.high)},
          {bound + FormatUncertainTime(forecast.saves_ms, 0, forecast.saves_ms)},
          {bound + FormatFactor(forecast.speedup)},
          {MemoryText(forecast)}};
}

}  // namespace

bool IsUpperBound(const Forecast& forecast) { return forecast.at_best || forecast.is_upper_bound; }

std::string RenderForecastSummary(const ForecastReport& report, const PageStyle& style) {
  const Baseline& baseline = report.baseline;
  if (!report.no_answer.empty() || !baseline.ReplayHolds())
    return RenderForecastText(report, style);
  TextPage page(style);
  const auto gain_pct = [&](const Forecast& forecast) {
    return 100 * forecast.saves_ms / baseline.corrected.mid;
  };
  std::vector<std::vector<Span>> rows;
  std::vector<std::string> no_gain, slower, already, not_applicable, changes, twice;
  for (const Forecast& forecast : report.forecasts) {
    if (const std::string_view part = HardwareOf(forecast.name); !part.empty()) {
      twice.push_back(fmt::format(
          "{} {} ({})", part,
          FormatUncertainTime(forecast.step_ms.mid, forecast.step_ms.low, forecast.step_ms.high),
          FormatFactor(forecast.speedup)));
    } else if (gain_pct(forecast) >= kMinGainPct) {
      rows.push_back(RowOf(forecast));
      AddTogether(forecast.name, changes);
    } else if (gain_pct(forecast) > -kMinGainPct) {
      no_gain.push_back(forecast.name);
    } else {
      const std::string memory = MemoryText(forecast);
      slower.push_back(fmt::format("{} (+{}{})", forecast.name,
                                   FormatUncertainTime(-forecast.saves_ms, 0, 0),
                                   memory.empty() ? "" : ", " + memory));
    }
  }
  for (const Forecast& forecast : report.abstaining) {
    const bool applies_together = std::ranges::any_of(report.forecasts, [&](const Forecast& other) {
      return other.name.ends_with("+" + forecast.name);
    });
    if (forecast.abstention == Abstention::kAlready)
      already.push_back(forecast.name);
    else if (HardwareOf(forecast.name).empty() && !applies_together && forecast.why != kNoGpuWork)
      not_applicable.push_back(forecast.name);
  }

  page.Paragraph("",
                 fmt::format("Step {} without the profiler, {} recorded. 80 % intervals.",
                             FormatTimeBetween(baseline.corrected.mid, baseline.corrected.low,
                                               baseline.corrected.high),
                             FormatTime(DurationNs(std::llround(baseline.traced_step_ms * 1e6)))),
                 Style::kPlain, Style::kBold);
  if (!baseline.steps_note.empty())
    page.Paragraph("Note: ", baseline.steps_note + ".", Style::kWarning);
  constexpr double kBadlyKnown = 0.5;
  if (baseline.corrected.high - baseline.corrected.low >= kBadlyKnown * baseline.corrected.mid) {
    page.Paragraph("Note: ",
                   "the profiler's cost is uncertain, so speedups are rough. --measured-step-ms X "
                   "(the true step time) narrows them.",
                   Style::kWarning);
  }
  page.Blank();
  if (rows.empty()) {
    page.Line({{"No change saves at least 1 % of the step."}});
  } else {
    page.Table({{"change", TextColumn::Kind::kName}, {"step"}, {"saves"}, {"speedup"}, {"memory"}},
               rows);
  }
  page.Blank();
  if (!no_gain.empty()) page.Paragraph("No gain: ", Joined(no_gain) + ".", Style::kBold);
  if (!slower.empty()) page.Paragraph("Slower: ", Joined(slower) + ".", Style::kBold);
  if (!already.empty()) page.Paragraph("Already applied: ", Joined(already) + ".", Style::kBold);
  if (!baseline.has_gpu_work)
    not_applicable.emplace_back("changes of GPU work, of which the recording has none");
  if (!not_applicable.empty())
    page.Paragraph("Not applicable: ", Joined(not_applicable) + ".", Style::kBold, Style::kDim);
  if (!twice.empty())
    page.Paragraph("Twice as fast: ", Joined(twice) + ".", Style::kBold, Style::kDim);
  if (changes.size() > 1) {
    std::vector<std::string> words = {"headroom", "whatif", report.path,
                                      changes[0] + "+" + changes[1]};
    words.insert(words.end(), report.arguments.begin(), report.arguments.end());
    page.Command("Together: ", words, Style::kBold);
  }
  page.Line({{"Reasons: --full, or name a change.  All changes: --list", Style::kDim}});
  return std::move(page).Take();
}

}  // namespace headroom
