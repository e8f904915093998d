#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "answers/report/phrases.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {
namespace {

Style StyleOf(char grade) {
  return grade <= 'B' ? Style::kGood : grade <= 'D' ? Style::kWarning : Style::kBad;
}

Style StyleOf(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return Style::kDim;
    case Severity::kWarning:
      return Style::kWarning;
    case Severity::kError:
      return Style::kBad;
  }
  return Style::kPlain;
}

void Read(TextContext& c, const TraceReport& file) {
  const InputInfo& input = file.input;
  c.page.Line({{"  file     ", Style::kDim},
               {CutPath(Printable(input.path, c.page.charset()), 87, c.page.charset())}});
  c.page.Paragraph("  read     ", InputText(input), Style::kDim);
  for (const DeviceRow& row : DeviceRows(input)) {
    c.page.Paragraph(fmt::format("  {:<8} ", row.numbers), row.text, Style::kDim);
  }
}

void Ranks(TextContext& c) {
  std::vector<std::vector<Span>> rows;
  // With too many files to list, shows only the worst, and the file of the breakdown.
  std::vector<const TraceReport*> files;
  for (const TraceReport& file : c.job.files()) files.push_back(&file);
  std::stable_sort(files.begin(), files.end(), [](const TraceReport* a, const TraceReport* b) {
    return a->input.rank < b->input.rank;
  });
  const std::size_t all = files.size();
  if (all > c.Top()) {
    std::stable_sort(files.begin(), files.end(), [&](const TraceReport* a, const TraceReport* b) {
      return std::pair(a == &c.file, a->health.grade) > std::pair(b == &c.file, b->health.grade);
    });
    files.resize(c.Top());
  }
  for (const TraceReport* shown : files) {
    const TraceReport& file = *shown;
    rows.push_back({{file.input.rank ? fmt::format("{}", *file.input.rank) : "-"},
                    {file.input.path},
                    {FormatBytes(static_cast<double>(file.input.bytes))},
                    {FormatCount(file.input.events)},
                    {std::string(1, file.health.grade), StyleOf(file.health.grade)},
                    {file.steps.p50 ? FormatMs(*file.steps.p50) : "-"},
                    {std::string(NameOf(file.bottleneck.verdict)),
                     &file == &c.file ? Style::kBold : Style::kPlain}});
  }
  c.page.Table({{"rank"},
                {"file", Kind::kName},
                {"size"},
                {"events"},
                {"grade", Kind::kText},
                {"median step"},
                {"verdict", Kind::kText}},
               rows);
  c.More(files.size(), all, Section::kHealth);
}

void Issue(TextContext& c, const std::vector<const RowOfFile<HealthIssue>*>& kind) {
  const RowOfFile<HealthIssue>* most = kind.front();
  std::int64_t count = 0;
  std::string ranks;
  for (const RowOfFile<HealthIssue>* issue : kind) {
    count += issue->row->count;
    if (issue->row->count > most->row->count) most = issue;
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", issue->rank().value_or(0));
  }
  constexpr std::size_t kManyRanks = 8;
  const ImportIssueDoc& doc = DocOf(most->row->issue);
  std::vector<Span> head = {{fmt::format("  {:<9}", NameOf(doc.severity)), StyleOf(doc.severity)},
                            {std::string(doc.code)}};
  if (count > static_cast<std::int64_t>(kind.size()))
    head.push_back({fmt::format("  {} times", FormatCount(count))});
  if (!c.job.single() && !most->row->of_set) {
    head.push_back({kind.size() > kManyRanks
                        ? fmt::format("  {} ranks", kind.size())
                        : fmt::format("  rank{} {}", kind.size() == 1 ? "" : "s", ranks),
                    Style::kDim});
  }
  c.page.Line(head);
  const bool alike = std::all_of(kind.begin(), kind.end(), [&](const auto* issue) {
    return issue->row->detail == most->row->detail;
  });
  const std::string detail = Sentence(most->row->detail.empty() ? doc.sentence : most->row->detail);
  c.page.Paragraph(std::string(11, ' '),
                   alike ? detail : fmt::format("On {}: {}", RankName(*most->file), detail));
  if (!most->row->voids.empty()) {
    c.page.Paragraph("           unreliable: ", Join(most->row->voids), Style::kWarning);
  }
}

/// Writes one entry per kind of issue. With several files, quotes the file with the most issues of
/// the kind.
void Issues(TextContext& c) {
  std::vector<std::vector<const RowOfFile<HealthIssue>*>> kinds;
  for (const RowOfFile<HealthIssue>& issue : c.job.issues()) {
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.front()->row->issue == issue.row->issue;
    });
    if (same == kinds.end()) {
      kinds.push_back({&issue});
    } else {
      same->push_back(&issue);
    }
  }
  for (const auto& kind : kinds) Issue(c, kind);
}

}  // namespace

void WriteHealth(TextContext& c) {
  c.page.Heading(fmt::format("Trace health: {}", c.job.grade()), "", Style::kPlain);
  c.page.Paragraph("  ", GradeText(c.job), Style::kPlain, StyleOf(c.job.grade()));
  if (c.job.single()) {
    Read(c, c.file);
  } else {
    Ranks(c);
  }
  Issues(c);
}

}  // namespace headroom
