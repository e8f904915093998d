// The report of `headroom data`: the stage of the input pipeline that limits the loop, and the
// gains of other settings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "loader/input_probe.h"
#include "loader/loader_profile.h"
#include "loader/loading_forecast.h"
#include "loader/loading_verdict.h"
#include "render/text_page.h"

namespace headroom {

struct DataReport {
  std::string path;
  /// The rest of the report is about the first one. If empty, the trace has only the loop: the
  /// report has only `split`.
  std::vector<LoaderProfile> loaders;
  LoadingSplit split = {};
  std::optional<InputProbe> probe = {};  ///< Absent if not requested.
  /// Absent: see `no_forecast`.
  std::optional<LoadingModel> model = {};
  double correction = 1;  ///< Recorded period over simulated period, both of the recorded setting.
  LoadingSearch search = {};
  std::vector<LoadingOption> asked = {};  ///< In the order of the command line.
  std::string no_forecast = {};           ///< Why there is no forecast.
};

/// Returns headroom.data/1, see docs/data.md.
std::string RenderDataJson(const DataReport& report);
/// Returns one screen.
std::string RenderDataSummary(const DataReport& report, const PageStyle& style);
/// Returns all sections.
std::string RenderDataText(const DataReport& report, const PageStyle& style);

}  // namespace headroom
