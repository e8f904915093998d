#include <fmt/format.h>

#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {

void WriteFindings(TextContext& c) {
  c.page.Heading("Findings", "", Style::kPlain);
  if (c.job.findings().empty())
    return c.None("No findings: nothing stands out, or the trace lacks the data.");
  c.Meaning(
      "The fix for the bottleneck comes first. The others are ordered by their savings, or by "
      "their time if the saving is unknown. Savings overlap: do not add them up.");
  if (const auto& engine = c.file.engine)
    c.page.Paragraph("  Forecasts: ", WindowText(*engine) + ".", Style::kDim, Style::kDim);
  int number = 0, small = 0;
  for (const RowOfFile<Finding>& finding : c.job.findings()) {
    if (!c.options.only && !c.job.Matters(*finding.row)) {
      ++small;
      continue;
    }
    std::string title = Sentence(finding.row->title);
    if (!c.job.single()) title += fmt::format(" ({})", RankName(*finding.file));
    if (number > 0) c.page.Blank();
    c.page.Paragraph(fmt::format("  {}. ", ++number), title, Style::kBold, Style::kBold);
    if (finding.row->share_pct) {
      c.page.Line({{"     takes  ", Style::kDim},
                   {fmt::format("{} of {}", FormatPercent(*finding.row->share_pct),
                                finding.file->stretch ? "the recording" : "the mean step")}});
    }
    if (const std::string saves = SavesText(*finding.row); !saves.empty())
      c.page.Paragraph("     saves  ", saves, Style::kDim);
    bool first = true;
    for (const std::string& evidence : finding.row->evidence) {
      c.page.Paragraph(first ? "     why    " : "            ", Sentence(evidence), Style::kDim);
      first = false;
    }
    if (const std::string_view label = ActionLabel(*finding.row); !label.empty()) {
      c.page.Paragraph(fmt::format("     {:<6} ", label), Sentence(finding.row->action),
                       Style::kDim, label == "do" ? Style::kGood : Style::kDim);
    }
    c.page.Command("     check  ", CheckWords(*finding.row, *finding.file, c.options), Style::kDim);
    const auto forecast = ForecastWords(*finding.row, *finding.file, c.options);
    if (!forecast.empty()) c.page.Command("     whatif ", forecast, Style::kDim);
  }
  if (small > 0) {
    c.page.Line(
        {{fmt::format("  {} under 1 %: --only findings", Plural(small, "finding")), Style::kDim}});
  }
}

}  // namespace headroom
