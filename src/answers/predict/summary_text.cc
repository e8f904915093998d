// Writes the first screen of `headroom predict`: one line per GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "answers/predict/render.h"
#include "base/units.h"
#include "render/number_format.h"
#include "render/text_page.h"
#include "render/text_table.h"

namespace headroom {
namespace {

/// GPUs that are commonly bought or rented today, of each class.
constexpr std::array<std::string_view, 8> kCurrentGpus = {"B200",   "MI355X",      "H200", "H100",
                                                          "MI300X", "A100-SXM-80", "L40S", "L4"};

std::string StepText(const PredictedMs& step) {
  return FormatTimeBetween(step.mid, step.low, step.high);
}

std::string TimeText(double ms) { return FormatTime(DurationNs(std::llround(ms * kNsPerMs))); }

std::optional<double> SamplesPerSecond(std::optional<std::int64_t> samples, std::int64_t gpus,
                                       double step_ms) {
  if (!samples || !(step_ms > 0)) return std::nullopt;
  return static_cast<double>(*samples * gpus) / step_ms * 1e3;
}

void WriteBaseline(TextPage& page, const PredictBaseline& baseline) {
  std::string text = fmt::format("Recorded on {}: {} per step without the profiler", baseline.gpu,
                                 StepText(baseline.step));
  if (baseline.gpus > 1)
    text += fmt::format(", on {} GPUs assumed to do the same work", baseline.gpus);
  if (const auto rate = SamplesPerSecond(baseline.samples, baseline.gpus, baseline.step.mid))
    text += fmt::format(", {} samples/s", FormatNumber(*rate));
  text += baseline.host_ms > baseline.gpu_ms ? ", limited by the host." : ", limited by the GPU.";
  page.Paragraph("", text, Style::kPlain, Style::kBold);
  if (!baseline.steps_note.empty())
    page.Paragraph("Note: ", baseline.steps_note + ".", Style::kWarning);
}

/// Writes the answer for a host-bound job, which another GPU does not make faster.
void WriteHostLimit(TextPage& page, const PredictBaseline& baseline,
                    const std::vector<PredictedTarget>& targets) {
  constexpr double kFaster = 1.05;
  bool others_are_known = false;
  for (const PredictedTarget& target : targets) {
    if (!target.speedup || *target.speedup >= kFaster) return;
    others_are_known = others_are_known || target.gpu != baseline.gpu;
  }
  if (baseline.host_ms <= baseline.gpu_ms || !others_are_known) return;
  page.Blank();
  page.Paragraph("",
                 "No GPU here is more than 5 % faster, because the host limits this job: "
                 "headroom whatif lists changes that make the host faster.");
}

Span Fits(const PredictedTarget& target) {
  if (target.fit_confidence == FitConfidence::kLikely) return {"likely", Style::kGood};
  if (target.fits == true) return {"yes", Style::kGood};
  if (!target.fits) return {target.memory_bytes ? "?" : ""};
  return {target.memory_bytes ? fmt::format("no, {}", FormatBytes(*target.memory_bytes)) : "no",
          Style::kBad};
}

void WriteTargets(TextPage& page, std::vector<PredictedTarget> targets) {
  std::stable_sort(targets.begin(), targets.end(),
                   [](const auto& a, const auto& b) { return a.step.mid < b.step.mid; });
  const auto priced = std::find_if(targets.begin(), targets.end(), [](const auto& target) {
    return target.money_per_million_samples.has_value();
  });
  const std::string currency = priced == targets.end() ? "" : priced->currency;
  using Target = PredictedTarget;
  WriteTable<Target>(
      page, targets,
      {{"", Kind::kName,
        [](const Target& t) { return Span{t.gpu + (t.doubt.empty() ? "" : " *")}; }},
       {"step", Kind::kNumber,
        [](const Target& t) {
          return Span{StepText(t.step), Style::kBold};
        }},
       {"unchanged", Kind::kNumber,
        [](const Target& t) { return Span{t.unchanged ? TimeText(t.unchanged->mid) : ""}; }},
       {"speedup", Kind::kNumber,
        [](const Target& t) { return Span{t.speedup ? FormatFactor(*t.speedup) : ""}; }},
       {"samples/s", Kind::kNumber,
        [](const Target& t) {
          const auto rate = SamplesPerSecond(t.samples, t.gpus, t.step.mid);
          return Span{rate ? FormatNumber(*rate) : ""};
        }},
       {currency + "/1M", Kind::kNumber,
        [&](const Target& t) {
          return Span{t.money_per_million_samples && t.currency == currency
                          ? FormatNumber(*t.money_per_million_samples)
                          : ""};
        }},
       {"J/sample", Kind::kNumber,
        [](const Target& t) {
          if (!t.energy || !t.samples) return Span{};
          return Span{FormatNumber(t.energy->joules / static_cast<double>(*t.samples * t.gpus))};
        }},
       {"fits", Kind::kText, Fits}});
}

/// Returns what the prices mean, where they come from, and the shown GPUs without one.
std::string PricesNote(const PredictReport& report) {
  std::vector<std::string_view> without;
  for (const PredictedTarget& target : report.targets) {
    const bool has_cost = target.fits != false && target.samples;
    if (has_cost && !target.money_per_million_samples &&
        std::ranges::find(without, target.gpu) == without.end())
      without.push_back(target.gpu);
  }
  std::string text =
      fmt::format("per million samples (1M), from the cheapest listing; {}.", report.prices);
  if (!without.empty()) text += fmt::format(" No price: {}.", fmt::join(without, ", "));
  return text;
}

}  // namespace

void WriteAbstained(TextPage& page, const std::vector<PredictAbstention>& abstained,
                    const std::string& prefix) {
  std::map<std::string, std::vector<std::string_view>> gpus;  // By trace and reason.
  for (const PredictAbstention& abstention : abstained) {
    if (!abstention.gpu.empty()) gpus[abstention.trace + abstention.why].push_back(abstention.gpu);
  }
  for (const PredictAbstention& abstention : abstained) {
    std::string who = abstention.trace;
    if (!abstention.gpu.empty()) {
      const auto& all = gpus[abstention.trace + abstention.why];
      if (abstention.gpu != all.front()) continue;
      who = fmt::format("{}", fmt::join(all, ", "));
    }
    const char* const answer = abstention.gpu.empty() ? "unknown" : "no forecast";
    page.Paragraph(prefix, fmt::format("{}: {}: {}.", who, answer, abstention.why), Style::kPlain,
                   Style::kWarning);
  }
}

bool IsCurrentGpu(std::string_view gpu) {
  return std::find(kCurrentGpus.begin(), kCurrentGpus.end(), gpu) != kCurrentGpus.end();
}

void KeepCurrentGpus(PredictReport& report) {
  std::erase_if(report.abstained, [&](const PredictAbstention& abstention) {
    return !abstention.gpu.empty() && !IsCurrentGpu(abstention.gpu);
  });
  std::erase_if(report.targets, [&](const PredictedTarget& target) {
    const bool recorded =
        target.group < report.baselines.size() && report.baselines[target.group].gpu == target.gpu;
    const bool rented = std::ranges::any_of(report.options, [&](const PlannedOption& planned) {
      return planned.option.instance.gpu == target.gpu;
    });
    return !recorded && !rented && !IsCurrentGpu(target.gpu);
  });
}

std::string RenderPredictSummary(const PredictReport& report, const PageStyle& style) {
  TextPage page(style);
  WriteAbstained(page, report.abstained, "");
  bool extrapolated = false, priced = false;
  for (std::size_t begin = 0, end = 0; begin < report.targets.size(); begin = end) {
    const PredictedTarget& first = report.targets[begin];
    while (end < report.targets.size() && report.targets[end].group == first.group) {
      extrapolated = extrapolated || !report.targets[end].doubt.empty();
      priced = priced || report.targets[end].money_per_million_samples;
      ++end;
    }
    page.Blank();
    if (!first.workload.empty()) page.Line({{first.workload, Style::kBold}});
    if (first.group < report.baselines.size()) {
      WriteBaseline(page, report.baselines[first.group]);
      page.Blank();
    }
    const std::vector<PredictedTarget> targets(
        report.targets.begin() + static_cast<std::ptrdiff_t>(begin),
        report.targets.begin() + static_cast<std::ptrdiff_t>(end));
    if (!report.change.empty()) {
      page.Line({{"With " + report.change + " on each GPU:", Style::kBold}});
      page.Blank();
    }
    WriteTargets(page, targets);
    if (!first.left_out.empty()) {
      page.Blank();
      page.Paragraph("Too fast: ", first.left_out + ".", Style::kWarning, Style::kWarning);
    }
    if (report.change.empty() && first.group < report.baselines.size())
      WriteHostLimit(page, report.baselines[first.group], targets);
  }
  page.Blank();
  if (extrapolated) {
    page.Paragraph("* ", "less certain; --full gives the reason.", Style::kPlain, Style::kDim);
  }
  if (priced) page.Paragraph("Prices: ", PricesNote(report), Style::kDim, Style::kDim);
  page.Paragraph("More: ",
                 report.change.empty() ? "--gpu all, --full, --batch-curve, --total-steps N"
                                       : "--gpu all, --full, --total-steps N",
                 Style::kDim, Style::kDim);
  return std::move(page).Take();
}

}  // namespace headroom
