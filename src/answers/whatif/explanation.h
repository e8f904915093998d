// What `headroom whatif --explain` adds: critical path, slack, ledger and edges.
#pragma once

#include "render/json_writer.h"
#include "render/text_page.h"
#include "whatif/explanation.h"

namespace headroom {

/// The value of the key `explanation`.
void WriteExplanationJson(const Explanation& explanation, JsonWriter& json);
void WriteExplanationText(const Explanation& explanation, TextPage& page);

}  // namespace headroom
