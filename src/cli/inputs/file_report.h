// What `headroom report` does with one trace file.
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

/// What is asked of each file.
struct FileRequest {
  OpenOptions open;
  AnalysisOptions analysis;  ///< Without a path.
  CalibrationFlags calibration;
  std::optional<double> measured_step_ms;
  std::string show;      ///< Id of a row whose calls are wanted (`report --show`); empty: none.
  bool compare = false;  ///< Whether ranks are to be compared.
  bool progress = false;
  std::vector<std::string> captures;  ///< Traces that hold the captures of its graphs.
  Recordings recordings;              ///< What is read together with a file, as one trace.
};

/// Reads, analyses and forecasts one file; what it took of memory is free again when it returns.
/// Running out of memory is a failure of this file alone. Does not throw.
FileResult ReportFile(const std::string& path, const ReferenceData& reference,
                      const FileRequest& request, ResourceLog& log);

}  // namespace headroom::cli
