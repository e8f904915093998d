// Writes the result of `headroom whatif --sweep`.
#pragma once

#include "render/json_writer.h"
#include "render/text_page.h"
#include "whatif/sweep.h"

namespace headroom {

/// Writes the value of the key `sweep`.
void WriteSweepJson(const Sweep& sweep, JsonWriter& json);
void WriteSweepText(const Sweep& sweep, TextPage& page);

}  // namespace headroom
