// Sentences and small figures that the text and the Markdown report share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/values/report.h"
#include "answers/report/job_report.h"

namespace headroom {

/// Returns the verdict in one sentence with its share: "Host-bound: the GPU idles 61.2 % of the
/// mean step, waiting for kernel launches."
std::string VerdictSentence(const Bottleneck& bottleneck);

/// Returns the range that the breakdown covers: "mean of 12 steps", "step 3", "the whole
/// recording". Requires report.breakdown.
std::string BreakdownSubject(const TraceReport& report);

/// Returns the verdict with its confidence: "... Confidence: high."
std::string VerdictText(const Bottleneck& bottleneck);

/// Returns a short description of a cause of the step's time (CauseRow::name).
std::string_view CauseText(std::string_view cause);

/// Explains a grade, as docs/report.md defines it. `verdict`: true if the report has one.
std::string_view GradeSentence(char grade, bool verdict);
/// Explains the grade of a job. For several files, it names the file with this grade.
std::string GradeText(const JobReport& job);

/// Describes how the steps were found.
std::string StepSourceText(const Steps& steps);

/// Returns the saving per step of a finding's change, and the source of the forecast. Empty if the
/// engine did not run.
std::string SavesText(const Finding& finding);
/// Returns "do", "do not" if the action makes the step longer, or "" if it gains nothing.
std::string_view ActionLabel(const Finding& finding);

/// Returns the action of a finding as a short title: "Fuse the optimizer: fused=True". The title
/// names the place to start with if it then fits into `width` columns.
std::string ActionTitle(const Finding& finding, std::size_t width);

/// Returns the program that wrote a trace, such as "PyTorch" or "Nsight Systems". Returns the
/// format itself if the program is unknown.
std::string_view RecorderName(std::string_view format);

/// Returns the step without the profiler, e.g. "79.60 ms without the profiler (75.20 ms to 84.10
/// ms), which takes 23.1 %". Requires steps.corrected.
std::string CorrectedText(const StepSummary& steps);
/// Returns the steps that the step time averages, e.g. "mean of 5 steps, without the first".
std::string CountedText(const StepSummary& steps);

/// Returns the replayed steps, and the source of the calibration that removes the profiler's cost.
std::string WindowText(const EngineSummary& engine);

/// Returns the callback with the most self time, and its event; empty without callbacks.
std::string MostExpensiveCallbackText(const TraceReport& file);

/// Returns how long host and GPU wait for a batch.
std::string InputWaitText(const InputWait& wait);

/// Returns text such as "pytorch-profiler-json, 1.15 MB, 12,345 events, rank 0 of 8".
std::string InputText(const InputInfo& input);

/// Returns text such as "NVIDIA H200, 150.1 GB, 132 SMs, compute capability 9.0".
std::string DeviceText(const DeviceInfo& device);

/// Returns the number of a device or stream, or "?" if it is unknown.
std::string NumberText(std::optional<std::int64_t> number);

/// GPUs with their numbers. Identical GPUs with consecutive numbers share a row: {"GPU 0 to 7",
/// "NVIDIA A100, ..."}.
struct DeviceRow {
  std::string numbers;
  std::string text;
};
std::vector<DeviceRow> DeviceRows(const InputInfo& input);

/// Formats a sentence from the analyses for a page. Its first word gets a capital if it is a plain
/// word.
std::string Sentence(std::string_view text);

/// Returns Sentence(text) with a full stop, so that another sentence may follow.
std::string FullSentence(std::string_view text);

/// Returns the words as "a, b, c".
std::string Join(const std::vector<std::string>& words);

/// Returns the time of one call, e.g. "12.34 us".
std::string MeanText(const TimeRow& row);

}  // namespace headroom
