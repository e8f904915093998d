// `headroom report` for a terminal: one screen, or all sections.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "answers/report/section.h"
#include "render/text_page.h"

namespace headroom {

/// Rows of each list in the whole report if ReportOptions::top is absent.
inline constexpr std::size_t kTextTop = 10;

struct TextOptions : ReportOptions {
  PageStyle style;
  /// Prints only this section, with all its rows unless `top` is set.
  std::optional<Section> only;
};

/// Returns one screen: what limits the step, where its time goes, and what to do about it. It has
/// 24 lines at 80 columns, or more if a command is long. With several files, shows the slowest
/// rank. Requires that `files` is not empty.
std::string RenderSummary(std::span<const TraceReport> files, const TextOptions& options);

/// Returns all sections: health first, then the verdict, where the time goes, findings and tables.
/// Requires that `files` is not empty.
///
/// With several files, tables and breakdown are those of the slowest rank. Health, steps and GPU
/// time show all ranks.
std::string RenderText(std::span<const TraceReport> files, const TextOptions& options);

}  // namespace headroom
