// `headroom report --html`: writes the page of `headroom ui` as one file, with the answers inside.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// A request of the page, without `/api/v1/` ("whatif?scenario=amp"), and its answer.
struct PageAnswer {
  std::string path;
  std::string json;
};

/// Returns one document that needs no other file: it contains style, script and answers. Its
/// content policy names their hashes, so no other script runs and no request is made. Hostile names
/// of a trace stay inside the answers.
///
/// Fails with kEnvironment if a file of the page is missing or cannot be inlined.
///
/// @param page  files of the page, including index.html, app.js and app.css
Result<std::string> RenderHtml(std::span<const NamedText> page,
                               std::span<const PageAnswer> answers);

}  // namespace headroom
