#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "answers/predict/render.h"
#include "base/units.h"
#include "render/number_format.h"
#include "render/text_page.h"
#include "render/text_table.h"

namespace headroom {
namespace {

std::string StepText(const PredictedMs& ms) { return FormatTimeBetween(ms.mid, ms.low, ms.high); }

void WriteMemory(TextPage& page, const PredictBaseline& baseline) {
  if (!baseline.memory) {
    page.Paragraph("  Memory    ", "unknown: " + baseline.no_memory, Style::kBold, Style::kDim);
    return;
  }
  const JobMemory& memory = *baseline.memory;
  const MemoryParts& parts = memory.peak.parts;
  const std::string optimizer =
      memory.model->optimizer().empty()
          ? ""
          : fmt::format(", optimizer state {} ({})", FormatBytes(parts.optimizer_state),
                        memory.model->optimizer());
  std::string text = fmt::format(
      "{} at the peak: parameters {}, gradients {}{}, activations {}, other tensors {}, workspaces "
      "{}; reserved {}",
      FormatBytes(memory.peak.peak_bytes), FormatBytes(parts.parameters),
      FormatBytes(parts.gradients), optimizer, FormatBytes(parts.activations),
      FormatBytes(parts.temporaries), FormatBytes(parts.workspace),
      FormatBytes(memory.reserved_bytes));
  if (memory.recorded_bytes && !memory.recorded)
    text += fmt::format("; recorded {}", FormatBytes(*memory.recorded_bytes));
  page.Paragraph("  Memory    ", text, Style::kBold);
  if (memory.recorded) {
    const RecordedMemory& told = *memory.recorded;
    page.Paragraph(
        "  Recorded  ",
        fmt::format("{} at the peak: parameters {}, gradients {}, optimizer {}, activations {}, "
                    "inputs {}, temporary {}, autograd {}, unknown {}",
                    FormatBytes(told.Total()), FormatBytes(told.parameters),
                    FormatBytes(told.gradients), FormatBytes(told.optimizer_state),
                    FormatBytes(told.activations), FormatBytes(told.inputs),
                    FormatBytes(told.temporaries), FormatBytes(told.autograd),
                    FormatBytes(told.unknown)),
        Style::kBold);
  }
  if (const std::string doubt = memory.Doubt(); !doubt.empty())
    page.Paragraph("            ", "Check that the timeline belongs to this job: " + doubt,
                   Style::kBold, Style::kWarning);
  if (const std::string doubt = memory.BatchDoubt(); !doubt.empty()) {
    page.Paragraph("            ",
                   doubt +
                       ": the ranges of memory and batches assume workspaces that stay constant or "
                       "grow with the batch",
                   Style::kBold, Style::kWarning);
  }
  if (memory.sharded.empty()) return;
  text = "memory per rank:";
  for (const ShardedMemory& sharded : memory.sharded) {
    text += fmt::format("{} {} with stage {} on {}", &sharded == &memory.sharded.front() ? "" : ",",
                        FormatBytes(sharded.peak_bytes), sharded.sharding.stage,
                        sharded.sharding.ranks);
  }
  page.Paragraph("  Sharded   ", text + " GPUs (ZeRO)", Style::kBold);
}

void WriteEnergyParts(TextPage& page, const StepEnergy& energy, std::int64_t gpus,
                      std::optional<std::int64_t> samples) {
  if (energy.idle_joules <= 0) return;
  std::string text =
      fmt::format("forward {}, backward {}, optimizer {}, other work {}, and {} idle power",
                  FormatEnergy(energy.phase_joules[0]), FormatEnergy(energy.phase_joules[1]),
                  FormatEnergy(energy.phase_joules[2]), FormatEnergy(energy.phase_joules[3]),
                  FormatEnergy(energy.idle_joules));
  if (samples)
    text += fmt::format("; {} per sample",
                        FormatEnergy(energy.joules / static_cast<double>(*samples * gpus)));
  page.Paragraph("            ", text, Style::kBold);
}

void WriteBaseline(TextPage& page, const PredictBaseline& baseline) {
  page.Heading("As it is", fmt::format("{}, {}", baseline.gpu, baseline.trace), Style::kDim);
  if (!baseline.steps_note.empty())
    page.Paragraph("  Steps     ", baseline.steps_note, Style::kBold, Style::kWarning);
  page.Paragraph("  Step      ", StepText(baseline.step) + " without the profiler", Style::kBold);
  page.Paragraph("  Limits    ",
                 fmt::format("the host alone takes {}, the GPU alone {}",
                             FormatMs(baseline.host_ms), FormatMs(baseline.gpu_ms)),
                 Style::kBold);
  if (baseline.gpus > 1) {
    page.Paragraph("  Job       ",
                   fmt::format("on {} GPUs, assumed to do the same work as the recorded one; "
                               "energy, money and CO2 are totals",
                               baseline.gpus),
                   Style::kBold);
  }
  if (baseline.energy) {
    page.Paragraph("  Energy    ",
                   fmt::format("{} per step, 80 % interval of {:.0f} % to either side ({})",
                               FormatEnergy(baseline.energy->joules), 100 * baseline.energy->error,
                               baseline.energy->source == EnergySource::kModel
                                   ? "modelled from the work of the step and the card's power limit"
                               : baseline.energy->source == EnergySource::kCounter
                                   ? "measured by the GPU's energy counter"
                                   : "integrated from power samples"),
                   Style::kBold);
    WriteEnergyParts(page, *baseline.energy, baseline.gpus, baseline.samples);
  }
  WriteMemory(page, baseline);
  if (baseline.ratio_only_share > 0) {
    page.Paragraph("  Models    ",
                   fmt::format("{} of the GPU time is in kernels without shapes, scaled only by "
                               "ratios of the GPUs' figures",
                               FormatPercent(100 * baseline.ratio_only_share)),
                   Style::kBold);
  }
}

std::string Optional(const std::optional<double>& value, std::string_view format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "";
}

/// Writes each distinct text once, after the GPUs that share it: "A, B: text".
void WriteGrouped(TextPage& page, const std::vector<PredictedTarget>& targets,
                  std::string PredictedTarget::*text) {
  std::vector<const PredictedTarget*> told;
  for (const PredictedTarget& target : targets) {
    const auto same = [&](const PredictedTarget* other) { return other->*text == target.*text; };
    if ((target.*text).empty() || std::any_of(told.begin(), told.end(), same)) continue;
    told.push_back(&target);
    std::string names;
    for (const PredictedTarget& other : targets) {
      if (other.*text == target.*text) names += (names.empty() ? "" : ", ") + other.gpu;
    }
    page.Paragraph("  * ", fmt::format("{}: {}.", names, target.*text), Style::kPlain, Style::kDim);
  }
}

void WriteCalibrated(TextPage& page, const std::vector<PredictedTarget>& targets) {
  for (const PredictedTarget& target : targets) {
    if (target.measured_operators == 0) continue;
    page.Paragraph(
        "  ",
        fmt::format("{}: {} measured on it, covering {} of the GPU time.", target.gpu,
                    Plural(static_cast<std::int64_t>(target.measured_operators), "operator"),
                    FormatPercent(100 * target.measured_share)),
        Style::kPlain, Style::kDim);
  }
}

/// Names the GPUs in adjacent rows whose ranges overlap. Requires targets in order of time.
void WriteTies(TextPage& page, const std::vector<PredictedTarget>& targets) {
  constexpr std::size_t kMaxNames = 8;
  for (std::size_t begin = 0; begin < targets.size();) {
    std::size_t end = begin + 1;
    while (end < targets.size() && targets[end].step.low <= targets[end - 1].step.high) ++end;
    const std::size_t count = end - begin;
    std::vector<std::string_view> names;
    for (std::size_t i = begin; i < end; ++i) names.push_back(targets[i].gpu);
    std::string text;
    if (count > kMaxNames) {
      text = fmt::format(
          "{} to {}, {} GPUs in adjacent rows: ranges of neighbours overlap, so their order is "
          "uncertain.",
          names.front(), names.back(), count);
    } else if (count > 1) {
      text = fmt::format("{}: ranges of neighbours overlap, so their order is uncertain.",
                         fmt::join(names, ", "));
    }
    if (!text.empty()) page.Paragraph("  ", text, Style::kPlain, Style::kDim);
    begin = end;
  }
}

/// Returns "A100-80", or "8 x A100-80" for several.
std::string Times(std::int64_t count, std::string_view what) {
  return count == 1 ? std::string(what) : fmt::format("{} x {}", count, what);
}

/// Returns a text such as "53.15 USD". Amounts below a cent keep two digits.
std::string Money(double amount, std::string_view currency) {
  constexpr double kCent = 0.01, kMin = 0.0001;
  if (amount >= kCent || amount <= 0) return fmt::format("{:.2f} {}", amount, currency);
  if (amount < kMin) return fmt::format("<{} {}", kMin, currency);
  return fmt::format("{:.2g} {}", amount, currency);
}

std::string Co2(const std::optional<double>& kg) { return kg ? FormatMass(*kg) : ""; }

/// Returns a warning unless the job fits: without enough memory, its predicted time is useless.
Span FitNote(const PredictedTarget& target) {
  if (target.fits == false) return {"does not fit", Style::kBad};
  if (!target.fits && target.memory_bytes) return {"may not fit", Style::kWarning};
  return {};
}

void WriteJobs(TextPage& page, const std::vector<PredictedTarget>& targets) {
  page.Heading("The whole job", "", Style::kDim);
  WriteTable<PredictedTarget>(
      page, targets,
      {{"GPU", Kind::kName, [](const PredictedTarget& t) { return Span{Times(t.gpus, t.gpu)}; }},
       {"time", Kind::kNumber,
        [](const PredictedTarget& t) { return Span{t.hours ? FormatHours(*t.hours) : ""}; }},
       {targets.front().gpus == 1 ? "cheapest, one GPU" : "cheapest instance", Kind::kNumber,
        [](const PredictedTarget& t) { return Span{t.money ? Money(*t.money, t.currency) : ""}; }},
       {"CO2", Kind::kNumber, [](const PredictedTarget& t) { return Span{Co2(t.co2_kg)}; }},
       {"", Kind::kText, FitNote}});
}

void WriteCurve(TextPage& page, const PredictedTarget& target) {
  if (!target.batch_curve) return;
  const TargetBatchCurve& curve = *target.batch_curve;
  page.Heading("Batch size", target.gpu, Style::kDim);
  WriteTable<TargetBatch>(
      page, curve.points,
      {{"samples", Kind::kNumber,
        [](const TargetBatch& p) { return Span{fmt::format("{}", p.samples)}; }},
       {"step", Kind::kNumber, [](const TargetBatch& p) { return Span{StepText(p.step)}; }},
       {"samples/s", Kind::kNumber,
        [](const TargetBatch& p) { return Span{fmt::format("{:.1f}", p.samples_per_s)}; }},
       {"memory", Kind::kNumber,
        [](const TargetBatch& p) {
          if (!p.memory_bytes) return Span{"unknown"};
          const double other = p.memory_other_bytes.value_or(*p.memory_bytes);
          if (FormatBytes(other) == FormatBytes(*p.memory_bytes)) return Span{FormatBytes(other)};
          return Span{fmt::format("{} to {}", FormatBytes(std::min(other, *p.memory_bytes)),
                                  FormatBytes(std::max(other, *p.memory_bytes)))};
        }},
       {"", Kind::kText, [&](const TargetBatch& p) {
          if (p.beyond) return Span{"does not fit", Style::kBad};
          if (p.fits == false) return Span{"tight", Style::kWarning};
          if (!p.fits && p.memory_other_bytes) return Span{"may not fit", Style::kWarning};
          std::string note;
          const auto also = [&](std::string_view text) {
            note += (note.empty() ? "" : ", ") + std::string(text);
          };
          if (p.samples == curve.recorded) also("recorded");
          if (p.samples == curve.knee) also("knee");
          if (p.samples == curve.best) also("best that fits");
          return Span{note, note == "recorded" ? Style::kDim : Style::kGood};
        }}});
}

std::string EnergyText(const StepEnergy& energy, Charset charset) {
  // With a larger error, the range would begin below 0.
  return energy.error < 1
             ? fmt::format("{} {}{:.0f} %", FormatEnergy(energy.joules),
                           charset == Charset::kUtf8 ? "\u00b1" : "+-", 100 * energy.error)
             : fmt::format("{}, to {}", FormatEnergy(energy.joules),
                           FormatEnergy(energy.joules * (1 + energy.error)));
}

void WriteTargets(TextPage& page, const std::string& change, std::vector<PredictedTarget> targets,
                  const std::string& workload) {
  std::stable_sort(targets.begin(), targets.end(),
                   [](const auto& a, const auto& b) { return a.step.mid < b.step.mid; });
  page.Heading(change.empty() ? "Step on other GPUs" : "Step on other GPUs, with " + change,
               workload, Style::kDim);
  WriteTable<PredictedTarget>(
      page, targets,
      {{"GPU", Kind::kName,
        [](const PredictedTarget& t) { return Span{t.gpu + (t.doubt.empty() ? "" : " *")}; }},
       {"step", Kind::kNumber,
        [](const PredictedTarget& t) {
          return Span{StepText(t.step), Style::kBold};
        }},
       {"unchanged", Kind::kNumber,
        [](const PredictedTarget& t) { return Span{t.unchanged ? StepText(*t.unchanged) : ""}; }},
       {"speedup", Kind::kNumber,
        [](const PredictedTarget& t) { return Span{t.speedup ? FormatFactor(*t.speedup) : ""}; }},
       {"fits", Kind::kText,
        [](const PredictedTarget& t) {
          if (t.fit_confidence == FitConfidence::kLikely) return Span{"likely", Style::kGood};
          return t.fits ? Span{*t.fits ? "yes" : "no", *t.fits ? Style::kGood : Style::kBad}
                        : Span{t.memory_bytes ? "?" : ""};
        }},
       {"max batch", Kind::kNumber,
        [](const PredictedTarget& t) {
          if (!t.largest_batch || !t.largest_batch_at_best)
            return Span{Optional(t.largest_batch, "{:.0f}")};
          return Span{fmt::format("{:.0f}-{:.0f}", *t.largest_batch, *t.largest_batch_at_best)};
        }},
       {"limit", Kind::kText, [](const PredictedTarget& t) { return Span{t.limited_by}; }},
       {"energy", Kind::kNumber, [&](const PredictedTarget& t) {
          return Span{t.energy ? EnergyText(*t.energy, page.charset()) : ""};
        }}});
  const auto carried = std::find_if(targets.begin(), targets.end(), [](const auto& target) {
    return target.energy && target.energy->carried;
  });
  if (carried != targets.end()) {
    page.Paragraph(
        "  ",
        fmt::format("Energy that was not measured is the model's value multiplied by {:.2f}, the "
                    "ratio of measured to modelled energy on the recorded GPU.",
                    *carried->energy->carried),
        Style::kPlain, Style::kDim);
  }
  WriteGrouped(page, targets, &PredictedTarget::doubt);
  WriteCalibrated(page, targets);
  WriteTies(page, targets);
  if (!targets.empty() && targets.front().hours) WriteJobs(page, targets);
  for (const PredictedTarget& target : targets) WriteCurve(page, target);
  const bool any = std::any_of(targets.begin(), targets.end(), [](const PredictedTarget& target) {
    return target.batch_curve.has_value();
  });
  if (any) {
    page.Blank();
    page.Paragraph("  ",
                   "Beyond the knee, doubling the batch adds less than 10 % throughput. Tight: "
                   "less than 10 % of the memory is unreserved.",
                   Style::kPlain, Style::kDim);
  }
}

/// Writes the options of one job.
void WriteOptionsOf(TextPage& page, std::span<const PlannedOption> options) {
  constexpr std::size_t kMonth = std::string_view("2024-05").size();
  const std::string& job = options.front().workload;
  page.Heading("Instances to rent", job.empty() ? "by price" : job, Style::kDim);
  WriteTable<PlannedOption>(
      page, options,
      {{"instance", Kind::kName,
        [](const PlannedOption& o) {
          const InstancePrice& instance = o.option.instance;
          return Span{Times(o.option.instances, fmt::format("{} {} {}", instance.provider,
                                                            instance.instance, instance.region))};
        }},
       {"GPU", Kind::kText,
        [](const PlannedOption& o) {
          return Span{
              Times(o.option.scaled_out ? o.option.instance.gpus : 1, o.option.instance.gpu)};
        }},
       {"per hour", Kind::kNumber,
        [](const PlannedOption& o) {
          return Span{fmt::format("{:.2f}", static_cast<double>(o.option.instances) *
                                                o.option.instance.price_per_hour)};
        }},
       {"time", Kind::kNumber,
        [](const PlannedOption& o) { return Span{FormatHours(o.option.hours)}; }},
       {"money", Kind::kNumber,
        [](const PlannedOption& o) {
          return Span{Money(o.option.money, o.option.instance.currency), Style::kBold};
        }},
       {"CO2", Kind::kNumber, [](const PlannedOption& o) { return Span{Co2(o.co2_kg)}; },
        /*optional=*/true},
       {"listed", Kind::kText,
        [](const PlannedOption& o) { return Span{o.option.instance.date.substr(0, kMonth)}; },
        /*optional=*/true},
       {"", Kind::kText, [](const PlannedOption& o) {
          const DeploymentOption& option = o.option;
          return Span{option.cheapest && option.fastest ? "best"
                      : option.cheapest                 ? "cheapest"
                      : option.fastest                  ? "fastest"
                      : option.pareto                   ? "pareto"
                                                        : "",
                      Style::kGood};
        }}});
}

void WriteOptions(TextPage& page, const PredictReport& report) {
  if (!report.total_steps) return;
  const std::string over_limits =
      report.options_over_limits > 0 ? fmt::format("{} over --max-hours or --max-money {} left out",
                                                   Plural(report.options_over_limits, "option"),
                                                   report.options_over_limits == 1 ? "is" : "are")
                                     : "";
  const std::string not_scaled_out = WhyNotScaledOut(report);
  const auto tell_left_out = [&] {
    if (not_scaled_out.empty()) return;
    page.Paragraph("  ", fmt::format("Instances of several GPUs are left out: {}", not_scaled_out),
                   Style::kPlain, Style::kDim);
  };
  if (report.options.empty()) {
    std::string why = "no instance in the list has one of these GPUs with enough memory";
    if (!over_limits.empty())
      why = fmt::format("no instance in the list meets the limits: {}", over_limits);
    else if (!not_scaled_out.empty())
      why = "no instance in the list has as many of these GPUs as the job";
    page.Paragraph("  Prices    ", why, Style::kBold,
                   over_limits.empty() ? Style::kDim : Style::kWarning);
    tell_left_out();
    return;
  }
  const std::span<const PlannedOption> all(report.options);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].workload == all[begin].workload) ++end;
    WriteOptionsOf(page, all.subspan(begin, end - begin));
  }
  std::vector<std::string> places;  // Each place once.
  for (const PlannedOption& planned : all) {
    if (!planned.co2_kg) continue;
    const InstancePrice& instance = planned.option.instance;
    std::string place =
        fmt::format("{} {}: {}", instance.provider, instance.region, planned.carbon);
    if (std::find(places.begin(), places.end(), place) == places.end())
      places.push_back(std::move(place));
  }
  if (!places.empty()) {
    page.Paragraph("  CO2       ", fmt::format("of instances: {}", fmt::join(places, "; ")),
                   Style::kBold, Style::kDim);
  }
  std::vector<std::string> links;  // Each link once.
  for (const PlannedOption& planned : all) {
    if (!planned.scaled_out) continue;
    const InstancePrice& instance = planned.option.instance;
    std::string link = fmt::format("{} {} as {}", instance.provider, instance.instance,
                                   planned.scaled_out->network);
    if (std::find(links.begin(), links.end(), link) == links.end())
      links.push_back(std::move(link));
  }
  if (!links.empty()) {
    page.Paragraph("  Links     ",
                   fmt::format("A one-GPU job on several GPUs keeps the recorded batch per GPU, so "
                               "it takes fewer steps. Gradients are all-reduced over the links of "
                               "one machine: {} (details: headroom scale).",
                               fmt::join(links, "; ")),
                   Style::kBold, Style::kDim);
  }
  tell_left_out();
  const bool spread =
      std::any_of(report.options.begin(), report.options.end(),
                  [](const PlannedOption& planned) { return planned.option.instances > 1; });
  if (spread) {
    page.Paragraph("  ",
                   "Communication between GPUs is assumed to take as long as recorded, even across "
                   "instances with slower networks. To model a network, use headroom scale.",
                   Style::kPlain, Style::kDim);
  }
  page.Paragraph(
      "  Prices    ",
      over_limits.empty() ? report.prices : fmt::format("{}; {}", report.prices, over_limits),
      Style::kBold, Style::kDim);
}

}  // namespace

std::string WhyNotScaledOut(const PredictReport& report) {
  std::string text;
  for (const auto& [why, gpus] : report.not_scaled_out)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", fmt::join(gpus, ", "), why);
  return text;
}

std::string RenderPredictText(const PredictReport& report, const PageStyle& style) {
  TextPage page(style);
  std::size_t begin = 0, baseline = 0;
  while (begin < report.targets.size()) {
    std::size_t end = begin;
    while (end < report.targets.size() && report.targets[end].group == report.targets[begin].group)
      ++end;
    if (baseline < report.baselines.size()) WriteBaseline(page, report.baselines[baseline++]);
    WriteTargets(page, report.change,
                 {report.targets.begin() + static_cast<std::ptrdiff_t>(begin),
                  report.targets.begin() + static_cast<std::ptrdiff_t>(end)},
                 report.targets[begin].workload);
    begin = end;
  }
  if (!report.abstained.empty()) {
    page.Heading("Without an answer", "", Style::kDim);
    WriteAbstained(page, report.abstained, "  ! ");
  }
  if (report.targets.empty()) return std::move(page).Take();
  WriteOptions(page, report);
  page.Blank();
  if (!report.carbon.empty())
    page.Paragraph("  CO2       ", fmt::format("of the GPUs, at any location: {}", report.carbon),
                   Style::kBold, Style::kDim);
  for (const std::string& equivalent : report.equivalents)
    page.Paragraph("            ", equivalent, Style::kPlain, Style::kDim);
  page.Paragraph("  Models    ", report.constants, Style::kBold, Style::kDim);
  return std::move(page).Take();
}

}  // namespace headroom
