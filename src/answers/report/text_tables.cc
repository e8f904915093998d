#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "analysis/loop/stacks.h"
#include "analysis/verdict/remedies.h"
#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {
namespace {

template <typename Row>
RowColumn<Row> Share() {
  return {"share", Kind::kNumber, [](const Row& r) { return Span{FormatPercent(r.share_pct)}; }};
}

template <typename Row>
RowColumn<Row> Calls() {
  return {"calls", Kind::kNumber, [](const Row& r) { return Span{FormatCount(r.count)}; }};
}

template <typename Row>
RowColumn<Row> GpuTime() {
  return {"GPU time", Kind::kNumber, [](const Row& r) {
            return Span{FormatMs(r.total), Style::kBold};
          }};
}

Span OptionalMs(const std::optional<DurationNs>& duration) {
  return {duration ? FormatMs(*duration) : "-"};
}

/// Returns the roofline bound of a row: "compute 63 %".
RowColumn<TimeRow> Bound() {
  return {"bound", Kind::kText, [](const TimeRow& r) {
            return Span{r.roofline_pct && !r.bound.empty()
                            ? fmt::format("{} {}", r.bound, FormatPercent(*r.roofline_pct))
                            : r.bound};
          }};
}

/// Returns `column`, with empty cells if there is no GPU work.
RowColumn<TimeRow> OfGpu(const TextContext& c, RowColumn<TimeRow> column) {
  if (!c.HasGpuWork()) column.cell = [](const TimeRow&) { return Span{}; };
  return column;
}

/// Returns text such as "No operators were recorded (ProfilerActivity.CPU)."
std::string NotRecorded(const TextContext& c, std::string_view what, ImportIssue issue) {
  return fmt::format("No {} were recorded ({}).", what, RemedyOf(issue, c.file.input.recorded_as));
}

}  // namespace

void WriteKernels(TextContext& c) {
  const std::string none = c.NoGpuWorkSentence();
  std::vector<RowColumn<TimeRow>> columns = {
      {"kernel", Kind::kKernel, [](const TimeRow& r) { return Span{r.name}; }},
      GpuTime<TimeRow>(),
      Share<TimeRow>(),
      {"per step", Kind::kNumber,
       [](const TimeRow& r) { return Span{r.per_step ? FormatMs(*r.per_step) : ""}; }},
      Calls<TimeRow>(),
      {"mean", Kind::kNumber, [](const TimeRow& r) { return Span{MeanText(r)}; }},
      {"min", Kind::kNumber, [](const TimeRow& r) { return Span{FormatUs(r.min)}; }, true},
      {"max", Kind::kNumber, [](const TimeRow& r) { return Span{FormatUs(r.max)}; }, true},
      {"class", Kind::kText, [](const TimeRow& r) { return Span{r.kind}; }, true},
      {"TC", Kind::kText,
       [](const TimeRow& r) { return Span{r.tensor_cores == "unknown" ? "?" : r.tensor_cores}; },
       true},
      Bound()};
  std::string meaning =
      "GPU time by kernel, copy or set. per step: in the counted steps. TC: tensor cores, by "
      "name.";
  bool counted = false;
  const auto add = [&](const char* head, std::optional<double> UnitUse::*figure) {
    if (std::none_of(c.file.kernels.begin(), c.file.kernels.end(),
                     [&](const TimeRow& row) { return (row.units.*figure).has_value(); }))
      return;
    counted = true;
    columns.push_back({head, Kind::kNumber, [figure](const TimeRow& row) {
                         const std::optional<double>& pct = row.units.*figure;
                         return Span{pct ? FormatPercent(*pct) : ""};
                       }});
  };
  add("SMs", &UnitUse::sm_active_pct);
  add("tensor", &UnitUse::tensor_active_pct);
  add("DRAM", &UnitUse::dram_active_pct);
  if (counted) meaning += " SMs, tensor, DRAM: how busy these units are, by hardware counters.";
  WriteTable<TimeRow>(c, {"Kernels", meaning, none}, c.file.kernels, columns);
}

void WriteOperators(TextContext& c) {
  std::vector<TimeRow> shown = c.file.operators;
  if (c.HasGpuWork() && !c.options.only)
    std::erase_if(shown, [](const TimeRow& row) { return row.total.ns() == 0; });
  WriteTable<TimeRow>(
      c,
      {"Operators",
       c.HasGpuWork() ? "GPU time by the innermost framework operator that launched it. bound: "
                        "what limits it on this GPU, and how close it gets."
                      : "The operators that the host ran.",
       NotRecorded(c, "operators", ImportIssue::kNoOperators)},
      shown,
      {{"operator", Kind::kName, [](const TimeRow& r) { return Span{r.name}; }},
       OfGpu(c, GpuTime<TimeRow>()),
       OfGpu(c, Share<TimeRow>()),
       Calls<TimeRow>(),
       {"own host time", Kind::kNumber, [](const TimeRow& r) { return OptionalMs(r.self_host); }},
       Bound()});
}

void WriteLayers(TextContext& c) {
  WriteTable<TimeRow>(
      c,
      {"Layers",
       c.HasGpuWork() ? "GPU time by layer of the model, including the layer's backward pass."
                      : "The layers of the model that the host ran.",
       "No layers were recorded: use with_stack=True, or record_function(\"layer::NAME\") around "
       "each module."},
      c.file.layers,
      {{"layer", Kind::kName, [](const TimeRow& r) { return Span{r.name}; }},
       OfGpu(c, GpuTime<TimeRow>()),
       OfGpu(c, Share<TimeRow>()),
       Calls<TimeRow>(),
       {"own host time", Kind::kNumber,
        [&c](const TimeRow& r) { return c.HasGpuWork() ? Span{} : OptionalMs(r.self_host); }},
       OfGpu(c, {"forward", Kind::kNumber, [](const TimeRow& r) { return OptionalMs(r.forward); }}),
       OfGpu(c,
             {"backward", Kind::kNumber, [](const TimeRow& r) { return OptionalMs(r.backward); }}),
       Bound()});
}

void WriteLines(TextContext& c) {
  WriteTable<LineRow>(
      c,
      {"Source lines",
       "GPU time by the line of your program that caused it, including the backward pass of that "
       "line's operators.",
       NotRecorded(c, "Python frames", ImportIssue::kNoStacks)},
      c.file.lines,
      {{"line", Kind::kName, [](const LineRow& r) { return Span{r.location}; }},
       GpuTime<LineRow>(),
       Share<LineRow>(),
       Calls<LineRow>(),
       {"forward", Kind::kNumber, [](const LineRow& r) { return Span{FormatMs(r.forward)}; }},
       {"backward", Kind::kNumber, [](const LineRow& r) { return Span{FormatMs(r.backward)}; }}});
}

void WriteStacks(TextContext& c) {
  WriteTable<StackRow>(
      c,
      {"Python",
       "Where Python's main thread was, by line of your code: the innermost one of each sample. "
       "in: "
       "the part of the step.",
       "No stacks were sampled: `headroom record` samples those of Python programs that train."},
      ByOwnLine(c.file.stacks),
      {{"line", Kind::kName, [](const StackRow& r) { return Span{r.stack}; }},
       {"time", Kind::kNumber,
        [](const StackRow& r) {
          return Span{FormatMs(r.total), Style::kBold};
        }},
       Share<StackRow>(),
       {"samples", Kind::kNumber, [](const StackRow& r) { return Span{FormatCount(r.samples)}; }},
       {"in", Kind::kText, [](const StackRow& r) { return Span{r.part}; }}});
}

void WriteClasses(TextContext& c) {
  const std::string none = c.NoGpuWorkSentence();
  const std::span<const ClassRow> shown =
      BeginTable(c, {"Kernel classes", "GPU time by kind of work.", none}, c.file.classes);
  DurationNs largest;
  for (const ClassRow& row : shown) largest = std::max(largest, row.total);
  for (const ClassRow& row : shown) {
    const std::string name = CutMiddle(Printable(row.name, c.page.charset()), 20, c.page.charset());
    std::vector<Span> line = {
        {fmt::format("  {}{}{:>11}{:>9}{:>9}  ", name, std::string(21 - DisplayWidth(name), ' '),
                     FormatMs(row.total), FormatPercent(row.share_pct), FormatCount(row.count))}};
    for (Span& span : c.page.Bar(row.total.ms(), row.total.ms(), largest.ms(), c.BarWidth(52)))
      line.push_back(std::move(span));
    c.page.Line(line);
  }
  c.More(shown.size(), c.file.classes.size(), Section::kClasses);
}

void WriteSyncs(TextContext& c) {
  WriteTable<SyncRow>(c,
                      {"Synchronizations",
                       "Calls that block the host until the GPU is done. The cost of a call is the "
                       "GPU idle time after it, not the time that it blocks the host.",
                       "No blocking calls were recorded."},
                      c.file.syncs,
                      {{"call", Kind::kName, [](const SyncRow& r) { return Span{r.name}; }},
                       {"called by", Kind::kName,
                        [](const SyncRow& r) { return Span{r.where.empty() ? "?" : r.where}; }},
                       Calls<SyncRow>(),
                       {"host blocked", Kind::kNumber,
                        [](const SyncRow& r) { return Span{FormatMs(r.host)}; }, true},
                       {"GPU idle after", Kind::kNumber,
                        [](const SyncRow& r) {
                          return Span{FormatMs(r.gpu_idle), Style::kBold};
                        }},
                       {"in mean step", Kind::kNumber,
                        [](const SyncRow& r) { return Span{FormatMs(r.in_mean_step)}; }}});
}

void WriteEfficiency(TextContext& c) {
  const Efficiency& e = c.file.efficiency;
  c.page.Heading("Efficiency", c.job.SlowestNote(), Style::kDim);
  c.Meaning(
      c.file.steps.list.empty()
          ? "The trace's share of the GPU's peak compute."
          : "The steps' share of the GPU's peak compute. Shares of GPU time refer to the steps.");
  const auto row = [&](std::string_view name, const std::optional<std::string>& figure,
                       const std::string& note) {
    if (!figure)
      return c.page.Line({{fmt::format("  {:<20}{:>14}", name, "unknown"), Style::kDim}});
    c.page.Paragraph(fmt::format("  {:<20}{:>14}  ", name, *figure), note.empty() ? " " : note,
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
  row("peak", flops(e.peak_tflops ? std::optional(*e.peak_tflops * 1e12) : std::nullopt, "FLOP/s"),
      fmt::format("dense, {}", e.math_dtype.empty() ? "type unknown" : e.math_dtype));
  row("MFU", percent(e.mfu_pct), e.mfu_formula);
  if (!e.error.empty()) c.page.Paragraph("  no MFU: ", Sentence(e.error), Style::kBad, Style::kBad);
  row("costed", percent(e.costed_pct), "share of GPU time whose FLOPs and bytes are known");
  row("compute-bound", percent(e.compute_bound_pct), "share of GPU time limited by compute");
  row("memory-bound", percent(e.memory_bound_pct), "share of GPU time limited by device memory");
  if (e.impossible_pct.value_or(0) > 0) {
    row("impossible", percent(e.impossible_pct),
        "share of GPU time that beats this GPU's peak: shapes or times are wrong");
  }
  row("tensor-core work", percent(e.tensor_core_eligible_pct),
      "share of GPU time: matrix products, convolutions, attention");
  row("on tensor cores", percent(e.tensor_core_used_pct),
      e.tensor_core_unknown_pct.value_or(0) > 0
          ? fmt::format("share of tensor-core work, by kernel name; unknown for {}",
                        FormatPercent(*e.tensor_core_unknown_pct))
          : "share of tensor-core work, by kernel name");
  const auto busy = [&](const char* name, const std::optional<double>& pct) {
    if (pct) row(name, FormatPercent(*pct), "busy while the GPU works, by hardware counters");
  };
  busy("SMs", e.units.sm_active_pct);
  busy("tensor cores", e.units.tensor_active_pct);
  busy("DRAM", e.units.dram_active_pct);
  row("unclassified", FormatPercent(e.unclassified_pct),
      "share of GPU time in kernels that no rule classifies");
}

}  // namespace headroom
