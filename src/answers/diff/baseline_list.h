// The baselines of a folder, as `headroom baseline list` prints them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compare/job_profile.h"
#include "render/text_page.h"

namespace headroom {

/// A file of the folder.
struct ListedBaseline {
  std::string file;          ///< Its name.
  JobProfile profile = {};   ///< Where there is no problem.
  std::string problem = {};  ///< Why the file is not a readable baseline; empty if it is.
};

struct BaselineList {
  std::string folder;
  std::vector<ListedBaseline> baselines;  ///< By name of the file.
};

/// Returns no baselines where there is no such folder. Fails (kBadInput) for one that cannot be
/// read.
Result<BaselineList> ListBaselines(const std::string& folder);

/// headroom.baselines/1, docs/diff.md.
std::string RenderBaselinesJson(const BaselineList& list);
std::string RenderBaselinesText(const BaselineList& list, const PageStyle& style);

}  // namespace headroom
