#include "serve/join_capture_files.h"

#include "analysis/capture_join.h"
#include "ingest/capture_files.h"

namespace headroom {

Status JoinCaptureFiles(TraceStore& store, const ReferenceData& reference,
                        const std::vector<std::string>& paths, const OpenOptions& options) {
  const Result<std::vector<CaptureFile>> files = OpenCaptures(paths, options);
  if (!files.ok()) return files.status();
  std::vector<CaptureTrace> captures;
  for (const CaptureFile& file : files.value())
    captures.push_back({file.store.get(), file.batch_size});
  JoinCaptures(store, reference, captures);
  return Status::Ok();
}

}  // namespace headroom
