#include "ingest/xplane/xplane_reader.h"

#include <algorithm>
#include <new>

#include "ingest/input/row_budget.h"
#include "ingest/input/trace_extent.h"
#include "ingest/xplane/plane_stream.h"
#include "ingest/xplane/row_writer.h"
#include "store/trace_formats.h"

namespace headroom::xplane {

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  {
    PlaneStream planes(source, options.chunk_bytes, store.log);
    RowBudget budget(path, options.expansion, source);
    RowWriter rows(store, options.max_event_bytes, options.expansion, budget);
    PlaneText plane;
    for (;;) {
      const Result<bool> found = planes.Next(plane);
      if (!found.ok()) return found.status();
      if (!found.value()) break;
      rows.Add(plane, source.file_bytes_read());
      if (!budget.status().ok()) return budget.status();
      if (options.progress) options.progress(source.file_bytes_read());
    }
    if (!source.damage().empty()) {
      store.log.Add(ImportIssue::kCutCompression, planes.bytes(), std::string(source.damage()));
    } else if (source.has_trailing_bytes()) {
      store.log.Add(ImportIssue::kCutCompression, planes.bytes(),
                    "bytes after the compressed stream are unreadable");
    }
    rows.Finish();
  }
  store.metadata.format = kXPlaneFormat;
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  const TraceExtent extent = ExtentOfStarts(store);
  ClipOverflowingSpans(extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(
      path +
      ": out of memory while reading, which requires about 120 bytes per event plus the "
      "largest plane; free memory, or use a larger machine");
}

}  // namespace headroom::xplane
