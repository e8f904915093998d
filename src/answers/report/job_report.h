// Several trace files as one report: one file per rank. No figure is computed across their clocks.
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

/// Options of every renderer.
struct ReportOptions {
  /// Rows per rank of each list of kernels, operators, ...; absent means all.
  std::optional<std::size_t> top;
  /// Files and folders as the user gave them, for check commands that read all files.
  std::vector<std::string> inputs;
  /// Arguments with which the check commands give the same figures, e.g. {"--steps", "2:4"}.
  std::vector<std::string> check_arguments;
  /// Arguments with which forecasts give the same figures, e.g. {"--measured-step-ms", "83.5"}.
  std::vector<std::string> forecast_arguments;
  /// Ranks with aligned clocks; nullptr for a single file.
  const JobRanks* ranks = nullptr;
};

/// A row and its file.
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
  std::size_t whole = 0;               ///< Steps with all GPU tasks. The figures cover only these.
  StepKind kind = StepKind::kUnknown;  ///< Kind of the counted steps, if known.
  std::size_t others = 0;              ///< Whole steps of another kind than `kind`.
  std::size_t usual = 0;    ///< Whole steps, without those that are far slower than the others
                            ///< (analysis/steps/step_time.h).
  std::size_t counted = 0;  ///< Steps that the step time averages.
  std::optional<DurationNs> step_time;  ///< Mean recorded step time. Absent if no step is whole.
  /// Step time and median without the profiler's own cost, from the replay of the slowest rank.
  /// Absent if the engine abstains.
  std::optional<MsInterval> corrected;
  std::optional<DurationNs> corrected_p50;
  std::optional<double> profiler_overhead_pct;
};

/// Distribution of the time in one region over the ranks that have it. Compares only durations, so
/// the clocks need not be aligned.
struct RegionOverRanks {
  std::string key;
  std::int64_t ranks = 0;
  DurationNs min, mean, max;             ///< Over RegionRow::total.
  const TraceReport* longest = nullptr;  ///< The first file with time `max`.
  /// This region's time as a share of the time in BATCH, over the ranks that recorded both regions;
  /// nullopt without BATCH. For COMM: the communication share, from timers alone.
  std::optional<double> share_of_batch_pct;
};

/// A view of one or more reports, into which it points.
///
/// With several files:
/// - Health has the worst grade and all issues.
/// - Step figures cover all rows.
/// - Breakdown and bottleneck are those of the slowest rank: the largest median step. Ties prefer a
///   file with a verdict, then the first.
/// - Tables hold a row per name and rank, largest total first.
/// - Findings are joined by id: the largest share wins. The first that acts on the verdict leads;
///   the others are ordered by their savings.
class JobReport {
 public:
  /// Requires that `files` is not empty and outlives this.
  explicit JobReport(std::span<const TraceReport> files);

  std::span<const TraceReport> files() const { return files_; }
  bool single() const { return files_.size() == 1; }
  /// Returns the file whose breakdown and verdict represent all files.
  const TraceReport& slowest() const { return *slowest_; }
  /// Returns how slowest() was chosen, e.g. "rank 3, the slowest of 8"; empty for a single file.
  std::string SlowestNote() const;
  char grade() const { return grade_; }
  bool HasVerdict() const { return slowest_->bottleneck.verdict != Verdict::kUnknown; }
  const StepSummary& steps() const { return steps_; }
  const std::vector<RowOfFile<HealthIssue>>& issues() const { return issues_; }
  const std::vector<RowOfFile<Finding>>& findings() const { return findings_; }

  /// Returns the step time in ms, or the length of the recording if there are no steps. Excludes
  /// the profiler's overhead if it is known. Returns nullopt if unknown.
  std::optional<MsInterval> Base() const;
  /// Returns true if a finding concerns at least 1 % of Base().
  bool Matters(const Finding& finding) const;

  /// Returns regions by key, longest mean first.
  std::vector<RegionOverRanks> RegionsOverRanks() const;

  /// Returns the rows of one list of all files, largest first, at most `top` per file. Ties keep
  /// their order.
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

/// Returns a name such as "rank 3", or "this file" if the rank is unknown.
std::string RankName(const TraceReport& file);

/// Returns the word of the JSON contract, e.g. "gpu-compute", "annotation", "warning".
std::string_view NameOf(Verdict verdict);
std::string_view NameOf(StepSource source);
/// Returns "training", "decode" or another kind; empty if unknown.
std::string_view NameOf(StepKind kind);
std::string_view NameOf(Severity severity);

/// Returns the words of a command, quoted for a shell.
std::string ShellCommand(const std::vector<std::string>& words);

/// Returns the unquoted words of a command that prints the section with a finding's figure.
std::vector<std::string> CheckWords(const Finding& finding, const TraceReport& file,
                                    const ReportOptions& options);
/// Returns the same command, quoted for a shell.
std::string CheckCommand(const Finding& finding, const TraceReport& file,
                         const ReportOptions& options);

/// Returns the words of a command that shows the forecast of `saves_ms`; empty if no scenario
/// forecasts it.
std::vector<std::string> ForecastWords(const Finding& finding, const TraceReport& file,
                                       const ReportOptions& options);
std::string ForecastCommand(const Finding& finding, const TraceReport& file,
                            const ReportOptions& options);

}  // namespace headroom
