#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/format.h"
#include "report/text_sections.h"

namespace headroom {
namespace {

constexpr double kPercent = 100;

std::string RankNumber(const JobRanks& job, std::size_t index) {
  return fmt::format("{}", job.ranks[index].rank.value_or(0));
}

/// What the section is asked for: who holds the others up.
void WriteVerdict(TextContext& c, const JobRanks& job) {
  const JobWaits& waits = job.waits;
  std::string lost = FormatMs(waits.lost);
  if (waits.lost_share) {
    lost +=
        fmt::format(" of {} steps ({})", waits.steps, FormatPercent(kPercent * *waits.lost_share));
  }
  const std::string below = fmt::format("Less than {} apart is not told apart.",
                                        FormatUs(DurationNs(2 * waits.uncertainty.ns())));
  const bool one = waits.stragglers.size() == 1;
  std::string who = one ? "Rank " : "Ranks ";
  for (std::size_t i = 0; i < waits.stragglers.size(); ++i)
    who += (i == 0 ? "" : ", ") + RankNumber(job, waits.stragglers[i]);
  const auto warn = [&](const std::string& text) {
    c.page.Paragraph("  ", text, Style::kPlain, Style::kWarning);
  };
  switch (waits.pattern) {
    case StragglerPattern::kNone:
      if (waits.classes.empty()) {
        c.None(
            "No collective that all wait in was joined over ranks, so who waits for whom cannot "
            "be told.");
      } else if (!waits.lost_share) {
        c.None(
            fmt::format("{} lost by late ranks; without steps, whether one of them is always "
                        "late cannot be told. {}",
                        lost, below));
      } else {
        c.None(
            fmt::format("No rank holds the others up for a share of time that counts: {} lost. "
                        "{}",
                        lost, below));
      }
      return;
    case StragglerPattern::kRecurrent:
      return warn(
          fmt::format("{} {} the others up, step after step: the job loses {} by who "
                      "comes last. {}",
                      who, one ? "holds" : "hold", lost, below));
    case StragglerPattern::kRotating:
      return warn(
          fmt::format("Another rank comes last each time: the job loses {} by it. Uneven "
                      "data does that, or a noisy machine. {}",
                      lost, below));
    case StragglerPattern::kOnce:
      return warn(
          fmt::format("{} held the others up in one step: {} lost. Whether that recurs "
                      "needs more steps.",
                      who, lost));
  }
}

struct RankRow {
  const RankWaits* waits;
  const RankClock* clock;
  std::string rank;
};

void WriteWaits(TextContext& c, const JobRanks& job) {
  std::vector<RankRow> rows;
  for (std::size_t r = 0; r < job.waits.ranks.size(); ++r)
    rows.push_back({&job.waits.ranks[r], &job.alignment.clocks[r], RankNumber(job, r)});
  std::stable_sort(rows.begin(), rows.end(), [](const RankRow& a, const RankRow& b) {
    return a.waits->caused > b.waits->caused;
  });
  const std::span<const RankRow> shown(rows.data(), std::min(rows.size(), c.Top()));
  WriteTable<RankRow>(
      c.page, shown,
      {{"rank", Kind::kNumber, [](const RankRow& r) { return Span{r.rank}; }},
       {"held up others", Kind::kNumber,
        [](const RankRow& r) {
          return Span{FormatMs(r.waits->caused),
                      r.waits->caused.ns() > 0 ? Style::kBold : Style::kDim};
        }},
       {"came last", Kind::kNumber,
        [](const RankRow& r) { return Span{FormatCount(r.waits->last)}; }},
       {"steps", Kind::kNumber,
        [](const RankRow& r) { return Span{FormatCount(r.waits->culprit)}; }},
       {"waited", Kind::kNumber, [](const RankRow& r) { return Span{FormatMs(r.waits->waited)}; }},
       {"clock ahead by", Kind::kNumber,
        [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatMs(DurationNs(r.clock->offset_ns)) : "not known"};
        }},
       {"within", Kind::kNumber, [](const RankRow& r) {
          return Span{r.clock->aligned ? FormatUs(r.clock->uncertainty) : "", Style::kDim};
        }}});
  if (shown.size() < rows.size()) c.More(shown.size(), rows.size(), Section::kRanks);
}

void WriteClasses(TextContext& c, const JobRanks& job) {
  if (job.waits.classes.empty()) return;
  c.page.Blank();
  c.Meaning(
      "Collectives, means. wait: from the first arrival to the last; transfer: from there to the "
      "end; exposed: of both, while the rank computed nothing; bus: what each link carried.");
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
}

}  // namespace

void WriteRanks(TextContext& c) {
  const JobRanks* job = c.options.ranks;
  c.page.Heading("Ranks",
                 job == nullptr ? ""
                                : fmt::format("{} files, {} collectives joined", job->ranks.size(),
                                              job->alignment.collectives.size()),
                 Style::kDim);
  if (job == nullptr) return c.None("One rank alone: pass the files of all, or their folder.");
  c.Meaning(
      "Who waits for whom, on one clock that the collectives tell: the last to arrive holds all "
      "others up.");
  WriteVerdict(c, *job);
  if (job->waits.classes.empty()) return;
  WriteWaits(c, *job);
  WriteClasses(c, *job);
}

}  // namespace headroom
