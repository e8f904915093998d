// Views over the tables, for the most common questions.
#include <array>

#include "query/database.h"

namespace headroom {
namespace {

constexpr std::array kKernels = {
    QueryView::Column{"id", "gpu_tasks.id"},
    QueryView::Column{"start_ns", "gpu_tasks.start_ns"},
    QueryView::Column{"duration_ns", "gpu_tasks.duration_ns"},
    QueryView::Column{"name", "gpu_tasks.name"},
    QueryView::Column{"class", "gpu_attribution.class"},
    QueryView::Column{"device", "devices.ordinal"},
    QueryView::Column{"stream", "streams.number"},
    QueryView::Column{"phase", "gpu_attribution.phase"},
    QueryView::Column{"operator", "gpu_attribution.operator"},
    QueryView::Column{"layer", "gpu_attribution.layer"},
    QueryView::Column{"line", "gpu_attribution.line"},
    QueryView::Column{"step", "gpu_attribution.step"},
    QueryView::Column{"launch_id", "gpu_tasks.launch_id"},
    QueryView::Column{"launch_to_start_ns", "", "integer", "ns",
                      "Time from the start of the launching call to the start of the kernel; null "
                      "if the call is unknown.",
                      true},
    QueryView::Column{"grid_x", "gpu_tasks.grid_x"},
    QueryView::Column{"grid_y", "gpu_tasks.grid_y"},
    QueryView::Column{"grid_z", "gpu_tasks.grid_z"},
    QueryView::Column{"block_x", "gpu_tasks.block_x"},
    QueryView::Column{"block_y", "gpu_tasks.block_y"},
    QueryView::Column{"block_z", "gpu_tasks.block_z"},
    QueryView::Column{"registers", "gpu_tasks.registers"},
    QueryView::Column{"shared_memory_bytes", "gpu_tasks.shared_memory_bytes"},
    QueryView::Column{"occupancy_pct", "gpu_tasks.occupancy_pct"},
};

constexpr std::array kCopies = {
    QueryView::Column{"id", "gpu_tasks.id"},
    QueryView::Column{"start_ns", "gpu_tasks.start_ns"},
    QueryView::Column{"duration_ns", "gpu_tasks.duration_ns"},
    QueryView::Column{"name", "gpu_tasks.name"},
    QueryView::Column{"kind", "gpu_tasks.kind"},
    QueryView::Column{"direction", "gpu_tasks.copy"},
    QueryView::Column{"bytes", "gpu_tasks.bytes"},
    QueryView::Column{"gb_per_s", "", "real", "GB/s",
                      "Bytes divided by the duration; null if either is unknown or 0.", true},
    QueryView::Column{"device", "devices.ordinal"},
    QueryView::Column{"stream", "streams.number"},
    QueryView::Column{"phase", "gpu_attribution.phase"},
    QueryView::Column{"operator", "gpu_attribution.operator"},
    QueryView::Column{"layer", "gpu_attribution.layer"},
    QueryView::Column{"step", "gpu_attribution.step"},
    QueryView::Column{"launch_id", "gpu_tasks.launch_id"},
};

constexpr std::array kOperators = {
    QueryView::Column{"id", "host_events.id"},
    QueryView::Column{"start_ns", "host_events.start_ns"},
    QueryView::Column{"duration_ns", "host_events.duration_ns"},
    QueryView::Column{"name", "host_events.name"},
    QueryView::Column{"tid", "threads.tid"},
    QueryView::Column{"thread", "threads.name"},
    QueryView::Column{"phase", "host_attribution.phase"},
    QueryView::Column{"layer", "host_attribution.layer"},
    QueryView::Column{"line", "host_attribution.line"},
    QueryView::Column{"step", "host_attribution.step"},
    QueryView::Column{"recomputed", "host_attribution.recomputed"},
    QueryView::Column{"sequence", "host_events.sequence"},
    QueryView::Column{"parent_id", "host_events.parent_id"},
    QueryView::Column{"args", "host_events.args"},
};

constexpr std::array kCalls = {
    QueryView::Column{"id", "host_events.id"},
    QueryView::Column{"start_ns", "host_events.start_ns"},
    QueryView::Column{"duration_ns", "host_events.duration_ns"},
    QueryView::Column{"name", "host_events.name"},
    QueryView::Column{"kind", "host_events.kind"},
    QueryView::Column{"tid", "threads.tid"},
    QueryView::Column{"phase", "host_attribution.phase"},
    QueryView::Column{"operator", "host_attribution.operator"},
    QueryView::Column{"layer", "host_attribution.layer"},
    QueryView::Column{"step", "host_attribution.step"},
    QueryView::Column{"correlation", "host_events.correlation"},
    QueryView::Column{"parent_id", "host_events.parent_id"},
};

constexpr std::array kGpuGaps = {
    QueryView::Column{"device", "devices.ordinal"},
    QueryView::Column{"start_ns", "", "integer", "ns",
                      "End of the previous task, on the clock of the trace."},
    QueryView::Column{"duration_ns", "", "integer", "ns", "Time without a task."},
    QueryView::Column{"next_id", "", "integer", "", "The task after the gap. A row of gpu_tasks."},
};

// The views use LEFT JOIN although each row has a match. LEFT JOIN keeps the main table as the
// outer loop, in the order that a group by name requires. Unused columns are rarely looked up.
constexpr std::array kViews = {
    QueryView{"kernels", "Kernels with their device, launch context and step.",
              R"(SELECT t.id, t.start_ns, t.duration_ns, t.name, a.class, d.ordinal AS device,
  s.number AS stream, a.phase, a.operator, a.layer, a.line, a.step, t.launch_id,
  t.start_ns - l.start_ns AS launch_to_start_ns,
  t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z, t.registers,
  t.shared_memory_bytes, t.occupancy_pct
FROM gpu_tasks t JOIN gpu_attribution a ON a.id = t.id LEFT JOIN streams s ON s.id = t.stream_id
  LEFT JOIN devices d ON d.id = s.device_id LEFT JOIN host_events l ON l.id = t.launch_id
WHERE t.kind = 'kernel')",
              kKernels},
    QueryView{
        "copies", "Copies and memory sets with their bytes and bandwidth.",
        R"(SELECT t.id, t.start_ns, t.duration_ns, t.name, t.kind, t.copy AS direction, t.bytes,
  t.bytes * 1.0 / nullif(t.duration_ns, 0) AS gb_per_s, d.ordinal AS device, s.number AS stream,
  a.phase, a.operator, a.layer, a.step, t.launch_id
FROM gpu_tasks t JOIN gpu_attribution a ON a.id = t.id LEFT JOIN streams s ON s.id = t.stream_id
  LEFT JOIN devices d ON d.id = s.device_id
WHERE t.kind <> 'kernel')",
        kCopies},
    QueryView{
        "operators", "Framework operators with their thread, phase, layer and step.",
        R"(SELECT e.id, e.start_ns, e.duration_ns, e.name, t.tid, t.name AS thread, a.phase, a.layer,
  a.line, a.step, a.recomputed, e.sequence, e.parent_id, e.args
FROM host_events e JOIN host_attribution a ON a.id = e.id LEFT JOIN threads t ON t.id = e.thread_id
WHERE e.kind = 'operator')",
        kOperators},
    QueryView{
        "calls", "Calls of the GPU runtime and driver APIs, with operator and step.",
        R"(SELECT e.id, e.start_ns, e.duration_ns, e.name, e.kind, t.tid, a.phase, a.operator, a.layer,
  a.step, e.correlation, e.parent_id
FROM host_events e JOIN host_attribution a ON a.id = e.id LEFT JOIN threads t ON t.id = e.thread_id
WHERE e.kind IN ('runtime_call', 'driver_call'))",
        kCalls},
    QueryView{
        "gpu_gaps", "Times in which a GPU has no task, and the task after each.",
        R"(SELECT device, busy_until_ns AS start_ns, start_ns - busy_until_ns AS duration_ns, next_id
FROM (SELECT d.ordinal AS device, t.start_ns, t.id AS next_id,
        max(t.start_ns + t.duration_ns) OVER (PARTITION BY d.ordinal ORDER BY t.start_ns, t.id
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until_ns
      FROM gpu_tasks t JOIN streams s ON s.id = t.stream_id JOIN devices d ON d.id = s.device_id)
WHERE start_ns > busy_until_ns)",
        kGpuGaps},
};

}  // namespace

std::span<const QueryView> QueryViews() { return kViews; }

}  // namespace headroom
