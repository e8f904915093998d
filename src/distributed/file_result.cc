// Structured bindings list all members, so a member added to a struct but not here does not
// compile.
#include "distributed/file_result.h"

#include <cereal/archives/binary.hpp>
#include <cereal/types/base_class.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/vector.hpp>
#include <cstdint>
#include <sstream>
#include <utility>

// The library finds these functions by name, in the namespace of the written types.
// NOLINTBEGIN(readability-identifier-naming)
namespace headroom {

template <typename Archive>
std::int64_t save_minimal(const Archive&, const TimeNs& time) {
  return time.ns();
}
template <typename Archive>
void load_minimal(const Archive&, TimeNs& time, const std::int64_t& ns) {
  time = TimeNs(ns);
}

template <typename Archive>
std::int64_t save_minimal(const Archive&, const DurationNs& duration) {
  return duration.ns();
}
template <typename Archive>
void load_minimal(const Archive&, DurationNs& duration, const std::int64_t& ns) {
  duration = DurationNs(ns);
}

template <typename Archive>
std::uint32_t save_minimal(const Archive&, const ProcessId& id) {
  return id.index();
}
template <typename Archive>
void load_minimal(const Archive&, ProcessId& id, const std::uint32_t& index) {
  id = ProcessId(index);
}

template <typename Archive>
void serialize(Archive& archive, Interval& row) {
  auto& [start, end] = row;
  archive(start, end);
}

template <typename Archive>
void serialize(Archive& archive, DeviceInfo& row) {
  auto& [id, name, memory_bytes, sms, compute_capability, model, vendor, architecture,
         told_by_size] = row;
  archive(id, name, memory_bytes, sms, compute_capability, model, vendor, architecture,
          told_by_size);
}

template <typename Archive>
void serialize(Archive& archive, InputInfo& row) {
  auto& [path, format, recorded_as, bytes, events, recordings, rank, world_size, devices] = row;
  archive(path, format, recorded_as, bytes, events, recordings, rank, world_size, devices);
}

template <typename Archive>
void serialize(Archive& archive, HealthIssue& row) {
  auto& [issue, count, detail, voids, of_set] = row;
  archive(issue, count, detail, voids, of_set);
}

template <typename Archive>
void serialize(Archive& archive, Health& row) {
  auto& [grade, cut, issues] = row;
  archive(grade, cut, issues);
}

template <typename Archive>
void serialize(Archive& archive, StepRow& row) {
  auto& [index, kind, tokens, of_other_kind, after_pause, since_previous, start, wall, gpu_busy,
         host, on_host, loading, tasks, lost_tasks, profiler_cost, host_wait, queue_depth_mean,
         queue_depth_max] = row;
  archive(index, kind, tokens, of_other_kind, after_pause, since_previous, start, wall, gpu_busy,
          host, on_host, loading, tasks, lost_tasks, profiler_cost, host_wait, queue_depth_mean,
          queue_depth_max);
}

template <typename Archive>
void serialize(Archive& archive, StepKindRow& row) {
  auto& [kind, count, total, mean, p50, p90, share_pct, tokens] = row;
  archive(kind, count, total, mean, p50, p90, share_pct, tokens);
}

template <typename Archive>
void serialize(Archive& archive, WallSummary& row) {
  auto& [p50, mean, min, max] = row;
  archive(p50, mean, min, max);
}

template <typename Archive>
void serialize(Archive& archive, MsInterval& row) {
  auto& [low, mid, high] = row;
  archive(low, mid, high);
}

template <typename Archive>
void serialize(Archive& archive, EngineSummary& row) {
  auto& [first_step, last_step, steps, events, of_stretch, replay_error_pct, calibration, error,
         corrected_step_ms] = row;
  archive(first_step, last_step, steps, events, of_stretch, replay_error_pct, calibration, error,
          corrected_step_ms);
}

// Members belong to two classes, so the compiler does not check this list. Add new members here.
template <typename Archive>
void serialize(Archive& archive, Steps& steps) {
  archive(cereal::base_class<WallSummary>(&steps), steps.source, steps.confidence,
          steps.confidence_reason, steps.marker, steps.process, steps.list, steps.kinds,
          steps.tasks_before_first, steps.tasks_outside, steps.optimizer_every, steps.step_time,
          steps.corrected_p50, steps.profiler_overhead_pct);
}

template <typename Archive>
void serialize(Archive& archive, MachineNote& row) {
  auto& [about, text] = row;
  archive(about, text);
}

template <typename Archive>
void serialize(Archive& archive, RunRow& row) {
  auto& [name, time, share_pct, count, example] = row;
  archive(name, time, share_pct, count, example);
}

template <typename Archive>
void serialize(Archive& archive, RunTime& row) {
  auto& [wall, rows] = row;
  archive(wall, rows);
}

template <typename Archive>
void serialize(Archive& archive, GpuTimeRow& row) {
  auto& [device, span, busy, compute, communication, memory, exposed_communication, exposed_memory,
         idle, overlap_communication_pct] = row;
  archive(device, span, busy, compute, communication, memory, exposed_communication, exposed_memory,
          idle, overlap_communication_pct);
}

template <typename Archive>
void serialize(Archive& archive, IdleRow& row) {
  auto& [device, stream, host_wait, kernel_wait, other] = row;
  archive(device, stream, host_wait, kernel_wait, other);
}

template <typename Archive>
void serialize(Archive& archive, BreakdownParts& row) {
  auto& [data_wait, host_to_device, forward, backward, optimizer, communication, callback, other] =
      row;
  archive(data_wait, host_to_device, forward, backward, optimizer, communication, callback, other);
}

template <typename Archive>
void serialize(Archive& archive, StepBreakdown& row) {
  auto& [step_index, steps, is_stretch, wall, step, gpu, median, p90] = row;
  archive(step_index, steps, is_stretch, wall, step, gpu, median, p90);
}

template <typename Archive>
void serialize(Archive& archive, Bottleneck& row) {
  auto& [verdict, share_pct, confidence, confidence_reason, balance, host_only, of, evidence] = row;
  archive(verdict, share_pct, confidence, confidence_reason, balance, host_only, of, evidence);
}

template <typename Archive>
void serialize(Archive& archive, CauseRow& row) {
  auto& [name, time, share_pct] = row;
  archive(name, time, share_pct);
}

template <typename Archive>
void serialize(Archive& archive, Finding& row) {
  auto& [id, title, share_pct, evidence, action, check_section, figure, remedy, place, idle, of_set,
         of_stretch, beside_steps, saves_ms, saves_note, scenario] = row;
  archive(id, title, share_pct, evidence, action, check_section, figure, remedy, place, idle,
          of_set, of_stretch, beside_steps, saves_ms, saves_note, scenario);
}

template <typename Archive>
void serialize(Archive& archive, UnitUse& row) {
  auto& [sm_active_pct, tensor_active_pct, dram_active_pct] = row;
  archive(sm_active_pct, tensor_active_pct, dram_active_pct);
}

template <typename Archive>
void serialize(Archive& archive, TimeRow& row) {
  auto& [name, count, total, p50, min, max, per_step, share_pct, host, self_host, forward, backward,
         flops, bytes, roofline_pct, bound, kind, tensor_cores, units] = row;
  archive(name, count, total, p50, min, max, per_step, share_pct, host, self_host, forward,
          backward, flops, bytes, roofline_pct, bound, kind, tensor_cores, units);
}

template <typename Archive>
void serialize(Archive& archive, StackRow& row) {
  auto& [stack, part, samples, total, share_pct] = row;
  archive(stack, part, samples, total, share_pct);
}

template <typename Archive>
void serialize(Archive& archive, LineRow& row) {
  auto& [location, count, total, forward, backward, share_pct] = row;
  archive(location, count, total, forward, backward, share_pct);
}

template <typename Archive>
void serialize(Archive& archive, SyncRow& row) {
  auto& [name, where, count, host, gpu_idle, in_median_step, in_mean_step] = row;
  archive(name, where, count, host, gpu_idle, in_median_step, in_mean_step);
}

template <typename Archive>
void serialize(Archive& archive, RegionRow& row) {
  auto& [key, count, total, self, min, max, mean, stdev, p50, p99, gpu] = row;
  archive(key, count, total, self, min, max, mean, stdev, p50, p99, gpu);
}

template <typename Archive>
void serialize(Archive& archive, TimingRow& row) {
  auto& [name, inside, source, count, total, mean, p50, p99, share_pct, gpu] = row;
  archive(name, inside, source, count, total, mean, p50, p99, share_pct, gpu);
}

template <typename Archive>
void serialize(Archive& archive, CallbackRow& row) {
  auto& [event, callback, count, total, self, in_steps, share_pct] = row;
  archive(event, callback, count, total, self, in_steps, share_pct);
}

template <typename Archive>
void serialize(Archive& archive, MetricRow& row) {
  auto& [name, unit, host, instance, gpu, mean, min, max, last, samples] = row;
  archive(name, unit, host, instance, gpu, mean, min, max, last, samples);
}

template <typename Archive>
void serialize(Archive& archive, InputWait& row) {
  auto& [host, exposed, hidden, batches, source] = row;
  archive(host, exposed, hidden, batches, source);
}

template <typename Archive>
void serialize(Archive& archive, LoopHost& row) {
  auto& [step, data_wait, callback] = row;
  archive(step, data_wait, callback);
}

template <typename Archive>
void serialize(Archive& archive, Throughput& row) {
  auto& [samples_per_s, batch_size, source] = row;
  archive(samples_per_s, batch_size, source);
}

template <typename Archive>
void serialize(Archive& archive, ClassRow& row) {
  auto& [name, family, count, total, share_pct] = row;
  archive(name, family, count, total, share_pct);
}

template <typename Archive>
void serialize(Archive& archive, PeakRow& row) {
  auto& [dtype, tflops] = row;
  archive(dtype, tflops);
}

template <typename Archive>
void serialize(Archive& archive, Efficiency& row) {
  auto& [device_name, peaks, memory_bandwidth_gbs, flops_per_step, math_dtype, peak_tflops, mfu_pct,
         mfu_formula, error, mfu_coverage_pct, costed_pct, impossible_pct, compute_bound_pct,
         memory_bound_pct, tensor_core_eligible_pct, tensor_core_used_pct, tensor_core_unknown_pct,
         unclassified_pct, units] = row;
  archive(device_name, peaks, memory_bandwidth_gbs, flops_per_step, math_dtype, peak_tflops,
          mfu_pct, mfu_formula, error, mfu_coverage_pct, costed_pct, impossible_pct,
          compute_bound_pct, memory_bound_pct, tensor_core_eligible_pct, tensor_core_used_pct,
          tensor_core_unknown_pct, unclassified_pct, units);
}

template <typename Archive>
void serialize(Archive& archive, MemoryPart& row) {
  auto& [kind, bytes, allocations] = row;
  archive(kind, bytes, allocations);
}

template <typename Archive>
void serialize(Archive& archive, MemoryHolder& row) {
  auto& [operator_name, layer, line, kind, bytes, allocations] = row;
  archive(operator_name, layer, line, kind, bytes, allocations);
}

template <typename Archive>
void serialize(Archive& archive, MemoryStep& row) {
  auto& [index, start, peak_bytes, end_bytes] = row;
  archive(index, start, peak_bytes, end_bytes);
}

template <typename Archive>
void serialize(Archive& archive, MemoryMoment& row) {
  auto& [time, allocated_bytes, reserved_bytes, parts] = row;
  archive(time, allocated_bytes, reserved_bytes, parts);
}

template <typename Archive>
void serialize(Archive& archive, MemoryUse& row) {
  auto& [device, process, allocations, frees, turnover_bytes, peak, peak_step, most_reserved_bytes,
         first_bytes, last_bytes, growth_bytes_per_step, parts, holders, steps, curve] = row;
  archive(device, process, allocations, frees, turnover_bytes, peak, peak_step, most_reserved_bytes,
          first_bytes, last_bytes, growth_bytes_per_step, parts, holders, steps, curve);
}

template <typename Archive>
void serialize(Archive& archive, TraceReport& row) {
  auto& [input, health, trace_start, steps, run, gpu_time, idle, stretch, breakdown, ceiling,
         causes, bottleneck, findings, kernels, operators, layers, classes, lines, stacks, syncs,
         efficiency, regions, timings, callbacks, metrics, memory, machine_notes, loop, input_wait,
         throughput, engine] = row;
  archive(input, health, trace_start, steps, run, gpu_time, idle, stretch, breakdown, ceiling,
          causes, bottleneck, findings, kernels, operators, layers, classes, lines, stacks, syncs,
          efficiency, regions, timings, callbacks, metrics, memory, machine_notes, loop, input_wait,
          throughput, engine);
}

template <typename Archive>
void serialize(Archive& archive, RankCollective& row) {
  auto& [group, kind, step, start, end, bytes, members, hidden, phase] = row;
  archive(group, kind, step, start, end, bytes, members, hidden, phase);
}

template <typename Archive>
void serialize(Archive& archive, RankStep& row) {
  auto& [number, start, wall, computing, collectives, neighbours, flops, input_bytes] = row;
  archive(number, start, wall, computing, collectives, neighbours, flops, input_bytes);
}

template <typename Archive>
void serialize(Archive& archive, RankGroup& row) {
  auto& [name, description, axis, ranks] = row;
  archive(name, description, axis, ranks);
}

template <typename Archive>
void serialize(Archive& archive, RankTimeline& row) {
  auto& [rank, world_size, path, host, collectives, steps, computing, groups] = row;
  archive(rank, world_size, path, host, collectives, steps, computing, groups);
}

template <typename Archive>
void serialize(Archive& archive, RowCall& row) {
  auto& [id, start, time, host, step_index] = row;
  archive(id, start, time, host, step_index);
}

template <typename Archive>
void serialize(Archive& archive, RowCalls& row) {
  auto& [of_gpu, count, min, p50, p90, p99, max, slowest] = row;
  archive(of_gpu, count, min, p50, p90, p99, max, slowest);
}

template <typename Archive>
void save(Archive& archive, const FileResult& result) {
  archive(result.status.code(), result.status.message(), result.report, result.timeline,
          result.calls);
}
template <typename Archive>
void load(Archive& archive, FileResult& result) {
  StatusCode code = StatusCode::kOk;
  std::string message;
  archive(code, message, result.report, result.timeline, result.calls);
  result.status = Status::Of(code, std::move(message));
}

}  // namespace headroom
// NOLINTEND(readability-identifier-naming)

namespace headroom {

std::string PackResults(const std::vector<FileResult>& results) {
  std::ostringstream bytes;
  cereal::BinaryOutputArchive archive(bytes);
  archive(results);
  return std::move(bytes).str();
}

std::vector<FileResult> UnpackResults(const std::string& bytes) {
  std::istringstream stream(bytes);
  std::vector<FileResult> results;
  cereal::BinaryInputArchive archive(stream);
  archive(results);
  return results;
}

}  // namespace headroom
