// What one rank's trace tells of its collectives: kept when the trace itself is gone, so that a job
// of many ranks is read one file at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/attribution.h"
#include "analysis/names/group_rules.h"
#include "analysis/names/name_facts.h"
#include "analysis/values/options.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

struct AnalyzedTrace;

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
  Phase phase = Phase::kOther;          ///< Of what called it.

  static constexpr std::int64_t kNoStep = -1;
};

/// Whether it is between two ranks, as stages of a pipeline hand on what they computed.
bool IsPointToPoint(std::string_view kind);

/// A step on the rank's own clock.
struct RankStep {
  std::int64_t number = 0;
  TimeNs start;
  DurationNs wall;
  DurationNs computing = {};         ///< While a kernel ran that is no collective.
  DurationNs collectives = {};       ///< Of the rest, while a collective of a group did.
  DurationNs neighbours = {};        ///< Of the rest, while it sent to or waited for one rank.
  std::optional<double> flops = {};  ///< By the shapes of its operators; none: not recorded.
  double input_bytes = 0;            ///< Copied from the host to the GPU.
};

/// A group of ranks as one of them recorded it.
struct RankGroup {
  std::string name;
  std::string description;           ///< Empty: not told.
  std::optional<ParallelAxis> axis;  ///< By its description.
  std::string ranks = {};            ///< Its members in words: "[0, 1]"; empty: not told.
};

/// Of one rank.
struct RankTimeline {
  std::optional<std::int64_t> rank, world_size;
  std::string path;
  std::string host;  ///< The machine, where the file's name tells it; else empty.
  std::vector<RankCollective> collectives;  ///< By start.
  std::vector<RankStep> steps;
  std::vector<RankGroup> groups;  ///< That have a name, each once.
};

/// Of the trace's zero, in Unix time; none where what the trace says of it cannot be.
DurationNs UnixBaseOf(const TraceStore& store);

/// @param trace    of the store, with its attribution; steps are of the trace's own process
/// @param options  of the analysis; where they choose steps, collectives of no step are left out
RankTimeline ReadRankTimeline(const TraceStore& store, NameFacts& names, const GroupRules& rules,
                              const AnalyzedTrace& trace, const AnalysisOptions& options);

}  // namespace headroom
