// The traces that hold the captures of graphs, as a user names them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ingest/open_trace.h"
#include "store/trace_store.h"

namespace headroom {

struct CaptureFile {
  std::unique_ptr<TraceStore> store;
  std::optional<std::int64_t> batch_size;  ///< Of its graphs, as the list of the captures says.
};

/// Reads each file as a trace, but a list of captures (vLLM's execution_details.json: an array of
/// objects with `file` and `batch_size`) for what it says of the others, by their file names. Fails
/// as OpenTrace() does, and (kBadInput) where there is a list and no trace.
Result<std::vector<CaptureFile>> OpenCaptures(const std::vector<std::string>& paths,
                                              const OpenOptions& options);

}  // namespace headroom
