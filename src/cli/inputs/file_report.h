// Runs `headroom report` on one trace file.
#pragma once

#include <optional>
#include <string>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "cli/inputs/trace_files.h"
#include "cli/terminal/resource_log.h"
#include "distributed/file_result.h"
#include "ingest/open_trace.h"
#include "whatif/calibration/calibration_choice.h"

namespace headroom::cli {

/// Options of the report on each file.
struct FileRequest {
  OpenOptions open;
  AnalysisOptions analysis;  ///< Analysis options without a path.
  CalibrationFlags calibration;
  std::optional<double> measured_step_ms;
  std::string show;  ///< Id of the row whose calls `report --show` prints; empty without --show.
  bool compare = false;  ///< True if ranks are to be compared.
  bool progress = false;
  /// Traces that contain the captures of the file's CUDA graphs.
  std::vector<std::string> captures;
  Recordings recordings;  ///< Files of one process that are read together, as one trace.
};

/// Reads, analyzes and forecasts one file. Frees the memory of the trace before it returns. If
/// memory runs out, only this file fails. Does not throw.
FileResult ReportFile(const std::string& path, const ReferenceData& reference,
                      const FileRequest& request, ResourceLog& log);

}  // namespace headroom::cli
