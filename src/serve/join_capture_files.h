// Joins replayed CUDA graphs to their captures in files that the user names.
#pragma once

#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "base/status.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom {

/// Calls JoinCaptures() with the result of OpenCaptures(); without files, with the captures of the
/// trace itself. Fails as OpenCaptures() does. REQUIRES: called at most once per store.
Status JoinCaptureFiles(TraceStore& store, const ReferenceData& reference,
                        const std::vector<std::string>& paths, const OpenOptions& options);

}  // namespace headroom
