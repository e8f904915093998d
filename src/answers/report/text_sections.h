// The sections of the text report. Each function writes to the page of its context.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "answers/report/job_report.h"
#include "answers/report/section.h"
#include "answers/report/text.h"
#include "render/number_format.h"
#include "render/text_page.h"
#include "render/text_table.h"

namespace headroom {

/// Input of every section, and the page that it writes to.
struct TextContext {
  const JobReport& job;
  const TraceReport& file;  ///< The file that represents all ranks.
  const TextOptions& options;
  TextPage page;

  /// Returns the maximum number of rows of a list.
  std::size_t Top() const;
  bool HasGpuWork() const { return !file.gpu_time.empty(); }
  /// Returns true if any rank has GPU work.
  bool AnyGpuWork() const;
  /// Returns why there is no GPU work, without a full stop, to end a sentence.
  std::string_view NoGpuWork() const;
  /// Returns NoGpuWork() as a sentence.
  std::string NoGpuWorkSentence() const;

  /// Returns the width of a bar in columns, if other text in its line takes `taken` columns.
  std::size_t BarWidth(std::size_t taken) const;
  /// Explains a section in a sentence below its heading.
  void Meaning(std::string_view sentence);
  /// Explains why a section is empty.
  void None(std::string_view why);
  /// Returns the flag that shows all rows of a section.
  std::string HowToSeeAll(Section section) const;
  void More(std::size_t shown, std::size_t all, Section section);
};

/// Title of a table of the slowest rank, its explanation, and the message if it has no rows.
struct TableWords {
  std::string_view title, meaning, none;
};

/// Returns the rows to show. If there are none, writes `words.none` and returns an empty span.
template <typename Row>
std::span<const Row> BeginTable(TextContext& c, const TableWords& words,
                                const std::vector<Row>& rows) {
  const std::span<const Row> shown(rows.data(), std::min(rows.size(), c.Top()));
  std::string note = shown.size() < rows.size()
                         ? fmt::format("top {} of {}", shown.size(),
                                       FormatCount(static_cast<std::int64_t>(rows.size())))
                         : "";
  if (!c.job.single()) note += (note.empty() ? "" : ", ") + c.job.SlowestNote();
  c.page.Heading(words.title, note, Style::kDim);
  if (rows.empty()) {
    c.None(words.none);
  } else {
    c.Meaning(words.meaning);
  }
  return shown;
}

template <typename Row>
void WriteTable(TextContext& c, const TableWords& words, const std::vector<Row>& rows,
                const std::vector<RowColumn<Row>>& columns) {
  const std::span<const Row> shown = BeginTable(c, words, rows);
  if (!shown.empty()) WriteTable(c.page, shown, columns);
}

void WriteHealth(TextContext& c);
void WriteBottleneck(TextContext& c);
void WriteSteps(TextContext& c);
void WriteBreakdown(TextContext& c);
void WriteLoop(TextContext& c);
/// Returns true if steps cover less than 99 % of the recording.
bool HasMoreThanSteps(const RunTime& run);
void WriteRun(TextContext& c);
void WriteRanks(TextContext& c);
void WriteGpu(TextContext& c);
void WriteIdle(TextContext& c);
void WriteFindings(TextContext& c);
void WriteKernels(TextContext& c);
void WriteOperators(TextContext& c);
void WriteLayers(TextContext& c);
void WriteLines(TextContext& c);
void WriteStacks(TextContext& c);
void WriteRegions(TextContext& c);
void WriteCallbacks(TextContext& c);
void WriteClasses(TextContext& c);
void WriteSyncs(TextContext& c);
void WriteEfficiency(TextContext& c);
void WriteMetrics(TextContext& c);
void WriteMemory(TextContext& c);

}  // namespace headroom
