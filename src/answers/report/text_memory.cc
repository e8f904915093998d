#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {
namespace {

std::string Bytes(std::int64_t bytes) { return FormatBytes(static_cast<double>(bytes)); }

/// Returns a kind as plain words.
std::string Words(std::string_view kind) {
  std::string words(kind);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::optional<std::int64_t> MemoryOfGpu(const TraceReport& file, std::int64_t number) {
  for (const DeviceInfo& device : file.input.devices) {
    if (device.id == number) return device.memory_bytes;
  }
  return std::nullopt;
}

void Peak(TextContext& c, const MemoryUse& use) {
  std::string name = use.device ? fmt::format("GPU {}", *use.device) : "host";
  if (!use.process.empty()) name += fmt::format(" (process {})", use.process);
  std::string text = fmt::format("{} allocated at most", Bytes(use.peak.allocated_bytes));
  if (use.peak_step) text += fmt::format(", in step {}", *use.peak_step);
  if (use.most_reserved_bytes && *use.most_reserved_bytes > 0) {
    text += fmt::format("; {} taken from the driver", Bytes(*use.most_reserved_bytes));
    const std::optional<std::int64_t> all =
        use.device ? MemoryOfGpu(c.file, *use.device) : std::nullopt;
    if (all)
      text += fmt::format(", of the GPU's {}", FormatDeviceMemory(static_cast<double>(*all)));
  }
  c.page.Paragraph(fmt::format("  {:<8} ", name), text, Style::kBold);
  if (use.growth_bytes_per_step && *use.growth_bytes_per_step > 0) {
    c.page.Paragraph(
        "           ",
        fmt::format("each step leaves {} more allocated than the previous step (median; {} steps)",
                    Bytes(*use.growth_bytes_per_step),
                    FormatCount(static_cast<std::int64_t>(use.steps.size()))));
  }
}

void Parts(TextContext& c, const MemoryUse& use) {
  constexpr std::size_t kBarWidth = 40;
  for (const MemoryPart& part : use.parts) {
    std::vector<Span> spans = {{fmt::format(
        "  {:<16}{:>10}{:>8}  ", Words(part.kind), Bytes(part.bytes),
        FormatPercent(100.0 * static_cast<double>(part.bytes) /
                      static_cast<double>(std::max<std::int64_t>(1, use.peak.allocated_bytes))))}};
    for (Span& span : c.page.Bar(static_cast<double>(part.bytes), static_cast<double>(part.bytes),
                                 static_cast<double>(use.peak.allocated_bytes), kBarWidth))
      spans.push_back(std::move(span));
    c.page.Line(spans);
  }
}

}  // namespace

void WriteMemory(TextContext& c) {
  c.page.Heading("Memory", c.job.single() ? "" : c.job.SlowestNote(), Style::kDim);
  if (c.file.memory.empty()) {
    return c.None(
        "Not recorded: torch.profiler.profile(profile_memory=True) records allocations. headroom "
        "predict estimates memory from shapes.");
  }
  c.Meaning(
      "The framework's allocations at the peak, by purpose, inferred from when they were allocated "
      "and freed (docs/report.md).");
  // The host holds only a few scalars in most traces.
  constexpr std::int64_t kWorthShowing = 1'000'000;
  for (const MemoryUse& use : c.file.memory) {
    if (!use.device && use.peak.allocated_bytes < kWorthShowing && c.file.memory.size() > 1)
      continue;
    Peak(c, use);
    Parts(c, use);
    if (use.holders.empty()) continue;
    const std::size_t shown = std::min(use.holders.size(), c.Top());
    // Omits an empty column. A source line is more specific than its module.
    const bool has_lines = std::any_of(use.holders.begin(), use.holders.end(),
                                       [](const MemoryHolder& h) { return !h.line.empty(); });
    WriteTable<MemoryHolder>(
        c.page, std::span(use.holders.data(), shown),
        {{"allocated by", Kind::kName,
          [](const MemoryHolder& h) {
            return Span{h.operator_name.empty() ? "outside of operators" : h.operator_name};
          }},
         has_lines ? RowColumn<MemoryHolder>{"source line", Kind::kName,
                                             [](const MemoryHolder& h) { return Span{h.line}; }}
                   : RowColumn<MemoryHolder>{"layer", Kind::kName,
                                             [](const MemoryHolder& h) { return Span{h.layer}; }},
         {"for", Kind::kText, [](const MemoryHolder& h) { return Span{Words(h.kind)}; }},
         {"at the peak", Kind::kNumber,
          [](const MemoryHolder& h) {
            return Span{Bytes(h.bytes), Style::kBold};
          }},
         {"pieces", Kind::kNumber,
          [](const MemoryHolder& h) { return Span{FormatCount(h.allocations)}; }}});
    c.More(shown, use.holders.size(), Section::kMemory);
  }
}

}  // namespace headroom
