// Reads a trace and makes its job, for commands that use the engine.
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
  std::string steps;    ///< "A:B", as ParseStepRange() reads it; empty for all steps.
  std::string capture;  ///< Trace, or folder of traces, with the captures of the CUDA graphs; empty
                        ///< for none.
  std::optional<double> measured_step_ms;
  CalibrationFlags calibration;
  std::vector<NamedText> device_files;  ///< Device files in addition to the built-in ones.
  OpenOptions open = {};                ///< AddJobFlags() sets `threads`.
  bool quiet = false;
  bool cpu_jobs = false;  ///< Accepts a job without GPU work.
};

/// Adds the flags of a recorded job, which have the same names in every command. Each command
/// itself adds `quiet` and its device files.
void AddJobFlags(Command command, JobOptions& options);
/// Returns these options as words of a command line, for commands that the output suggests.
std::vector<std::string> ArgumentsOf(const JobOptions& options);
/// Adds --capture, for commands that read one trace.
void AddCaptureFlag(Command command, JobOptions& options);
inline constexpr const char* kCaptureHelp =
    "Trace or folder of traces with the captures of the replayed graphs";

/// A job with the data that it refers to. `store` contains only the requested steps.
struct OpenedJob {
  std::unique_ptr<ReferenceData> reference;
  std::unique_ptr<TraceStore> store;
  std::unique_ptr<Job> job;
  std::string calibration;          ///< Source of the calibrated cost of recording, for the user.
  std::string note;                 ///< CalibratedJob::note.
  Status forecasts = Status::Ok();  ///< CalibratedJob::forecasts
};

/// A trace that was read, with the analysis options from its flags.
struct OpenedTrace {
  std::unique_ptr<ReferenceData> reference;
  std::unique_ptr<TraceStore> store;
  AnalysisOptions analysis;
};

/// Returns the files that --capture names; empty without the flag. Fails as FindTraceFiles() does.
Result<std::vector<std::string>> CaptureFiles(const std::string& capture);
/// Returns `inputs` and the files that --capture names, for RefuseToOverwrite().
Result<std::vector<std::string>> WithCaptures(std::vector<std::string> inputs,
                                              const std::string& capture);

/// Returns the analysis options that the flags set for any trace. Leaves the path empty. Fails with
/// kUsage if the steps are not a range.
Result<AnalysisOptions> AnalysisOf(const JobOptions& options);
Result<OpenedTrace> ReadTrace(const std::string& trace, const JobOptions& options);
Result<OpenedJob> MakeJob(OpenedTrace trace, const JobOptions& options);
/// Reads the trace and makes its job.
Result<OpenedJob> OpenJob(const std::string& trace, const JobOptions& options);

}  // namespace headroom::cli
