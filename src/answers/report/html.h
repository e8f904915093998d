// `headroom report --html`: the page of `headroom ui` as one file, with the answers inside.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// What the page asks, as it stands behind `/api/v1/` ("whatif?scenario=amp"), and the answer.
struct PageAnswer {
  std::string path;
  std::string json;
};

/// One document that needs nothing beside it: style, script and answers are inside, and its content
/// policy, by their hashes, lets nothing else run and nothing be asked for. Names of a trace, which
/// are hostile, stay inside the answers.
///
/// @param page  files of the page, index.html, app.js and app.css among them
/// Fails (kEnvironment) where these are not as the build of the page makes them.
Result<std::string> RenderHtml(std::span<const NamedText> page,
                               std::span<const PageAnswer> answers);

}  // namespace headroom
