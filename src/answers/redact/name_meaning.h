// Whether a name means the same to the analyses as what replaces it.
#pragma once

#include <string_view>

#include "analysis/names/reference_data.h"
#include "redact/text_redactor.h"

namespace headroom {

/// Returns whether the analyses make the same of two names of a role.
bool MeanTheSame(const ReferenceData& reference, std::string_view a, std::string_view b,
                 NameRole role);

}  // namespace headroom
