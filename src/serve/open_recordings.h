// Reads several recordings of one process as one trace.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "analysis/values/report.h"
#include "base/status.h"
#include "store/trace_store.h"

namespace headroom {

using OpenFile = std::function<Result<std::unique_ptr<TraceStore>>(const std::string& path)>;

/// Returns `first` joined with the traces of `further`, in order of time. Fails as `open` does.
/// Fails with kUsage if the traces are not consecutive recordings of one process.
///
/// @param path  file of `first`, for messages
Result<std::unique_ptr<TraceStore>> OpenRecordings(const std::string& path,
                                                   std::unique_ptr<TraceStore> first,
                                                   const std::vector<std::string>& further,
                                                   const OpenFile& open);

/// Changes the report of joined recordings: states their number, and leaves out commands that take
/// a single file.
///
/// @param further  number of recordings after the first
void MarkRecordings(std::size_t further, TraceReport& report);

}  // namespace headroom
