// The figures, actions and remarks of a report's first screen, which the text, JSON and page share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"

namespace headroom {

/// A change to make.
struct SummaryAction {
  const Finding* finding = nullptr;
  bool upper_bound = false;  ///< True: the saving is the most that the change can save.
  /// Step time before divided by step time after. nullopt if the saving is unknown, or if it is an
  /// upper bound and the step itself is uncertain.
  std::optional<double> speedup = {};
  std::vector<std::string> command = {};  ///< Words of the command that says more.
};

/// A part of the step or of the GPU time, in percent of it.
struct SummaryPart {
  std::string name = {};
  double share_pct = 0;
  double busy_pct = 0;  ///< Share in which the part runs and the GPU is busy; at most `share_pct`.
};

enum class PartsOf : std::uint8_t { kStep, kGpuTime };

/// The step time is that of all ranks, as in JobReport; the rest is that of the slowest rank.
struct Summary {
  std::optional<std::int64_t> rank = {};  ///< The slowest rank; nullopt for a single file.
  std::string rank_note = {};             ///< As JobReport::SlowestNote(); empty for a single file.
  /// Time of a step, in ms; without steps, of the recording.
  std::optional<MsInterval> step_ms = {};
  std::optional<DurationNs> recorded = {};  ///< The same time as recorded.
  /// GPU busy time of the steps that the step time averages; without steps, of the recording.
  std::optional<DurationNs> gpu_busy = {};
  std::optional<double> samples_per_s = {};            ///< At `step_ms`.
  std::optional<double> tokens_per_s = {};             ///< As recorded.
  std::optional<std::int64_t> peak_memory_bytes = {};  ///< Largest allocation of the first GPU.
  /// Phases of the step in their order, or classes of GPU work if the phases are unknown. They sum
  /// to 100 %; parts without time are left out.
  std::vector<SummaryPart> parts = {};
  PartsOf parts_of = PartsOf::kStep;
  std::vector<SummaryAction> actions = {};  ///< Best first.
  /// Without actions: what that means. Empty if nothing can be said.
  std::string no_action = {};
  std::string note = {};  ///< The main limit of these figures, as a sentence; may be empty.
};

/// The result points into `job`.
Summary SummaryOf(const JobReport& job, const ReportOptions& options);

}  // namespace headroom
