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

/// Rows of a list that the whole report shows where ReportOptions::top is absent.
inline constexpr std::size_t kTextTop = 10;

struct TextOptions : ReportOptions {
  PageStyle style;
  /// Print this section alone, with all its rows unless `top` says otherwise.
  std::optional<Section> only;
};

/// One screen, 24 lines at 80 columns unless a command needs more: what limits the step, where its
/// time goes, what to do about it. Several files: those of the slowest rank. Requires that `files`
/// is not empty.
std::string RenderSummary(std::span<const TraceReport> files, const TextOptions& options);

/// All sections: health first, then the verdict, where the time goes, findings and tables.
/// REQUIRES: `files` is not empty.
///
/// With several files, tables and breakdown are those of the slowest rank; health, steps and GPU
/// time show all.
std::string RenderText(std::span<const TraceReport> files, const TextOptions& options);

}  // namespace headroom
