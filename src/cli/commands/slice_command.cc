#include "cli/commands/slice_command.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>

#include "analysis/analyzed_trace.h"
#include "analysis/names/reference_data.h"
#include "cli/flags/value_checks.h"
#include "cli/inputs/chosen_trace.h"
#include "cli/inputs/open_with_progress.h"
#include "cli/inputs/step_range.h"
#include "cli/terminal/file_ending.h"
#include "cli/terminal/output.h"
#include "export/chrome_events.h"
#include "export/trace_part.h"
#include "export/written_trace.h"
#include "render/number_format.h"

namespace headroom::cli {
namespace {

constexpr const char* kSliceExamples = R"(Examples:
  headroom slice trace.json.gz --steps 5:6 -o two.json.gz     two steps, and the one before them
  headroom slice trace.json.gz --time 120:180 -o part.json    from 120 to 180 ms after its start
  headroom slice merged.json.gz --rank 3 -o rank3.pftrace     one rank, in Perfetto's format

A name that ends in .pftrace, .perfetto-trace or .pb (or those and .gz) selects Perfetto's format;
any other name selects Chrome's. docs/export.md lists what is kept. Exit codes: 0 fine; 2 usage; 3 a
file is unreadable or not a trace; 4 cannot write, or internal error.
)";

/// Parses "A:B", in milliseconds after `zero`. An omitted end leaves the range open.
Result<Interval> ParseTimes(std::string_view text, TimeNs zero) {
  const Status wrong =
      Status::Usage(fmt::format("--time {}: give A:B, milliseconds after the first event of the "
                                "trace, e.g. 120:180.5; A: and :B leave an end open",
                                Printable(text)));
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() == 1) return wrong;
  Interval window{TimeNs(INT64_MIN), TimeNs(INT64_MAX)};
  const auto parse = [&](std::string_view part, TimeNs& time) {
    if (part.empty()) return true;
    constexpr double kMaxMs = 1e12, kNsPerMs = 1e6;
    double ms = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), ms);
    if (error != std::errc() || end != part.data() + part.size() || !(ms >= 0 && ms <= kMaxMs))
      return false;
    time = zero + DurationNs(std::llround(ms * kNsPerMs));
    return true;
  };
  if (!parse(text.substr(0, colon), window.start) || !parse(text.substr(colon + 1), window.end) ||
      window.start >= window.end) {
    return wrong;
  }
  return window;
}

}  // namespace

SliceCommand::SliceCommand(Command parent) {
  command_ = parent.AddCommand("slice", "Cut steps, a time range or one rank out of a trace",
                               kSliceExamples);
  command_.AddOption("TRACE", traces_, "A trace file, or a folder of them").Required().TypeName("");
  command_.AddOption("--steps", steps_, "Steps A to B, by number, and the one before them")
      .TypeName("A:B");
  command_.AddOption("--time", time_, "From A to B ms after the first event").TypeName("A:B");
  command_.AddOption("--rank", rank_, "Only this rank of a folder or of a merged file")
      .TypeName("R")
      .Check(WholeNumber(0, INT32_MAX));
  command_.AddOption("--step-marker", step_marker_, "Annotation that begins each step [found]")
      .TypeName("NAME");
  command_
      .AddOption("-o,--output", output_path_,
                 "Write to FILE, whole or not at all; compressed if it ends in .gz")
      .TypeName("FILE")
      .Check(NotEmpty())
      .Required();
  AddOpenFlags(command_, open_);
  command_.AddFlag("-q,--quiet", quiet_, "No remarks on stderr");
}

Result<StepAnalysis> SliceCommand::StepsOf(const TraceStore& store) const {
  const Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn();
  if (!reference.ok()) return reference.status();
  AnalysisOptions options;
  options.step_marker = step_marker_;
  NameFacts names(store, *reference.value());
  Result<AnalyzedTrace> trace = AnalyzeTrace(store, *reference.value(), names, options);
  if (!trace.ok()) return trace.status();
  return std::move(trace.value().steps);
}

Result<SliceWindow> SliceCommand::ReadSteps(const TraceStore& store) const {
  const Result<StepRange> range = ParseStepRange(steps_);
  if (!range.ok()) return range.status();
  const Result<StepAnalysis> found = StepsOf(store);
  if (!found.ok()) return found.status();
  const std::optional<SliceWindow> window =
      WindowOfSteps(found.value(), range.value().first.value_or(INT64_MIN),
                    range.value().last.value_or(INT64_MAX));
  if (window) return *window;
  const std::vector<StepRow>& steps = found.value().steps.list;
  if (steps.empty()) {
    return Status::Usage(
        "--steps: the trace has no steps; use --step-marker to name the range that begins a step, "
        "or "
        "use --time");
  }
  return Status::Usage(fmt::format("--steps: no such step; the trace has steps {} to {}",
                                   steps.front().index, steps.back().index));
}

Result<std::optional<SliceWindow>> SliceCommand::FindWindow(const TraceStore& store) const {
  std::optional<SliceWindow> window;
  if (!steps_.empty()) {
    const Result<SliceWindow> of_steps = ReadSteps(store);
    if (!of_steps.ok()) return of_steps.status();
    window = of_steps.value();
  } else if (!time_.empty()) {
    const Result<Interval> time = ParseTimes(time_, FirstTime(store));
    if (!time.ok()) return time.status();
    window = SliceWindow{.time = time.value()};
  }
  return window;
}

Status SliceCommand::Run() {
  if (!steps_.empty() && !time_.empty()) return Status::Usage("choose one of --steps and --time");
  if (steps_.empty() && time_.empty() && !rank_)
    return Status::Usage("say what to keep: --steps A:B, --time A:B or --rank R");
  const Result<TraceFiles> files = FindTraceFiles(traces_);
  if (!files.ok()) return files.status();
  if (output_path_ == "-") return Status::Usage("-o -: a trace cannot go to stdout; name a file");
  if (Status status = RefuseToOverwrite("-o", output_path_, files.value().paths); !status.ok())
    return status;
  const Result<ChosenTrace> trace = OpenChosenTrace(files.value(), rank_, open_, quiet_);
  if (!trace.ok()) return trace.status();
  const TraceStore& store = *trace.value().store;
  const Result<std::optional<SliceWindow>> found = FindWindow(store);
  if (!found.ok()) return found.status();
  const std::optional<SliceWindow>& window = found.value();
  const std::unique_ptr<TraceStore> part =
      PartOf(store, {.window = window ? std::optional(window->time) : std::nullopt, .rank = {}});
  if (part->host_events.rows() + part->gpu_tasks.rows() == 0)
    return Status::Usage(
        "nothing was recorded in this range; `headroom report` shows how long the trace is");
  const Result<std::int64_t> events =
      WriteTrace(*part, FormatOfName(output_path_), output_path_, open_.expansion);
  if (!events.ok()) return events.status();
  if (!quiet_) {
    Remark(RemarkOnTraceEnding(output_path_, FormatOfName(output_path_)));
    std::int64_t kept = window ? window->steps : 0;
    std::string more;
    if (window && window->step_before) {
      ++kept;
      more = fmt::format("; step {} is kept, too: the next step begins where its work ends",
                         *window->step_before);
    }
    std::int64_t steps = kept > 0 ? kept : static_cast<std::int64_t>(part->steps.rows());
    if (kept > 0 && !window->marked) {
      // The part may contain too few steps to infer them from repetition.
      const Result<StepAnalysis> again = StepsOf(*part);
      steps = again.ok() ? static_cast<std::int64_t>(again.value().steps.list.size()) : 0;
      if (steps < kept)
        more += fmt::format(
            "; the part has {} steps, but too few repetitions to infer all of them: keep more, or "
            "mark them with prof.step()",
            kept);
    }
    Remark(fmt::format("wrote {}: {} events, {}{}\n",
                       Printable(output_path_, CharsetOfEnvironment()), FormatCount(events.value()),
                       Plural(steps, "step"), more));
  }
  return Status::Ok();
}

}  // namespace headroom::cli
