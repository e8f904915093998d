#include "answers/report/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/verdict/health.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {
namespace {

bool Always(const TextContext&) { return true; }

/// Writes a section. The whole report omits a section without rows; --only always shows it.
struct SectionWriter {
  void (*write)(TextContext&);
  bool (*has_rows)(const TextContext&);
};

/// The writers, in the order of Section.
constexpr std::array<SectionWriter, kSectionNames.size()> kWriters = {{
    {WriteHealth, Always},
    {WriteBottleneck, Always},
    {WriteSteps, Always},
    {WriteBreakdown, Always},
    {WriteLoop, [](const TextContext& c) { return c.file.loop && c.file.breakdown; }},
    {WriteRun, [](const TextContext& c) { return c.file.run && HasMoreThanSteps(*c.file.run); }},
    {WriteRanks, [](const TextContext& c) { return c.options.ranks != nullptr; }},
    {WriteGpu, [](const TextContext& c) { return c.HasGpuWork() || !c.job.single(); }},
    {WriteIdle, [](const TextContext& c) { return !c.file.idle.empty(); }},
    {WriteFindings, Always},
    {WriteKernels, [](const TextContext& c) { return !c.file.kernels.empty(); }},
    {WriteOperators, [](const TextContext& c) { return !c.file.operators.empty(); }},
    {WriteLayers, [](const TextContext& c) { return !c.file.layers.empty(); }},
    {WriteLines, [](const TextContext& c) { return !c.file.lines.empty(); }},
    {WriteStacks, [](const TextContext& c) { return !c.file.stacks.empty(); }},
    {WriteRegions, [](const TextContext& c) { return !c.file.regions.empty(); }},
    {WriteCallbacks, [](const TextContext& c) { return !c.file.callbacks.empty(); }},
    {WriteClasses, [](const TextContext& c) { return !c.file.classes.empty(); }},
    {WriteSyncs, [](const TextContext& c) { return !c.file.syncs.empty(); }},
    {WriteEfficiency, [](const TextContext& c) { return c.HasGpuWork(); }},
    {WriteMetrics, [](const TextContext& c) { return !c.file.metrics.empty(); }},
    {WriteMemory, [](const TextContext& c) { return !c.file.memory.empty(); }},
}};

void WriteAll(TextContext& c) {
  for (const SectionWriter& writer : kWriters) {
    if (writer.has_rows(c)) writer.write(c);
  }
  c.page.Blank();
  c.page.Paragraph(
      "",
      "All rows: --only SECTION or --top N.  For programs: --json, --csv DIR.  For a pull "
      "request: --md.",
      Style::kPlain, Style::kDim);
}

}  // namespace

std::size_t TextContext::Top() const {
  if (options.top) return *options.top;
  return options.only ? static_cast<std::size_t>(-1) : kTextTop;
}

bool TextContext::AnyGpuWork() const {
  return std::any_of(job.files().begin(), job.files().end(),
                     [](const TraceReport& of) { return !of.gpu_time.empty(); });
}

std::string_view TextContext::NoGpuWork() const {
  return HasIssue(file.health, ImportIssue::kNotUnderstood)
             ? "the file has tracks that may be a GPU's, but Headroom does not know their form"
             : "no GPU work was recorded";
}

std::string TextContext::NoGpuWorkSentence() const {
  std::string sentence = fmt::format("{}.", NoGpuWork());
  sentence.front() = static_cast<char>(sentence.front() - 'a' + 'A');
  return sentence;
}

std::size_t TextContext::BarWidth(std::size_t taken) const {
  constexpr std::size_t kMin = 6, kMax = 60;
  return std::clamp(options.style.width - std::min(options.style.width, taken), kMin, kMax);
}

void TextContext::Meaning(std::string_view sentence) {
  page.Paragraph("  ", sentence, Style::kPlain, Style::kDim);
}

void TextContext::None(std::string_view why) { page.Paragraph("  ", why); }

std::string TextContext::HowToSeeAll(Section section) const {
  return options.only ? "drop --top" : fmt::format("--only {}", NameOf(section));
}

void TextContext::More(std::size_t shown, std::size_t all, Section section) {
  if (shown >= all) return;
  page.Line({{fmt::format("  {} more: {}", FormatCount(static_cast<std::int64_t>(all - shown)),
                          HowToSeeAll(section)),
              Style::kDim}});
}

std::string RenderText(std::span<const TraceReport> files, const TextOptions& options) {
  const JobReport job(files);
  TextContext context{job, job.slowest(), options, TextPage(options.style)};
  if (options.only) {
    kWriters[static_cast<std::size_t>(*options.only)].write(context);
  } else {
    WriteAll(context);
  }
  return std::move(context.page).Take();
}

}  // namespace headroom
