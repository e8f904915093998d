// The memory of headroom.report/1.
#pragma once

#include "answers/report/job_report.h"
#include "render/json_writer.h"

namespace headroom {

/// `memory`: null where no file has any; else one entry a rank and device.
void WriteMemory(JsonWriter& json, const JobReport& job, const ReportOptions& options);

}  // namespace headroom
