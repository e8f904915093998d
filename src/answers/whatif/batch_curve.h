// Writes the batch curve of a forecast for another batch size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "render/json_writer.h"
#include "render/text_page.h"
#include "whatif/scenarios/workload/batch_curve.h"

namespace headroom {

/// Returns the GPU memory that a change adds: "+3.9 GB", "-12 MB", "none" or "unknown".
std::string MemoryText(std::optional<std::int64_t> delta_bytes);

/// Writes the value of the key `batch_curve`.
void WriteBatchCurveJson(const BatchCurve& curve, JsonWriter& json);
/// @param name  name of the forecast, as the user wrote it
void WriteBatchCurveText(std::string_view name, const BatchCurve& curve, TextPage& page);

}  // namespace headroom
