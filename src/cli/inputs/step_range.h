// The steps that --steps selects.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace headroom::cli {

/// Steps with first <= index <= last. An absent end is open.
struct StepRange {
  std::optional<std::int64_t> first, last;
};

/// Parses "A:B", "A:" or ":B" with A <= B, both >= 0.
Result<StepRange> ParseStepRange(std::string_view text);

}  // namespace headroom::cli
