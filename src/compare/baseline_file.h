// Reads what `headroom baseline save` wrote (format headroom.baseline/1;
// answers/diff/baseline_json.h writes it), and the names of baselines.
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

/// Fails (kUsage) unless the name is 1 to 64 letters, digits, '.', '_' or '-', and begins with a
/// letter or digit: it is a file's name, and no path.
Status CheckBaselineName(std::string_view name);

/// FOLDER/NAME.json.
std::string BaselinePath(std::string_view folder, std::string_view name);

/// Whether a file that begins with these bytes says that it is a baseline.
bool LooksLikeBaseline(std::string_view begin);

/// Fails (kBadInput) with the file and what is wrong.
Result<JobProfile> ParseBaseline(const NamedText& file);

/// The baseline that `named` is: a file that says so, or, where no such file is there, a name in
/// `folder`. nullopt: it is to be read as a trace. Fails (kBadInput) where the file is broken.
Result<std::optional<JobProfile>> FindBaseline(const std::string& named, const std::string& folder);

}  // namespace headroom
