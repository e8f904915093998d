// Makes the profile of a job, from one trace or several, for `headroom diff`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "analysis/values/options.h"
#include "base/status.h"
#include "compare/job_profile.h"
#include "ranks/rank_timeline.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom {

struct ProfileQuestion {
  AnalysisOptions analysis = {};
  CalibrationFlags calibration = {};
  std::optional<double> measured_step_ms = {};  ///< Measured without a profiler.
  std::optional<std::int64_t> rank = {};  ///< Set if the store is a rank's part of a merged trace.
  bool has_others = false;  ///< True if other traces may come from other ranks of the job.
};

struct ProfiledTrace {
  JobProfile profile;
  RankTimeline timeline;  ///< The rank is set only if the trace states it. Invalid unless
                          ///< `has_others` is true.
};

/// Fails as AnalyzeTrace(), MakeProfile() and ForecastFindings() do.
Result<ProfiledTrace> ProfileTrace(const TraceStore& store, const std::string& path,
                                   const ReferenceData& reference, const ProfileQuestion& question);

/// Joins the traces of a job: ranks of a run, repeated runs, or both. If no trace states its rank,
/// uses the file names. Fails with kUsage if the traces belong to different jobs, or the runs cover
/// different ranks.
Result<JobProfile> JoinTraces(std::vector<ProfiledTrace> traces);

}  // namespace headroom
