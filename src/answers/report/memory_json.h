// Writes the memory of headroom.report/1.
#pragma once

#include "answers/report/job_report.h"
#include "render/json_writer.h"

namespace headroom {

/// Writes `memory`: one entry per rank and device, or null if no file has memory data.
void WriteMemory(JsonWriter& json, const JobReport& job, const ReportOptions& options);

}  // namespace headroom
