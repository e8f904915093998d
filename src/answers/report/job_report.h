// Several trace files as one report: a file a rank, figures never computed across their clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"
#include "ranks/job_ranks.h"

namespace headroom {

/// What every renderer is told.
struct ReportOptions {
  /// Rows of each list of kernels, operators, ... a rank; absent: all.
  std::optional<std::size_t> top;
  /// Files and folders as they were given; a check of all of them names these.
  std::vector<std::string> inputs;
  /// Arguments that the check commands need to give the same figures, e.g. {"--steps", "2:4"}.
  std::vector<std::string> check_arguments;
  /// Those that forecasts need to be the same, e.g. {"--measured-step-ms", "83.5"}.
  std::vector<std::string> forecast_arguments;
  /// The ranks on one clock; nullptr: of one file.
  const JobRanks* ranks = nullptr;
};

/// A row and the file that it comes from.
template <typename Row>
struct RowOfFile {
  const Row* row;
  const TraceReport* file;
  std::optional<std::int64_t> rank() const { return file->input.rank; }
};

/// Figures of all steps of all ranks.
struct StepSummary : WallSummary {
  StepSource source = StepSource::kNone;
  std::size_t count = 0;
  std::size_t whole = 0;                ///< Of these: the figures are theirs.
  StepKind kind = StepKind::kUnknown;   ///< Of all that count, if known.
  std::size_t others = 0;               ///< Whole, but of another kind than the main one.
  std::size_t usual = 0;                ///< Whole and not far slower (analysis/steps/step_time.h).
  std::size_t counted = 0;              ///< The step time is the mean of these.
  std::optional<DurationNs> step_time;  ///< As recorded. None: no step is whole.
  /// Step time and median without the profiler's own cost, by the replay of the slowest rank. None:
  /// the engine abstains.
  std::optional<MsInterval> corrected;
  std::optional<DurationNs> corrected_p50;
  std::optional<double> profiler_overhead_pct;
};

/// The time in one region over the ranks that have it. Clocks do not matter: only lengths count.
struct RegionOverRanks {
  std::string key;
  std::int64_t ranks = 0;
  DurationNs min, mean, max;             ///< Of RegionRow::total.
  const TraceReport* longest = nullptr;  ///< Whose time is `max`; of several the first.
  /// Of the time in BATCH over the ranks that have both; none without BATCH. That of COMM is the
  /// communication share, from timers alone.
  std::optional<double> share_of_batch_pct;
};

/// A view of one or more reports; points into them.
///
/// With several files: health has the worst grade and all issues; step figures are taken over all
/// rows; breakdown and bottleneck are those of the slowest rank (largest median step; ties: one
/// with a verdict, then the first); tables hold a row per name and rank, largest total first;
/// findings are joined by id, the one with the largest share wins, and ordered by what they save.
class JobReport {
 public:
  /// REQUIRES: `files` is not empty and outlives this.
  explicit JobReport(std::span<const TraceReport> files);

  std::span<const TraceReport> files() const { return files_; }
  bool single() const { return files_.size() == 1; }
  /// The file whose breakdown and verdict stand for all.
  const TraceReport& slowest() const { return *slowest_; }
  /// How slowest() was chosen, e.g. "rank 3, the slowest of 8"; empty where there is only one file.
  std::string SlowestNote() const;
  char grade() const { return grade_; }
  bool HasVerdict() const { return slowest_->bottleneck.verdict != Verdict::kUnknown; }
  const StepSummary& steps() const { return steps_; }
  const std::vector<RowOfFile<HealthIssue>>& issues() const { return issues_; }
  const std::vector<RowOfFile<Finding>>& findings() const { return findings_; }

  /// Milliseconds of the step (without steps, of the recording): without the profiler where that is
  /// known, else as recorded. Absent: unknown.
  std::optional<MsInterval> Base() const;
  /// Whether a finding is about at least 1 % of that.
  bool Matters(const Finding& finding) const;

  /// Regions by key, longest mean first.
  std::vector<RegionOverRanks> RegionsOverRanks() const;

  /// Rows of one list of all files, at most `top` of each file, largest first, ties as given.
  template <typename Row>
  std::vector<RowOfFile<Row>> Rows(std::vector<Row> TraceReport::*list,
                                   std::optional<std::size_t> top) const;

 private:
  std::span<const TraceReport> files_;
  const TraceReport* slowest_;
  char grade_ = 'A';
  StepSummary steps_;
  std::vector<RowOfFile<HealthIssue>> issues_;
  std::vector<RowOfFile<Finding>> findings_;
};

/// "rank 3"; "this file" where nothing says its rank.
std::string RankName(const TraceReport& file);

/// The word of the contract, e.g. "gpu-compute", "annotation", "warning".
std::string_view NameOf(Verdict verdict);
std::string_view NameOf(StepSource source);
/// "training", "decode"; empty: unknown.
std::string_view NameOf(StepKind kind);
std::string_view NameOf(Severity severity);

/// Words, not quoted, of a command that prints the section which holds a finding's figure.
std::vector<std::string> CheckWords(const Finding& finding, const TraceReport& file,
                                    const ReportOptions& options);
/// The command itself, for a shell.
std::string CheckCommand(const Finding& finding, const TraceReport& file,
                         const ReportOptions& options);

/// The same of a command that shows the forecast of `saves_ms`; empty: no scenario is its forecast.
std::vector<std::string> ForecastWords(const Finding& finding, const TraceReport& file,
                                       const ReportOptions& options);
std::string ForecastCommand(const Finding& finding, const TraceReport& file,
                            const ReportOptions& options);

}  // namespace headroom
