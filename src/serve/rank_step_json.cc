#include "serve/rank_step_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "render/json_writer.h"

namespace headroom {
namespace {

/// Arrival of the last rank at each collective, by rank and index.
using LastArrivals = std::map<std::pair<std::size_t, std::size_t>, TimeNs>;

/// Returns the root of most ranks; nullopt if no clock is aligned.
std::optional<std::size_t> MainRoot(const Alignment& alignment) {
  std::map<std::size_t, std::size_t> counts;
  for (const RankClock& clock : alignment.clocks) {
    if (clock.aligned) ++counts[clock.root];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::nullopt : std::optional(most->first);
}

class StepWriter {
 public:
  StepWriter(const JobRanks& job, std::int64_t step)
      : job_(job), root_(MainRoot(job.alignment)), step_(step) {}

  Result<std::string> Write() {
    std::vector<const RankStep*> steps;
    for (const RankTimeline& rank : job_.ranks) {
      const auto found = std::find_if(rank.steps.begin(), rank.steps.end(),
                                      [&](const RankStep& step) { return step.number == step_; });
      steps.push_back(found == rank.steps.end() ? nullptr : &*found);
    }
    std::optional<TimeNs> first;
    bool any = false;
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      if (steps[rank] == nullptr) continue;
      any = true;
      if (!IsShared(rank)) continue;
      const TimeNs start = Shared(rank, steps[rank]->start);
      first = std::min(first.value_or(start), start);
    }
    if (!any) return Status::Usage(fmt::format("step {}: no rank has this step", step_));
    zero_ = first.value_or(TimeNs(0));
    FindLastArrivals();
    json_.BeginObject(JsonWriter::Layout::kLines);
    json_.Key("schema").String("headroom.rank-step/1");
    json_.Key("step").Integer(step_);
    json_.Key("ranks").BeginArray(JsonWriter::Layout::kLines);
    for (std::size_t rank = 0; rank < steps.size(); ++rank) {
      if (steps[rank] != nullptr) WriteRank(rank, *steps[rank]);
    }
    json_.EndArray();
    json_.EndObject();
    return std::move(json_).Take();
  }

 private:
  /// Returns true if the rank's clock is aligned with that of most ranks.
  bool IsShared(std::size_t rank) const {
    const RankClock& clock = job_.alignment.clocks[rank];
    return clock.aligned && clock.root == root_;
  }
  TimeNs Shared(std::size_t rank, TimeNs time) const {
    return job_.alignment.clocks[rank].Aligned(time);
  }

  void FindLastArrivals() {
    for (const MatchedCollective& collective : job_.alignment.collectives) {
      if (!LeftTogether(collective.kind)) continue;
      std::optional<TimeNs> last;
      for (const auto& [rank, index] : collective.parts) {
        if (!IsShared(rank)) continue;
        const TimeNs start = Shared(rank, job_.ranks[rank].collectives[index].start);
        last = std::max(last.value_or(start), start);
      }
      if (!last) continue;
      for (const auto& [rank, index] : collective.parts) {
        if (IsShared(rank)) arrivals_[{rank, index}] = *last;
      }
    }
  }

  void WriteRank(std::size_t rank, const RankStep& step) {
    const TimeNs end = step.start + step.wall;
    // On the drawing's clock.
    const auto at = [&](TimeNs time) {
      return IsShared(rank) ? (Shared(rank, time) - zero_).ns() : (time - step.start).ns();
    };
    json_.BeginObject();
    json_.Key("rank").Integer(job_.ranks[rank].rank);
    json_.Key("aligned").Bool(IsShared(rank));
    json_.Key("start_ns").Integer(at(step.start));
    json_.Key("end_ns").Integer(at(end));
    json_.Key("computing").BeginArray();
    for (const Interval& interval : job_.ranks[rank].computing) {
      if (interval.end <= step.start || interval.start >= end) continue;
      json_.Integer(at(std::max(interval.start, step.start)));
      json_.Integer(at(std::min(interval.end, end)));
    }
    json_.EndArray();
    json_.Key("collectives").BeginArray(JsonWriter::Layout::kLines);
    const std::vector<RankCollective>& all = job_.ranks[rank].collectives;
    for (std::size_t index = 0; index < all.size(); ++index) {
      const RankCollective& collective = all[index];
      if (collective.end <= step.start || collective.start >= end) continue;
      const auto last = arrivals_.find({rank, index});
      json_.BeginObject();
      json_.Key("kind").String(collective.kind);
      json_.Key("group").StringOrNull(collective.group);
      json_.Key("start_ns").Integer(at(collective.start));
      json_.Key("last_arrival_ns")
          .Integer(last == arrivals_.end() ? std::nullopt
                                           : std::optional((last->second - zero_).ns()));
      json_.Key("end_ns").Integer(at(collective.end));
      json_.Key("bytes").Number(collective.bytes);
      json_.Key("neighbours").Bool(IsPointToPoint(collective.kind));
      json_.EndObject();
    }
    json_.EndArray();
    json_.EndObject();
  }

  const JobRanks& job_;
  const std::optional<std::size_t> root_;
  const std::int64_t step_;
  TimeNs zero_;  ///< On the root's clock.
  LastArrivals arrivals_;
  JsonWriter json_;
};

}  // namespace

Result<std::string> RenderRankStepJson(const JobRanks& job, std::int64_t step) {
  return StepWriter(job, step).Write();
}

}  // namespace headroom
