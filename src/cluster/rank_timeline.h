// What one rank's trace tells of its collectives: kept when the trace itself is gone, so that a job
// of many ranks is read one file at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/name_facts.h"
#include "analysis/steps.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

/// One collective as one rank ran it. A kernel begins when its rank arrives, and spins until all
/// others have.
struct RankCollective {
  std::string group;  ///< Communicator as recorded; empty: not told.
  std::string kind;   ///< As recorded ("allreduce"), else by the kernel ("AllReduce"); lower case.
  std::int64_t step = kNoStep;  ///< Number of the step in which it was launched.
  TimeNs start, end;            ///< On the rank's own clock, in Unix time where the trace has it.
  std::optional<double> bytes;  ///< Of the whole tensor.
  std::optional<std::int64_t> members;  ///< Ranks of the group.
  DurationNs hidden;                    ///< Of it, while a kernel that computes ran.

  static constexpr std::int64_t kNoStep = -1;
};

/// A step on the rank's own clock.
struct RankStep {
  std::int64_t number = 0;
  TimeNs start;
  DurationNs wall;
};

/// Of one rank.
struct RankTimeline {
  std::optional<std::int64_t> rank, world_size;
  std::string path;
  std::string host;  ///< The machine, where the file's name tells it; else empty.
  std::vector<RankCollective> collectives;  ///< By start.
  std::vector<RankStep> steps;
};

/// @param steps  of the trace's own process
RankTimeline ReadRankTimeline(const TraceStore& store, NameFacts& names, const StepAnalysis& steps);

}  // namespace headroom
