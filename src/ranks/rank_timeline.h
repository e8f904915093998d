// Collectives and steps of one rank. Does not reference the trace, so the files of a job can be
// read one at a time.
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
#include "base/interval_set.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom {

struct AnalyzedTrace;

/// One collective as one rank ran it. A kernel begins when its rank arrives, and spins until all
/// other ranks arrive.
struct RankCollective {
  std::string group;  ///< Recorded communicator; empty if not recorded.
  /// Recorded kind ("allreduce"), or else the kind in the kernel's name ("AllReduce"); lower case.
  std::string kind;
  std::int64_t step = kNoStep;  ///< Number of the step that launched it; kNoStep if outside steps.
  TimeNs start, end;  ///< Times on the rank's own clock; Unix time if the trace records it.
  std::optional<double> bytes;          ///< Size of the whole tensor; nullopt if unknown.
  std::optional<std::int64_t> members;  ///< Number of ranks in the group; nullopt if not recorded.
  DurationNs hidden;                    ///< Part of its time in which a compute kernel ran.
  Phase phase = Phase::kOther;          ///< Phase of the caller.

  static constexpr std::int64_t kNoStep = -1;
};

/// Returns true for transfers between two ranks, as between stages of a pipeline.
bool IsPointToPoint(std::string_view kind);

/// A step on the rank's own clock.
struct RankStep {
  std::int64_t number = 0;
  TimeNs start;
  DurationNs wall;
  DurationNs computing = {};    ///< Time in which a compute kernel ran.
  DurationNs collectives = {};  ///< Time in which a collective ran, but no compute kernel.
  /// Time in which a send or receive ran, but neither a compute kernel nor a collective.
  DurationNs neighbours = {};
  /// FLOPs from the shapes of its operators; nullopt if not recorded.
  std::optional<double> flops = {};
  double input_bytes = 0;  ///< Bytes copied from the host to the GPU.
};

/// A group of ranks as one rank recorded it.
struct RankGroup {
  std::string name;
  std::string description;           ///< Empty if not recorded.
  std::optional<ParallelAxis> axis;  ///< Axis that the description states.
  std::string ranks = {};  ///< Its members as a string, such as "[0, 1]"; empty if not recorded.
};

/// Timeline of one rank.
struct RankTimeline {
  static constexpr std::size_t kMaxComputing = 20'000;

  std::optional<std::int64_t> rank, world_size;
  std::string path;
  std::string host;  ///< Host name; empty if the file's name does not contain it.
  std::vector<RankCollective> collectives;  ///< Sorted by start.
  std::vector<RankStep> steps;
  /// Times in which a compute kernel ran, on the rank's own clock, to draw them: short gaps are
  /// filled so that there are at most kMaxComputing.
  std::vector<Interval> computing;
  std::vector<RankGroup> groups;  ///< Groups with a name, each once.
};

/// Returns the Unix time of the trace's timestamp 0; 0 if it is not recorded or invalid.
DurationNs UnixBaseOf(const TraceStore& store);

/// @param trace  analysis of `store`, with its attribution
/// @param options  options of that analysis; if they select steps, collectives outside these steps
/// are left out
RankTimeline ReadRankTimeline(const TraceStore& store, NameFacts& names, const GroupRules& rules,
                              const AnalyzedTrace& trace, const AnalysisOptions& options);

}  // namespace headroom
