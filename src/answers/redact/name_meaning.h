// Compares a name with its replacement, as the analyses read both.
#pragma once

#include <string_view>

#include "analysis/names/reference_data.h"
#include "redact/text_redactor.h"

namespace headroom {

/// Returns true if `a` and `b`, in the role `role`, mean the same to the analyses.
bool MeanTheSame(const ReferenceData& reference, std::string_view a, std::string_view b,
                 NameRole role);

}  // namespace headroom
