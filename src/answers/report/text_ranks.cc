#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "answers/report/phrases.h"
#include "answers/report/ranks_phrases.h"
#include "answers/report/text_sections.h"
#include "render/number_format.h"

namespace headroom {
namespace {

std::string RankNumber(const JobRanks& job, std::size_t index) {
  return fmt::format("{}", job.ranks[index].rank.value_or(0));
}

/// Writes the main result of the section: which rank delays the others.
void WriteVerdict(TextContext& c, const JobRanks& job) {
  const bool warns = job.waits.pattern != StragglerPattern::kNone;
  if (warns) {
    c.page.Paragraph("  ", RanksVerdict(job), Style::kPlain, Style::kWarning);
  } else {
    c.None(RanksVerdict(job));
  }
}

/// Formats the offset between two clocks, from nanoseconds to hours.
std::string FormatOffset(DurationNs offset) {
  constexpr double kNsPerSecond = 1e9, kSecondsPerHour = 3600;
  const double seconds = static_cast<double>(offset.ns()) / kNsPerSecond;
  if (std::abs(seconds) < 1) return FormatMs(offset);
  return std::abs(seconds) < kSecondsPerHour ? fmt::format("{:.2f} s", seconds)
                                             : fmt::format("{:.2f} h", seconds / kSecondsPerHour);
}

struct RankRow {
  const RankWaits* waits;
  const RankWork* work;  ///< Null if the rank was not compared.
  const RankClock* clock;
  std::string rank, host;
};

std::string FormatWork(const JobRanks& job, const RankWork& work) {
  constexpr double kGiga = 1e9;
  if (!work.work) return "";
  return job.work.measure == WorkMeasure::kFlops ? fmt::format("{:.4g} GFLOP", *work.work / kGiga)
                                                 : FormatBytes(*work.work) + " in";
}

void WriteWaits(TextContext& c, const JobRanks& job) {
  std::vector<RankRow> rows;
  for (std::size_t r = 0; r < job.waits.ranks.size(); ++r)
    rows.push_back({&job.waits.ranks[r], job.work.ranks.empty() ? nullptr : &job.work.ranks[r],
                    &job.alignment.clocks[r], RankNumber(job, r), job.ranks[r].host});
  std::stable_sort(rows.begin(), rows.end(), [](const RankRow& a, const RankRow& b) {
    return a.waits->caused > b.waits->caused;
  });
  const std::span<const RankRow> shown(rows.data(), std::min(rows.size(), c.Top()));
  std::vector<RowColumn<RankRow>> columns = {
      {"rank", Kind::kNumber, [](const RankRow& r) { return Span{r.rank}; }}};
  if (std::any_of(rows.begin(), rows.end(), [](const RankRow& r) { return !r.host.empty(); }))
    columns.push_back({"host", Kind::kName, [](const RankRow& r) { return Span{r.host}; }});
  columns.insert(
      columns.end(),
      {{"held up", Kind::kNumber,
        [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatMs(r.waits->caused) : "",
                      r.waits->caused.ns() > 0 ? Style::kBold : Style::kDim};
        }},
       {"last", Kind::kNumber,
        [](const RankRow& r) { return Span{r.clock->aligned ? FormatCount(r.waits->last) : ""}; }},
       {"steps", Kind::kNumber,
        [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatCount(r.waits->culprit) : ""};
        }},
       {"waited", Kind::kNumber,
        [](const RankRow& r) { return Span{r.clock->aligned ? FormatMs(r.waits->waited) : ""}; }},
       {"compute/step", Kind::kNumber,
        [](const RankRow& r) {
          return Span{r.work && r.work->computing ? FormatMs(*r.work->computing) : ""};
        }},
       {"work/step", Kind::kNumber,
        [&](const RankRow& r) { return Span{r.work ? FormatWork(job, *r.work) : ""}; }},
       {"clock ahead", Kind::kNumber,
        [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatOffset(DurationNs(r.clock->offset_ns)) : "unknown"};
        }},
       {"within", Kind::kNumber, [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatUs(r.clock->uncertainty) : "", Style::kDim};
        }}});
  WriteTable<RankRow>(c.page, shown, columns);
  if (shown.size() < rows.size()) c.More(shown.size(), rows.size(), Section::kRanks);
}

void WriteClasses(TextContext& c, const JobRanks& job) {
  if (job.waits.classes.empty()) return;
  c.page.Blank();
  c.Meaning(
      "Means per collective. wait: from the first arrival to the last; transfer: from there to the "
      "end; exposed: part of both without compute; bus: bandwidth per link.");
  const std::vector<CollectiveClass>& rows = job.waits.classes;
  const std::span<const CollectiveClass> shown(rows.data(), std::min(rows.size(), c.Top()));
  const auto time = [](const char* head, DurationNs CollectiveClass::*part) {
    return RowColumn<CollectiveClass>{
        head, Kind::kNumber, [=](const CollectiveClass& r) { return Span{FormatUs(r.*part)}; }};
  };
  WriteTable<CollectiveClass>(
      c.page, shown,
      {{"collective", Kind::kName, [](const CollectiveClass& r) { return Span{r.kind}; }},
       {"group", Kind::kText, [](const CollectiveClass& r) { return Span{r.group}; }},
       {"axis", Kind::kText, [&](const CollectiveClass& r) { return Span{AxisOf(job, r.group)}; }},
       {"size", Kind::kNumber,
        [](const CollectiveClass& r) { return Span{r.bytes ? FormatBytes(*r.bytes) : ""}; }},
       {"count", Kind::kNumber,
        [](const CollectiveClass& r) { return Span{FormatCount(r.count)}; }},
       {"ranks", Kind::kNumber,
        [](const CollectiveClass& r) { return Span{fmt::format("{}/{}", r.ranks, r.members)}; }},
       time("wait", &CollectiveClass::wait),
       time("transfer", &CollectiveClass::transfer),
       time("exposed", &CollectiveClass::exposed),
       {"bus", Kind::kNumber, [](const CollectiveClass& r) {
          return Span{r.bus_gbs ? fmt::format("{:.3g} GB/s", *r.bus_gbs) : ""};
        }}});
  if (shown.size() < rows.size()) c.More(shown.size(), rows.size(), Section::kRanks);
  for (const GroupAxis& group : job.axes) {
    if (!group.axis || group.recorded) continue;
    c.page.Paragraph("  ",
                     fmt::format("{}?: inferred{}: {}", Name(*group.axis),
                                 group.group.empty() ? "" : " of group " + group.group, group.why),
                     Style::kPlain, Style::kDim);
  }
}

void WritePipeline(TextContext& c, const JobRanks& job) {
  if (!job.pipeline) return;
  c.page.Blank();
  c.Meaning(PipelineVerdict(*job.pipeline));
  const std::vector<PipelineStage>& stages = job.pipeline->stages;
  const auto time = [](const char* head, DurationNs PipelineStage::*part) {
    return RowColumn<PipelineStage>{
        head, Kind::kNumber, [=](const PipelineStage& r) { return Span{FormatMs(r.*part)}; }};
  };
  WriteTable<PipelineStage>(
      c.page, stages,
      {{"stage", Kind::kNumber,
        [&](const PipelineStage& r) { return Span{fmt::format("{}", &r - stages.data())}; }},
       {"ranks", Kind::kText,
        [&](const PipelineStage& r) {
          std::string text;
          for (const std::size_t rank : r.ranks)
            text += (text.empty() ? "" : ", ") + RankNumber(job, rank);
          return Span{text};
        }},
       time("step", &PipelineStage::step),
       time("computing", &PipelineStage::computing),
       time("bubble", &PipelineStage::bubble),
       time("else idle", &PipelineStage::idle)});
  c.Meaning(
      "else idle: includes the end of a step, where a stage waits for the others but has nothing "
      "left to receive, so the whole bubble may be longer by up to this time.");
}

}  // namespace

namespace {

std::string HeadOf(const JobRanks& job) {
  std::string head = fmt::format("{} files, {} collectives matched", job.ranks.size(),
                                 job.alignment.collectives.size());
  if (job.waits.other_kinds > 0) head += fmt::format(" ({} not compared)", job.waits.other_kinds);
  return head;
}

}  // namespace

void WriteRanks(TextContext& c) {
  const JobRanks* job = c.options.ranks;
  c.page.Heading("Ranks", job == nullptr ? "" : HeadOf(*job), Style::kDim);
  if (job == nullptr) return c.None("Only one rank: pass the files of all ranks, or their folder.");
  c.Meaning(
      "Waits between ranks, on a clock aligned by collectives: the last rank to arrive delays all "
      "others.");
  WriteVerdict(c, *job);
  for (const RankSetIssue& issue : job->issues) {
    // Names the data that a verdict on all ranks would require.
    c.page.Paragraph("  ", Sentence(issue.detail), Style::kPlain, Style::kDim);
  }
  if (!job->waits.classes.empty()) {
    WriteWaits(c, *job);
    WriteClasses(c, *job);
  }
  WritePipeline(c, *job);
}

}  // namespace headroom
