// Reads a trace from memory.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "ingest/input/memory_source.h"
#include "ingest/perfetto/perfetto_reader.h"
#include "store/trace_store.h"

namespace headroom::testing {

inline std::unique_ptr<TraceStore> ReadRecording(const std::string& bytes,
                                                 std::size_t chunk_bytes = std::size_t{1} << 16,
                                                 int threads = 1) {
  MemoryByteSource source(bytes);
  perfetto::ReadOptions options;
  options.chunk_bytes = chunk_bytes;
  options.threads = threads;
  auto store = std::make_unique<TraceStore>();
  const Status status = perfetto::Read(source, "memory", options, *store);
  EXPECT_TRUE(status.ok()) << status.message();
  return store;
}

}  // namespace headroom::testing
