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

/// What the breakdown is of: "mean of 12 steps", "step 3", "the whole recording". REQUIRES:
/// report.breakdown.
std::string BreakdownSubject(const TraceReport& report);

/// The same with its confidence: "... Confidence: high."
std::string VerdictText(const Bottleneck& bottleneck);

/// What a cause of the step's time (CauseRow::name) is, in a few words.
std::string_view CauseText(std::string_view cause);

/// What a grade means, as docs/report.md defines it. `verdict`: whether there is one.
std::string_view GradeSentence(char grade, bool verdict);
/// The same of a job; of several files, whose grade that is.
std::string GradeText(const JobReport& job);

/// How the steps were found.
std::string StepSourceText(const Steps& steps);

/// What the change of a finding saves a step, and how that is known; empty: the engine did not run.
std::string SavesText(const Finding& finding);
/// Returns "do", "do not" if the action makes the step longer, or "" if it gains nothing.
std::string_view ActionLabel(const Finding& finding);

/// Returns the action of a finding as a short title: "Fuse the optimizer: fused=True". It names
/// the place to start with if that fits into `width` columns.
std::string ActionTitle(const Finding& finding, std::size_t width);

/// Who wrote a trace: "PyTorch", "Nsight Systems"; the format itself if it is not known.
std::string_view RecorderName(std::string_view format);

/// The step without the profiler, e.g. "79.60 ms without the profiler (75.20 ms to 84.10 ms), which
/// takes 23.1 %". REQUIRES: steps.corrected.
std::string CorrectedText(const StepSummary& steps);
/// Which steps the step time is of, e.g. "mean of 5 steps, without the first".
std::string CountedText(const StepSummary& steps);

/// Which steps were replayed, and with what reference of the recording's cost.
std::string WindowText(const EngineSummary& engine);

/// The callback that holds most time by itself, and on which event; empty: there is none.
std::string DearestCallbackText(const TraceReport& file);

/// What a batch makes host and GPU wait.
std::string InputWaitText(const InputWait& wait);

/// "pytorch-profiler-json, 1.15 MB, 12,345 events, rank 0 of 8".
std::string InputText(const InputInfo& input);

/// "NVIDIA H200, 150.1 GB, 132 SMs, compute capability 9.0".
std::string DeviceText(const DeviceInfo& device);

/// Number of a device or stream; "?" where the trace does not say.
std::string NumberText(std::optional<std::int64_t> number);

/// GPUs with their numbers, equal neighbours in one row: {"GPU 0 to 7", "NVIDIA A100, ..."}.
struct DeviceRow {
  std::string numbers;
  std::string text;
};
std::vector<DeviceRow> DeviceRows(const InputInfo& input);

/// A sentence of the analyses as a sentence of a page: its first word begins with a capital, if it
/// is a plain word.
std::string Sentence(std::string_view text);

/// The same with a full stop, so that another may follow.
std::string FullSentence(std::string_view text);

/// "a, b, c".
std::string Join(const std::vector<std::string>& words);

/// Time of one call, e.g. "12.34 us".
std::string MeanText(const TimeRow& row);

}  // namespace headroom
