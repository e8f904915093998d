// `headroom report`: the report for a terminal, at most 100 columns wide.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"
#include "answers/report/section.h"
#include "render/escape.h"

namespace headroom {

/// Rows of a list that the whole report shows where ReportOptions::top is absent.
inline constexpr std::size_t kTextTop = 10;

struct TextOptions : ReportOptions {
  bool color = false;
  Charset charset = Charset::kUtf8;
  /// Print this section alone, with all its rows unless `top` says otherwise.
  std::optional<Section> only;
};

/// The report: health first, then the verdict, where the time goes, findings and tables. REQUIRES:
/// `files` is not empty.
///
/// With several files, tables and breakdown are those of the slowest rank; health, steps and GPU
/// time show all.
std::string RenderText(std::span<const TraceReport> files, const TextOptions& options);

}  // namespace headroom
