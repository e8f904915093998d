#include "ingest/open_trace.h"

#include <new>
#include <utility>

#include "ingest/kineto/kineto_reader.h"

namespace headroom {

Result<std::unique_ptr<TraceStore>> OpenTrace(const std::string& path,
                                              const OpenOptions& options) try {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, options.expansion);
  if (!source.ok()) return source.status();
  ByteSource& bytes = *source.value();
  kineto::ReadOptions read;
  read.threads = options.threads;
  read.max_event_bytes = options.max_event_bytes;
  if (options.progress) {
    read.progress = [&](std::int64_t done) { options.progress(done, bytes.file_bytes()); };
  }
  auto store = std::make_unique<TraceStore>();
  if (Status status = kineto::Read(bytes, path, read, *store); !status.ok()) return status;
  return store;
} catch (const std::bad_alloc&) {
  return Status::Internal(path + ": out of memory while opening");
}

}  // namespace headroom
