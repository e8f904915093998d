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
  /// All loaders, with the requested loader first. The other fields describe that loader. If empty,
  /// only the loop was recorded, and only `path`, `split` and `no_forecast` are set.
  std::vector<LoaderProfile> loaders;
  LoadingSplit split = {};
  /// Absent if the run had no --probe-input, or if it probed another loader.
  std::optional<InputProbe> probe = {};
  /// Absent if there is no forecast; `no_forecast` gives the reason.
  std::optional<LoadingModel> model = {};
  double correction = 1;  ///< Recorded period over simulated period, for the recorded setting.
  LoadingSearch search = {};
  std::vector<LoadingOption> asked = {};  ///< Requested settings, in command-line order.
  std::string no_forecast = {};           ///< Why there is no forecast; empty if there is one.
};

/// Returns headroom.data/1, see docs/data.md.
std::string RenderDataJson(const DataReport& report);
/// Returns one screen.
std::string RenderDataSummary(const DataReport& report, const PageStyle& style);
/// Returns all sections.
std::string RenderDataText(const DataReport& report, const PageStyle& style);

}  // namespace headroom
