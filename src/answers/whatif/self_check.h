// Writes the result of `headroom whatif --self-check`.
#pragma once

#include <span>

#include "render/json_writer.h"
#include "render/text_page.h"
#include "whatif/self_check.h"

namespace headroom {

/// Writes the value of the key `self_check`.
void WriteSelfCheckJson(std::span<const SelfCheck> checks, JsonWriter& json);
void WriteSelfCheckText(std::span<const SelfCheck> checks, TextPage& page);

}  // namespace headroom
