// Reads a trace and makes its job, for commands that ask the engine.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "base/named_text.h"
#include "base/status.h"
#include "cli/flags/command.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"
#include "whatif/calibration/calibration_choice.h"
#include "whatif/job/job.h"

namespace headroom::cli {

struct JobOptions {
  std::string step_marker;
  std::string steps;    ///< "A:B", as ParseStepRange() reads it; empty: all.
  std::string capture;  ///< A trace, or a folder of traces, with the captures of its graphs.
  std::optional<double> measured_step_ms;
  CalibrationFlags calibration;
  std::vector<NamedText> device_files;  ///< Beside the built-in ones.
  OpenOptions open = {};                ///< `threads` is set by AddJobFlags().
  bool quiet = false;
};

/// The flags of a recorded job, under the names that every command gives them; `quiet` and files of
/// devices are the command's own.
void AddJobFlags(Command command, JobOptions& options);
/// The words of a command line that say the same, for a command that the text shows.
std::vector<std::string> ArgumentsOf(const JobOptions& options);
/// --capture, for commands that read one trace.
void AddCaptureFlag(Command command, JobOptions& options);
inline constexpr const char* kCaptureHelp =
    "Trace or folder of traces with the captures of the replayed graphs";

/// A job with what it refers to; `store` holds the steps that were asked for.
struct OpenedJob {
  std::unique_ptr<ReferenceData> reference;
  std::unique_ptr<TraceStore> store;
  std::unique_ptr<Job> job;
  std::string calibration;          ///< For the user: where the cost of recording comes from.
  std::string note;                 ///< CalibratedJob::note.
  Status forecasts = Status::Ok();  ///< CalibratedJob::forecasts
};

/// A trace that was read, and what its flags say of the analysis.
struct OpenedTrace {
  std::unique_ptr<ReferenceData> reference;
  std::unique_ptr<TraceStore> store;
  AnalysisOptions analysis;
};

/// Returns the files that --capture names, none without the flag. Fails as FindTraceFiles() does.
Result<std::vector<std::string>> CaptureFiles(const std::string& capture);
/// Returns `inputs` and the files that --capture names, for RefuseToOverwrite().
Result<std::vector<std::string>> WithCaptures(std::vector<std::string> inputs,
                                              const std::string& capture);

/// What the flags say of the analysis of any trace; its path is not set. Fails (kUsage) for steps
/// that are no range.
Result<AnalysisOptions> AnalysisOf(const JobOptions& options);
Result<OpenedTrace> ReadTrace(const std::string& trace, const JobOptions& options);
Result<OpenedJob> MakeJob(OpenedTrace trace, const JobOptions& options);
/// Both.
Result<OpenedJob> OpenJob(const std::string& trace, const JobOptions& options);

}  // namespace headroom::cli
