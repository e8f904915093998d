// Opens traces of captured graphs and the lists that state their batch sizes.
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
  std::optional<std::int64_t>
      batch_size;  ///< Batch size of the captured graphs; nullopt if no list of captures states it.
};

/// Reads each file as a trace, except lists of captures. Such a list (vLLM's
/// execution_details.json) is an array of objects with `file` and `batch_size`. It states the batch
/// sizes of the other files, by file name. Fails as OpenTrace() does, and with kBadInput if there
/// is a list but no trace.
Result<std::vector<CaptureFile>> OpenCaptures(const std::vector<std::string>& paths,
                                              const OpenOptions& options);

}  // namespace headroom
