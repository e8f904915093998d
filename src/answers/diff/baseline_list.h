// The baselines of a folder, as `headroom baseline list` prints them.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compare/job_profile.h"
#include "render/text_page.h"

namespace headroom {

/// A file in the folder of baselines.
struct ListedBaseline {
  std::string file;          ///< File name.
  JobProfile profile = {};   ///< Valid only if `problem` is empty.
  std::string problem = {};  ///< Why the file is not a readable baseline; empty for a readable one.
};

struct BaselineList {
  std::string folder;
  std::vector<ListedBaseline> baselines;  ///< Sorted by file name.
};

/// Returns no baselines if the folder does not exist. Fails with kBadInput if it is unreadable.
Result<BaselineList> ListBaselines(const std::string& folder);

/// Returns headroom.baselines/1, see docs/diff.md.
std::string RenderBaselinesJson(const BaselineList& list);
std::string RenderBaselinesText(const BaselineList& list, const PageStyle& style);

}  // namespace headroom
