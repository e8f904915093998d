// The report of `headroom data`: which stage of the input pipeline holds the loop back, and what
// other settings would buy.
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
  /// The first is what all below is about. Empty: the trace knows the loop alone, and there is a
  /// `split` and nothing else.
  std::vector<LoaderProfile> loaders;
  LoadingSplit split = {};
  std::optional<InputProbe> probe = {};  ///< None: not asked for.
  /// None: see `no_forecast`.
  std::optional<LoadingModel> model = {};
  double correction = 1;  ///< Recorded over simulated period of the recorded setting.
  LoadingSearch search = {};
  std::vector<LoadingOption> asked = {};  ///< In the order in which the user named them.
  std::string no_forecast = {};           ///< Why there is none.
};

/// headroom.data/1, docs/data.md.
std::string RenderDataJson(const DataReport& report);
/// One screen.
std::string RenderDataSummary(const DataReport& report, const PageStyle& style);
/// All sections.
std::string RenderDataText(const DataReport& report, const PageStyle& style);

}  // namespace headroom
