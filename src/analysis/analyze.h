// Turns one frozen trace into one report.
#pragma once

#include "analysis/values/options.h"
#include "analysis/values/report.h"
#include "base/status.h"
#include "store/trace_store.h"

namespace headroom {

class DeviceCatalog;
struct DeviceSpec;
class ReferenceData;

/// Computes every section of the report. The result is deterministic and depends only on the store
/// and the options. Fails with kUsage if the options name steps or a marker that the trace does not
/// have.
Result<TraceReport> Analyze(const TraceStore& store, const ReferenceData& reference,
                            const AnalysisOptions& options);

}  // namespace headroom
