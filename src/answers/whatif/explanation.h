// Writes the result of `headroom whatif --explain`: critical path, slack, ledger and edges.
#pragma once

#include "render/json_writer.h"
#include "render/text_page.h"
#include "whatif/explanation.h"

namespace headroom {

/// Writes the value of the key `explanation`.
void WriteExplanationJson(const Explanation& explanation, JsonWriter& json);
void WriteExplanationText(const Explanation& explanation, TextPage& page);

}  // namespace headroom
