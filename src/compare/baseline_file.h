// Reads the files of `headroom baseline save` (format headroom.baseline/1, written by
// answers/diff/baseline_json.h), and finds baselines by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/named_text.h"
#include "base/status.h"
#include "compare/job_profile.h"

namespace headroom {

inline constexpr const char* kBaselineSchema = "headroom.baseline/1";
inline constexpr const char* kBaselineFolder = ".headroom/baselines";

/// Fails with kUsage unless the name is 1 to 64 letters, digits, '.', '_' or '-', and begins with a
/// letter or digit. A name becomes a file name, so it must not be a path.
Status CheckBaselineName(std::string_view name);

/// Returns FOLDER/NAME.json.
std::string BaselinePath(std::string_view folder, std::string_view name);

/// Returns true if a file's first bytes contain a baseline's schema.
bool LooksLikeBaseline(std::string_view begin);

/// Fails with kBadInput if the file is not a valid baseline. The message names the file and the
/// error.
Result<JobProfile> ParseBaseline(const NamedText& file);

/// Returns the baseline in the file `named` or, if there is no such file, the baseline of that name
/// in `folder`. Returns nullopt if `named` must be read as a trace. Fails with kBadInput if the
/// baseline is damaged.
Result<std::optional<JobProfile>> FindBaseline(const std::string& named, const std::string& folder);

}  // namespace headroom
