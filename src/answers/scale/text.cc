#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "answers/scale/render.h"
#include "base/units.h"
#include "render/number_format.h"
#include "render/text_page.h"

namespace headroom {
namespace {

constexpr double kPercent = 100;

/// Returns an explanation of a limit, to follow its name and a colon.
std::string_view Meaning(ScalingLimit limit, bool loop) {
  switch (limit) {
    case ScalingLimit::kGpu:
      return "the GPU's own work";
    case ScalingLimit::kHost:
      return loop ? "the host's own work" : "the CPU launches the GPU work too slowly";
    case ScalingLimit::kLoader:
      return "the data loader";
    case ScalingLimit::kBandwidth:
      return "the bytes over the slowest link";
    case ScalingLimit::kLatency:
      return "the number of messages, regardless of size";
    case ScalingLimit::kStraggler:
      return "waiting for the slowest rank of each step";
    case ScalingLimit::kPipeline:
      return "idle stages while the first and the last micro-batch pass through the others "
             "(bubble)";
    case ScalingLimit::kOverlap:
      return "computation that collectives slow down";
    case ScalingLimit::kBuckets:
      return "copying gradients to and from buckets, and the host's all-reduce calls";
  }
  return "";
}

/// Returns the style by the efficiency: throughput relative to N independent GPUs.
Style StyleOf(double efficiency) {
  constexpr double kGood = 0.9, kPoor = 0.6;
  if (efficiency >= kGood) return Style::kGood;
  return efficiency < kPoor ? Style::kBad : Style::kWarning;
}

std::string OfRanks(const ScaleReport& report) {
  if (report.deviation) {
    return fmt::format("identical; a rank's steps vary by {}, and all wait for the slowest",
                       FormatPercent(kPercent * *report.deviation));
  }
  const std::string_view why = report.source == "operators"
                                   ? "a list of operators has no recorded steps"
                                   : "too few complete steps to measure how they vary";
  if (report.assumed_deviation == 0) return fmt::format("identical, without stragglers: {}", why);
  return fmt::format(
      "identical; a rank's steps are assumed to vary by {} (--step-deviation), and all wait for "
      "the slowest: {}",
      FormatPercent(kPercent * report.assumed_deviation), why);
}

void WriteBaseline(TextPage& page, const ScaleReport& report) {
  page.Heading("One GPU", report.path, Style::kDim);
  const std::string time =
      FormatTimeBetween(report.step_ms.mid, report.step_ms.low, report.step_ms.high);
  std::string step = time + " without the profiler";
  if (report.source == "loop") {
    step = time + ", on the CPU";
  }
  if (report.source == "operators") {
    step = fmt::format("{} on {}, modelled from operators: kernels only, without host time", time,
                       report.gpu);
  }
  if (!report.changes.empty()) step += fmt::format(", with {}", report.changes);
  if (report.recorded_gpus > 1)
    step += fmt::format("; recorded on one of {} GPUs, over {}; shown without communication",
                        report.recorded_gpus, report.recorded_network);
  step += fmt::format("; limit: {}", Name(report.limit));
  page.Paragraph("  Step       ", step, Style::kBold);
  if (report.replayed_rank) {
    page.Paragraph("  Replayed   ",
                   report.ranks > 1
                       ? fmt::format("rank {}, the median by compute time, of {} on one clock; its "
                                     "waits for others do not count as transfer",
                                     *report.replayed_rank, report.ranks)
                       : fmt::format("rank {}, the median by compute time; no other rank is "
                                     "comparable, so its waits count as transfer",
                                     *report.replayed_rank),
                   Style::kBold);
  }
  if (report.overlap) {
    const OverlapSlowdown& overlap = *report.overlap;
    page.Paragraph(
        "  Overlap    ",
        overlap.is_told()
            ? fmt::format(
                  "kernels take {:.2f} times as long during a collective ({:.2f} to {:.2f}, from "
                  "{} kernels that also ran alone); on one GPU there is no such slowdown",
                  overlap.mid, overlap.low, overlap.high, overlap.kernels)
            : fmt::format("kernels that ran during a collective took {:.2f} to {:.2f} times as "
                          "long as alone: no slowdown is modelled",
                          overlap.low, overlap.high),
        Style::kBold);
  }
  if (!report.steps_note.empty())
    page.Paragraph("  Steps      ", report.steps_note, Style::kBold, Style::kWarning);
  if (report.gradient_bytes) {
    page.Paragraph(
        "  Gradients  ",
        fmt::format("{} per step{}", FormatBytes(*report.gradient_bytes),
                    report.samples ? fmt::format(", of {}", Plural(*report.samples, "sample"))
                                   : ", of an unknown number of samples"),
        Style::kBold);
  }
  page.Paragraph("  Ranks      ", OfRanks(report), Style::kBold);
}

void WriteSplit(TextPage& page, const ModelParallel& split) {
  if (split.Gpus() == 1) return;
  std::string text = fmt::format("{} GPUs each", split.Gpus());
  if (split.tensor > 1) text += fmt::format(", {} per layer", split.tensor);
  if (split.stages > 1) {
    text += fmt::format(", {} stages through which {} per step", split.stages,
                        split.micro_batches == 1
                            ? "one batch goes"
                            : fmt::format("{} micro-batches go", split.micro_batches));
  }
  page.Paragraph("  Replicas   ", text, Style::kBold);
  page.Paragraph(
      "  ",
      "Experimental: validated against one measurement of tensor parallelism and one of pipeline "
      "stages with a single micro-batch, both from operator lists (docs/accuracy/more-gpus.md).",
      Style::kPlain, Style::kWarning);
}

void WriteCurve(TextPage& page, const ScaleReport& report, const ScaleCurve& curve) {
  constexpr std::size_t kBeside = 60;  // Maximum width next to the title, in characters. Longer
                                       // descriptions get a separate line.
  const bool fits = curve.description.size() <= kBeside;
  page.Heading(report.strong ? "Strong scaling" : "Weak scaling", fits ? curve.description : "",
               Style::kDim);
  if (!fits) page.Paragraph("  ", curve.description, Style::kPlain, Style::kDim);
  std::vector<std::vector<Span>> rows;
  for (const ScalingPoint& point : curve.points) {
    std::vector<Span> row = {{fmt::format("{}", point.placement.gpus)},
                             {fmt::format("{}", point.placement.nodes)}};
    if (!point.no_answer.empty()) {
      row.insert(row.end(), {{"-"}, {""}, {""}, {""}, {"unknown", Style::kDim}});
    } else {
      row.insert(row.end(),
                 {{FormatTimeBetween(point.step_ms.mid, point.step_ms.low, point.step_ms.high),
                   Style::kBold},
                  {point.samples_per_s ? FormatNumber(*point.samples_per_s) : ""},
                  {FormatPercent(kPercent * point.efficiency), StyleOf(point.efficiency)},
                  {point.placement.gpus > 1 ? FormatMs(point.exposed_ms) : ""},
                  {std::string(Name(point.limit))}});
    }
    rows.push_back(std::move(row));
  }
  page.Table({{"GPUs"},
              {"machines"},
              {"step"},
              {"samples/s"},
              {"efficiency"},
              {"exposed"},
              {"limit", TextColumn::Kind::kText}},
             rows);
  // Writes each limit and each reason once, at the first point with it.
  std::vector<std::string> said;
  const auto say = [&](std::string_view head, const std::string& text) {
    if (std::find(said.begin(), said.end(), text) != said.end()) return;
    said.push_back(text);
    page.Paragraph(fmt::format("  {:<11}", head), text, Style::kBold);
  };
  for (const ScalingPoint& point : curve.points) {
    if (!point.no_answer.empty()) {
      say(Plural(point.placement.gpus, "GPU"), point.no_answer);
    } else {
      say(Name(point.limit), std::string(Meaning(point.limit, report.source == "loop")));
    }
  }
}

}  // namespace

std::string RenderScaleText(const ScaleReport& report, const PageStyle& style) {
  TextPage page(style);
  if (!report.no_answer.empty()) {
    page.Heading("Scaling", report.path, Style::kDim);
    page.Paragraph("  ", "unknown: " + report.no_answer, Style::kPlain, Style::kWarning);
    return std::move(page).Take();
  }
  WriteBaseline(page, report);
  WriteSplit(page, report.split);
  for (const ScaleCurve& curve : report.curves) {
    WriteCurve(page, report, curve);
  }
  const auto largest = [&]() -> const ScalingPoint* {
    const ScalingPoint* found = nullptr;
    for (const ScalingPoint& point : report.curves.back().points) {
      if (point.no_answer.empty() && point.placement.gpus > 1) found = &point;
    }
    return found;
  }();
  if (largest != nullptr) {
    page.Blank();
    page.Paragraph(fmt::format("  {} GPUs: ", largest->placement.gpus), largest->why, Style::kBold,
                   Style::kDim);
  }
  page.Paragraph("  ",
                 "Communication times are accurate to about a third; how much they cost depends on "
                 "the overlap with compute. exposed: the step's wait for communication.",
                 Style::kPlain, Style::kDim);
  return std::move(page).Take();
}

}  // namespace headroom
