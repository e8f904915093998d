// `headroom export --to chakra`: a file a rank, as ASTRA-sim takes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/inputs/trace_files.h"

namespace headroom::cli {

/// Writes each rank's trace to `prefix`.RANK.et: all of them, or none where one fails. Of several
/// files each must tell its rank, in it or by its name; a file alone that does not is rank 0; of a
/// file that `headroom merge` made come all ranks. A file of a folder that cannot be read is left
/// out, with a remark.
///
/// @param rank  only this one
Status WriteChakraFiles(const TraceFiles& files, std::optional<std::int64_t> rank,
                        const OpenOptions& open, bool quiet, const std::string& prefix);

}  // namespace headroom::cli
