#include "ingest/nsight/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>

#include "ingest/nsight/reading.h"
#include "ingest/nsight/tables.h"
#include "store/trace_formats.h"

namespace headroom::nsight {
namespace {

using sqlite::Database;
using sqlite::DatabaseTable;

/// Data that a recording should have, its table, and the flag of nsys that records it.
struct Collectable {
  std::string_view table;
  std::string_view what;
  std::string_view flag;
};
constexpr Collectable kCollectable[] = {
    {kKernels, "kernels", "--trace=cuda"},
    {kCalls, "CUDA API calls", "--trace=cuda"},
    {kNvtx, "NVTX ranges", "--trace=nvtx"},
    {kOsCalls, "OS calls", "--trace=osrt"},
    {kMemory, "GPU memory", "--cuda-memory-usage=true"},
    {kMetrics, "GPU metrics", "--gpu-metrics-devices=all"},
};

Status Recognize(const Database& database, const std::string& path) {
  for (const std::string_view table : {kKernels, kCalls, kNvtx, kCopies, kGraphs, kOsCalls}) {
    if (database.Find(table) != nullptr) return Status::Ok();
  }
  const auto any = [&](std::string_view prefix) {
    return std::any_of(database.tables().begin(), database.tables().end(),
                       [&](const DatabaseTable& table) { return table.name.starts_with(prefix); });
  };
  if (any("rocpd_")) {
    return Status::BadInput(
        path +
        ": is an unsupported database of rocmProfileData or another ROCm tool; convert "
        "it to JSON (rpd2tracing.py FILE trace.json)");
  }
  if (any("StringIds")) {
    return Status::BadInput(
        path +
        ": is an Nsight Systems export without CUDA or NVTX events; record with nsys profile "
        "--trace=cuda,nvtx,osrt");
  }
  return Status::BadInput(fmt::format(
      "{}: is an SQLite database, but not one of Nsight Systems or rocprofv3: it has no table "
      "{}, {} or rocpd_kernel_dispatch; pass what `nsys export --type sqlite` or rocprofv3 wrote",
      path, kKernels, kNvtx));
}

void TellMissing(Reading& reading) {
  std::string kinds;
  for (const Collectable& kind : kCollectable) {
    const bool whole_graphs = kind.table == kKernels && reading.Has(kGraphs);
    if (reading.Has(kind.table) || whole_graphs) continue;
    kinds += fmt::format("{}{} ({})", kinds.empty() ? "" : ", ", kind.what, kind.flag);
  }
  if (!kinds.empty())
    reading.store.log.Add(ImportIssue::kNotCollected, -1,
                          "nsys profile flags that record them: " + kinds);
}

void ReadTables(Reading& reading) {
  if (const std::int64_t missing = reading.database.missing_bytes(); missing > 0) {
    reading.store.log.Add(ImportIssue::kTruncated, reading.database.bytes(),
                          fmt::format("{} bytes are missing", missing));
  }
  ReadTexts(reading);
  ReadTarget(reading);
  ReadGpuTasks(reading);
  ReadCudaCalls(reading);
  ReadSyncs(reading);
  NvtxTable nvtx(reading);
  nvtx.Read();
  ReadOsCalls(reading);
  ReadMemory(reading);
  ReadMetrics(reading);
  nvtx.NameThreads();
  ReadNames(reading);
  ReadDiagnostics(reading);
  nvtx.Finish();
  reading.tracks.Settle();
  TellMissing(reading);
}

}  // namespace

Status Read(const sqlite::Database& database, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  if (Status status = Recognize(database, path); !status.ok()) return status;
  Reading reading(database, options, store);
  ReadTables(reading);
  store.metadata.format = kNsightFormat;
  store.metadata.file_bytes = database.bytes();
  ClipOverflowingSpans(reading.extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(reading.extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 120 bytes per "
                             "event; free memory, or use a larger machine");
}

}  // namespace headroom::nsight
