// Views over the tables, for the questions that come first.
#include <array>

#include "query/database.h"

namespace headroom {
namespace {

constexpr std::array kViews = {
    QueryView{"kernels", "Kernels with where they ran, what launched them and their step.",
              R"(SELECT t.id, t.start_ns, t.duration_ns, t.name, a.class, d.ordinal AS device,
  s.number AS stream, a.phase, a.operator, a.layer, a.line, a.step, t.launch_id,
  t.start_ns - l.start_ns AS launch_to_start_ns,
  t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z, t.registers,
  t.shared_memory_bytes, t.occupancy_pct
FROM gpu_tasks t JOIN gpu_attribution a ON a.id = t.id JOIN streams s ON s.id = t.stream_id
  JOIN devices d ON d.id = s.device_id LEFT JOIN host_events l ON l.id = t.launch_id
WHERE t.kind = 'kernel')"},
    QueryView{
        "copies", "Copies and sets with their bytes and bandwidth.",
        R"(SELECT t.id, t.start_ns, t.duration_ns, t.name, t.kind, t.copy AS direction, t.bytes,
  t.bytes * 1.0 / nullif(t.duration_ns, 0) AS gb_per_s, d.ordinal AS device, s.number AS stream,
  a.phase, a.operator, a.layer, a.step, t.launch_id
FROM gpu_tasks t JOIN gpu_attribution a ON a.id = t.id JOIN streams s ON s.id = t.stream_id
  JOIN devices d ON d.id = s.device_id
WHERE t.kind <> 'kernel')"},
    QueryView{
        "operators", "Framework operators with their thread, phase, layer and step.",
        R"(SELECT e.id, e.start_ns, e.duration_ns, e.name, t.tid, t.name AS thread, a.phase, a.layer,
  a.line, a.step, a.recomputed, e.sequence, e.parent_id, e.args
FROM host_events e JOIN host_attribution a ON a.id = e.id JOIN threads t ON t.id = e.thread_id
WHERE e.kind = 'operator')"},
    QueryView{
        "calls", "Calls of the GPU's API, by runtime and driver, with operator and step.",
        R"(SELECT e.id, e.start_ns, e.duration_ns, e.name, e.kind, t.tid, a.phase, a.operator, a.layer,
  a.step, e.correlation, e.parent_id
FROM host_events e JOIN host_attribution a ON a.id = e.id JOIN threads t ON t.id = e.thread_id
WHERE e.kind IN ('runtime_call', 'driver_call'))"},
    QueryView{
        "gpu_gaps", "Times in which a GPU has no task, and what begins after each.",
        R"(SELECT device, busy_until_ns AS start_ns, start_ns - busy_until_ns AS duration_ns, next_id
FROM (SELECT d.ordinal AS device, t.start_ns, t.id AS next_id,
        max(t.start_ns + t.duration_ns) OVER (PARTITION BY d.ordinal ORDER BY t.start_ns, t.id
          ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until_ns
      FROM gpu_tasks t JOIN streams s ON s.id = t.stream_id JOIN devices d ON d.id = s.device_id)
WHERE start_ns > busy_until_ns)"},
};

}  // namespace

std::span<const QueryView> QueryViews() { return kViews; }

}  // namespace headroom
