#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string_view>

#include "analysis/format.h"
#include "report/predict_report.h"
#include "report/text_page.h"
#include "report/text_sections.h"

namespace headroom {
namespace {

constexpr double kNsPerMs = 1e6;

std::string Ms(double ms) { return FormatMs(DurationNs(std::llround(ms * kNsPerMs))); }

std::string RangeOf(const PredictedMs& ms) {
  return fmt::format("{} to {}", Ms(ms.low), Ms(ms.high));
}

void WriteBaseline(TextPage& page, const PredictReport& report, const PredictBaseline& baseline) {
  page.Heading("As it is", report.source_gpu.value_or("unknown GPU"), Style::kDim);
  page.Paragraph(
      "  Step      ",
      fmt::format("{} ({}) without the profiler", Ms(baseline.step.mid), RangeOf(baseline.step)),
      Style::kBold);
  page.Paragraph("  Limits    ",
                 fmt::format("the host alone needs {}, the GPU alone {}", Ms(baseline.host_ms),
                             Ms(baseline.gpu_ms)),
                 Style::kBold);
  if (baseline.ratio_only_share > 0) {
    page.Paragraph("  Models    ",
                   fmt::format("{} of the GPU time is of kernels without shapes: carried over by "
                               "ratios of the GPUs' figures alone",
                               FormatPercent(100 * baseline.ratio_only_share)),
                   Style::kBold);
  }
}

void WriteTargets(TextPage& page, const std::vector<PredictedTarget>& targets,
                  const std::string& workload) {
  page.Heading("Step on other GPUs", workload, Style::kDim);
  WriteTable<PredictedTarget>(
      page, targets,
      {{"GPU", Kind::kText, [](const PredictedTarget& t) { return Span{t.gpu}; }},
       {"step", Kind::kNumber,
        [](const PredictedTarget& t) {
          return Span{Ms(t.step.mid), Style::kBold};
        }},
       {"four of five times", Kind::kNumber,
        [](const PredictedTarget& t) { return Span{RangeOf(t.step)}; }},
       {"speedup", Kind::kNumber,
        [](const PredictedTarget& t) {
          return Span{t.speedup ? fmt::format("{:.2f}", *t.speedup) : ""};
        }},
       {"", Kind::kName, [](const PredictedTarget& t) {
          return Span{t.extrapolated ? "extrapolated" : "", Style::kWarning};
        }}});
  for (const PredictedTarget& target : targets) {
    if (!target.why.empty())
      page.Paragraph(fmt::format("  {}: ", target.gpu), target.why, Style::kBold, Style::kDim);
  }
  // Each pair once.
  for (const PredictedTarget& target : targets) {
    if (target.ties.empty()) continue;
    page.Paragraph("  ",
                   fmt::format("{} cannot be told from {}: their ranges overlap.", target.gpu,
                               fmt::join(target.ties, ", ")),
                   Style::kPlain, Style::kDim);
  }
}

}  // namespace

std::string RenderPredictText(const PredictReport& report, bool color, Charset charset) {
  TextPage page(color, charset);
  std::size_t begin = 0, baseline = 0;
  while (begin < report.targets.size()) {
    std::size_t end = begin;
    while (end < report.targets.size() &&
           report.targets[end].workload == report.targets[begin].workload)
      ++end;
    if (baseline < report.baselines.size())
      WriteBaseline(page, report, report.baselines[baseline++]);
    WriteTargets(page,
                 {report.targets.begin() + static_cast<std::ptrdiff_t>(begin),
                  report.targets.begin() + static_cast<std::ptrdiff_t>(end)},
                 report.targets[begin].workload);
    begin = end;
  }
  page.Blank();
  page.Paragraph("  Constants ", report.constants, Style::kBold, Style::kDim);
  return std::move(page).Take();
}

}  // namespace headroom
