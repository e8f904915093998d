// Results of `headroom report` for one trace file, as plain values. src/answers/report/ renders
// them.
//
// An absent value (std::optional) was not recorded or is unknown. A zero was measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/interval_set.h"
#include "base/time.h"
#include "cost/work_family.h"
#include "store/import_log.h"

namespace headroom {

struct DeviceInfo {
  std::int64_t id = 0;
  std::string name;  ///< Empty if not recorded.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> sms;
  std::string compute_capability;  ///< "9.0"; empty if not recorded.
  /// Full name in the catalogue, found by name or size; empty if unknown.
  std::string model;
  std::string vendor;         ///< "NVIDIA" or "AMD"; empty if unknown.
  std::string architecture;   ///< Architecture of an AMD GPU, such as "gfx942"; empty if unknown.
  bool told_by_size = false;  ///< The trace does not name the GPU; its size identified the model.
};

struct InputInfo {
  std::string path;
  std::string format;
  /// Format of the recording that this file was converted from, else `format`.
  std::string recorded_as;
  std::int64_t bytes = 0;   ///< Size on disk.
  std::int64_t events = 0;  ///< Number of elements in the event list.
  /// Number of files of one process that form this trace; `path` is the first.
  std::int64_t recordings = 1;
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::vector<DeviceInfo> devices;
};

struct HealthIssue {
  ImportIssue issue;
  std::int64_t count = 0;
  std::string detail;  ///< The damage, its first place, and how to avoid it.
  std::vector<std::string> voids;
  bool of_set = false;  ///< The issue concerns several files together, not this one.
};

struct Health {
  char grade = 'A';                 ///< A (complete) to F (no figure is reliable).
  bool cut = false;                 ///< The file lost its tail.
  std::vector<HealthIssue> issues;  ///< Worst first.
};

enum class StepSource { kNone, kAnnotation, kInferred, kGiven };

enum class StepKind : std::uint8_t {
  kUnknown,
  kTraining,
  kEvaluation,
  kPrefill,
  kDecode,
  kMixed,                  ///< Prefill of some sequences and decode of others.
  kTrainingAndEvaluation,  ///< A training step around an evaluation.
};

struct StepRow {
  std::int64_t index = 0;
  StepKind kind = StepKind::kUnknown;
  std::optional<std::int64_t> tokens;  ///< Tokens in the step over all sequences, from its mark.
  /// The step's kind is not the main kind; only the figures per kind include the step.
  bool of_other_kind = false;
  bool after_pause = false;   ///< The loop paused before the step (FindPauses()).
  DurationNs since_previous;  ///< Host time since the previous step; 0 after a pause.
  TimeNs start;               ///< Start of `wall`.
  DurationNs wall;            ///< Time between the ends of GPU work of successive steps.
  std::optional<DurationNs> gpu_busy;
  /// Length of the step's annotation; null unless an annotation marks the step.
  std::optional<DurationNs> host;
  Interval on_host;        ///< The step on the host's clock, without `since_previous`.
  DurationNs loading;      ///< Host time in loader ranges; 0 at the edge of an epoch.
  std::int64_t tasks = 0;  ///< Number of GPU tasks launched in the step.
  /// Figures over several steps exclude this one, because its GPU work is incomplete: none of its
  /// kernels was recorded, the file was cut before its last kernel, or the time of a kernel is
  /// unknown.
  bool lost_tasks = false;
  /// Rough estimate (analysis/steps/profiler_cost.h), not a bound, of the time that recording adds
  /// to the step while the GPU waits for the host; 0 if the launch queue hides it.
  DurationNs profiler_cost;
  DurationNs host_wait;  ///< GPU idle time before tasks that the host launched too late.
  /// Mean number of tasks launched but not started, at the step's launches.
  double queue_depth_mean = 0;
  std::int64_t queue_depth_max = 0;

  /// Returns the host's time for the step, including the time since the previous step.
  Interval HostWork() const { return {on_host.start - since_previous, on_host.end}; }

  /// Returns true if the figures over steps include this one.
  bool Counts() const { return !lost_tasks && !of_other_kind; }
};

/// Figures of the whole steps of one kind.
struct StepKindRow {
  StepKind kind = StepKind::kUnknown;
  std::int64_t count = 0;
  DurationNs total, mean, p50, p90;
  double share_pct = 0;          ///< Share of the time of all whole steps.
  std::optional<double> tokens;  ///< Mean per step; null if unknown for any step.
};

/// Times of the steps that count; null if no step counts.
struct WallSummary {
  std::optional<DurationNs> p50, mean, min, max;
};

/// Estimated time in ms, with its range.
struct MsInterval {
  double low = 0, mid = 0, high = 0;
};

/// Result of the engine (src/whatif): a replay of some steps without the profiler.
struct EngineSummary {
  std::int64_t first_step = 0, last_step = 0;  ///< Index of the first and last replayed step.
  /// Number of steps and events in the replayed window.
  std::int64_t steps = 0, events = 0;
  bool of_stretch = false;  ///< The window is a recording without steps.
  /// Error of the unchanged window's replay against its own steps.
  double replay_error_pct = 0;
  std::string calibration;  ///< Known cost of the recording, and its source.
  std::string error;        ///< Reason why there is no result; empty if there is one.
  /// Steps::step_time without the profiler, or the stretch if there are no steps. Null if `error`
  /// is set.
  std::optional<MsInterval> corrected_step_ms;
};

struct Steps : WallSummary {
  StepSource source = StepSource::kNone;
  std::string confidence;         ///< "high", "medium" or "low" for inferred steps, else empty.
  std::string confidence_reason;  ///< Evidence for the confidence, else empty.
  std::string marker;             ///< How the steps were identified.
  /// Process that runs the steps; None() if they are not from one process.
  ProcessId process;
  std::vector<StepRow> list;
  /// The main kind first; empty if all steps are of one kind and none states tokens.
  std::vector<StepKindRow> kinds;
  /// GPU tasks launched before the first step; no step includes them.
  std::int64_t tasks_before_first = 0;
  std::int64_t tasks_outside = 0;  ///< GPU tasks launched between or after steps.
  /// The optimizer runs once per this number of steps (gradient accumulation). Null if it runs in
  /// every step, or if unknown.
  std::optional<std::int64_t> optimizer_every;
  /// Step time as recorded (analysis/steps/step_time.h). EngineSummary::corrected_step_ms is the
  /// same without the profiler. Null if the trace has no whole step.
  std::optional<DurationNs> step_time;
  /// p50 without the profiler's cost, and that cost as a share of p50. Null if the engine has no
  /// result.
  std::optional<DurationNs> corrected_p50;
  std::optional<double> profiler_overhead_pct;
};

/// A sentence that explains the machine's metric samples.
struct MachineNote {
  enum class About : std::uint8_t { kHost, kGpu, kOtherUsers };
  About about = About::kHost;
  std::string text;
};

/// One part of the recording (analysis/loop/run_time.h).
struct RunRow {
  std::string name;  ///< "steps", "compilation", "data wait", ...
  DurationNs time;
  double share_pct = 0;    ///< Share of the recording.
  std::int64_t count = 0;  ///< Number of steps, ranges, calls or gaps.
  std::string example;     ///< Name of the longest event, or "step N"; empty if not recorded.
};
/// Breakdown of the recording's time; the rows sum to `wall`.
struct RunTime {
  DurationNs wall;
  std::vector<RunRow> rows;  ///< Steps first, then by time.
};

struct GpuTimeRow {
  std::optional<std::int64_t> device;  ///< Null if the trace does not state it.
  DurationNs span, busy, compute, communication, memory;
  DurationNs exposed_communication, exposed_memory, idle;
  std::optional<double> overlap_communication_pct;
};

struct IdleRow {
  std::optional<std::int64_t> device, stream;
  DurationNs host_wait, kernel_wait, other;
};

/// The eight parts of a step; they sum to it.
struct BreakdownParts {
  DurationNs data_wait, host_to_device, forward, backward, optimizer, communication, callback,
      other;
  DurationNs Sum() const {
    return data_wait + host_to_device + forward + backward + optimizer + communication + callback +
           other;
  }
};

struct BreakdownPart {
  std::string_view name;   ///< The key in JSON, without its unit.
  std::string_view label;  ///< The name in text.
  DurationNs BreakdownParts::*time;
};
inline constexpr std::array<BreakdownPart, 8> kBreakdownParts = {{
    {"data_wait", "data wait", &BreakdownParts::data_wait},
    {"host_to_device", "copy to GPU", &BreakdownParts::host_to_device},
    {"forward", "forward", &BreakdownParts::forward},
    {"backward", "backward", &BreakdownParts::backward},
    {"optimizer", "optimizer", &BreakdownParts::optimizer},
    {"communication", "communication", &BreakdownParts::communication},
    {"callback", "callback", &BreakdownParts::callback},
    {"other", "other", &BreakdownParts::other},
}};

/// Breakdown of the mean whole step, or of the stretch if there are no steps.
struct StepBreakdown {
  std::int64_t step_index = 0;  ///< Index of the median step, as an example.
  std::int64_t steps = 1;       ///< Number of whole steps; the mean is over these.
  bool is_stretch = false;      ///< The breakdown is of a recording without steps.
  DurationNs wall;
  BreakdownParts step;         ///< Sums to `wall`.
  BreakdownParts gpu;          ///< Portion of each part in which a GPU task runs.
  BreakdownParts median, p90;  ///< Median and p90 of each part over the steps.
};

enum class Verdict {
  kUnknown,
  kHost,
  kGpuCompute,
  kGpuMemory,
  kCpuCompute,  ///< No GPU work: operators on the host limit the step.
  kInput,
  kCommunication,
  kCallback,
  kSynchronization,
  kBalanced
};

struct Bottleneck {
  Verdict verdict = Verdict::kUnknown;
  std::optional<double> share_pct;
  std::string confidence;         ///< "high", "medium" or "low"; empty if there is no verdict.
  std::string confidence_reason;  ///< Reason for a low confidence; else empty.
  std::string balance;            ///< For a balanced verdict, the reason why no other applies.
  bool host_only = false;         ///< From the host's clock alone: no GPU work was recorded.
  std::string of;                 ///< The base of the share: "the mean step", "the recording"...
  std::vector<std::string> evidence;

  /// Keeps the first reason, which is the most specific one.
  void LowerConfidence(std::string_view reason) {
    confidence = "low";
    if (confidence_reason.empty()) confidence_reason = reason;
  }
};

/// One cause of the mean step's time, or of the stretch's if there are no steps. All causes sum to
/// that time.
struct CauseRow {
  /// Values: gpu, host, input, communication, callback, synchronization, device_to_host, queue,
  /// unknown.
  std::string name;
  DurationNs time;
  double share_pct = 0;
};

/// The cost that a finding's action removes, if a replay can measure the gain.
enum class Remedy : std::uint8_t {
  kNone,           ///< No replay measures it.
  kLaunchless,     ///< Launches, with the host's work for them.
  kFastHost,       ///< All host work.
  kDataWait,       ///< Waits for the next batch.
  kCommunication,  ///< Collectives.
  kCopiesIn,       ///< Copies to the device.
  kCopiesOut,      ///< Copies to the host, and waits for them.
  kSyncs,          ///< Waits of blocking calls.
  kOptimizer,      ///< The many kernels of the optimizer.
  kTensorCores,    ///< Products and convolutions that do not use tensor cores.
  kElementwise,    ///< Memory traffic of element-wise kernels.
  kDeviceCopies,   ///< Copies, casts and layout changes on the device.
  kKernelGaps,     ///< Start-up time of each kernel.
  kQueueGaps,      ///< Gaps before kernels that are launched in time.
  kCallbacks,      ///< A trainer's callbacks.
  kOwnTime,        ///< The program's time outside loading and training.
  kRecordMore,     ///< None: the recording may not show what the job does.
};

struct Finding {
  std::string id;
  std::string title;
  std::optional<double> share_pct;  ///< Share of the mean step.
  std::vector<std::string> evidence;
  std::string action;
  std::string check_section;  ///< Section of the report that shows the figure: `--only SECTION`.
  std::string figure;         ///< The figure quoted in the title, as that section prints it.
  Remedy remedy = Remedy::kNone;
  std::string place = {};  ///< Call, callback or region to start with; empty if none stands out.
  /// GPU idle time that the title states: the most that a remedy can save. Null if the title states
  /// none.
  std::optional<DurationNs> idle = {};
  /// The finding concerns several files together; its check needs all of them.
  bool of_set = false;
  bool of_stretch = false;  ///< The finding is of a recording without steps.
  /// Mean time per step that no figure of the steps includes; ranks a finding without `saves_ms`.
  std::optional<DurationNs> beside_steps = {};

  std::optional<MsInterval> saves_ms;  ///< Savings per step; if null, saves_note has the reason.
  /// The replayed change, or why no replay was possible; empty if the engine did not run.
  std::string saves_note;
  std::string scenario;  ///< Scenario of `headroom whatif` that forecasts saves_ms, else empty.
};

/// Maximum number of findings in a report, for any number of files.
inline constexpr std::size_t kMaxFindings = 7;

/// Utilization of the GPU's units from its hardware counters, in per cent of the maximum. Null if
/// not recorded.
struct UnitUse {
  std::optional<double> sm_active_pct, tensor_active_pct, dram_active_pct;
};

/// One row of the kernel, operator and layer tables.
struct TimeRow {
  std::string name;
  std::int64_t count = 0;
  DurationNs total, p50, min, max;  ///< GPU time.
  /// Kernels: mean over the steps that count. Null if no step counts.
  std::optional<DurationNs> per_step;
  double share_pct = 0;  ///< Share of all GPU task time.
  std::optional<DurationNs> host, self_host, forward, backward;
  std::optional<double> flops, bytes;  ///< Sum over all calls with known shapes.
  /// Achieved share of the roofline's limit: 100 means as fast as the device allows.
  std::optional<double> roofline_pct;
  std::string bound;         ///< "compute" or "memory"; empty if unknown.
  std::string kind;          ///< Kernels: class from the rules file. Operators: family.
  std::string tensor_cores;  ///< Kernels: "yes", "no", "unknown".
  UnitUse units;             ///< Kernels: measured while nothing else runs.
};

struct LineRow {
  std::string location;  ///< "train_ddp.py(184): <module>".
  std::int64_t count = 0;
  DurationNs total, forward, backward;
  double share_pct = 0;
};

/// Sampled stacks of Python's main threads (analysis/loop/stacks.h).
struct StackRow {
  /// Frames separated by ';', outermost first: "train.py(57): <module>;data.py(12): augment".
  std::string stack;
  std::string part;          ///< Part of the step, "outside steps", "loader workers", ...
  std::int64_t samples = 0;  ///< Moments at which the thread had this stack.
  DurationNs total;          ///< The time for which the samples stand.
  double share_pct = 0;      ///< Share of all samples' time.
};

/// Calls that block the host until the GPU is done, by name and place.
struct SyncRow {
  std::string name;   ///< Name of the call.
  std::string where;  ///< Operator or source line around the call; empty if unknown.
  std::int64_t count = 0;
  DurationNs host;            ///< Time in the calls.
  DurationNs gpu_idle;        ///< GPU idle time that the calls cause, over the trace.
  DurationNs in_median_step;  ///< Portion of `gpu_idle` inside the median step; 0 without steps.
  /// Mean of `gpu_idle` per whole step; without steps, its portion inside the stretch.
  DurationNs in_mean_step;
};

/// Marked ranges with one name: user_annotation of a framework, or a timer's region. Statistics are
/// of single entries.
struct RegionRow {
  std::string key;
  std::int64_t count = 0;
  DurationNs total;  ///< Time in the outermost entries; nested entries count once.
  DurationNs self;   ///< Self time: excludes nested regions.
  DurationNs min, max, mean, stdev, p50, p99;
  /// Null if there is no GPU work, or none that belongs to the range for certain.
  std::optional<DurationNs> gpu;
};

/// One part of the training loop, under Determined's names. Times are on the host's clock and
/// inside the whole steps.
struct TimingRow {
  std::string name;
  /// Name of the row that contains this row; empty for the rows that sum to the host's time.
  std::string inside;
  std::string source;  ///< "ranges", "operators", "calls", "its parts", "its place", "rest".
  /// Number of steps in which the part occurs; `mean`, `p50` and `p99` are over these.
  std::int64_t count = 0;
  DurationNs total, mean, p50, p99;
  double share_pct = 0;  ///< Share of the steps' time on the host.
  /// Time in which the GPU runs tasks that were launched in the part.
  std::optional<DurationNs> gpu;
};

/// One callback of the trainer on one event.
struct CallbackRow {
  std::string event;     ///< "on_train_batch_end"; empty if the name does not state it.
  std::string callback;  ///< "ModelCheckpoint".
  std::int64_t count = 0;
  DurationNs total, self;  ///< `self` excludes the callbacks that it calls.
  /// The part of `total` inside the whole steps; null without steps.
  std::optional<DurationNs> in_steps;
  std::optional<double> share_pct;  ///< `in_steps` as a share of the whole steps' time.
};

/// A counter over time.
struct MetricRow {
  std::string name, unit;  ///< The unit is empty if not recorded.
  std::string host;        ///< Name of the machine; empty if not recorded.
  /// Device that the counter measures, such as "GPU 0" or "eth0"; empty for the machine.
  std::string instance;
  std::optional<std::int64_t> gpu;
  double mean = 0, min = 0, max = 0, last = 0;  ///< The mean is weighted by time.
  std::int64_t samples = 0;                     ///< Number of finite samples.
};

/// Memory allocated for one purpose at one moment.
struct MemoryPart {
  std::string kind;  ///< Element of kMemoryKinds (memory_use.h).
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;  ///< 0 for memory that was allocated before the recording.
};

/// Code that allocated memory that is live at the peak.
struct MemoryHolder {
  std::string operator_name;  ///< Empty if no operator ran.
  std::string layer;          ///< Empty if none was recorded.
  std::string line;  ///< The user's innermost Python frame, "file.py(12): name"; empty if none.
  std::string kind;
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;
};

/// Memory of one step, on the host's clock.
struct MemoryStep {
  std::int64_t index = 0;
  TimeNs start;
  std::int64_t peak_bytes = 0;
  std::int64_t end_bytes = 0;  ///< Bytes still allocated at its end.
};

/// Moment in a span of time at which the most memory was allocated.
struct MemoryMoment {
  TimeNs time;
  std::int64_t allocated_bytes = 0;
  std::optional<std::int64_t> reserved_bytes;
  /// Bytes of each of kMemoryKinds; they sum to the allocated bytes.
  std::vector<std::int64_t> parts;
};

/// Memory that a framework allocated on one device, from the profiler's records.
struct MemoryUse {
  std::optional<std::int64_t> device;  ///< Null for host memory.
  std::string process;  ///< Process id; empty if all memory of the trace is of one process.
  std::int64_t allocations = 0, frees = 0;
  std::int64_t turnover_bytes = 0;  ///< Sum over all allocations.
  MemoryMoment peak;
  /// Index of the step with the peak; null if the peak is outside all steps.
  std::optional<std::int64_t> peak_step;
  std::optional<std::int64_t> most_reserved_bytes;  ///< Null if not recorded.
  std::int64_t first_bytes = 0;                     ///< Before the first record.
  std::int64_t last_bytes = 0;                      ///< After the last record.
  /// Median growth between the ends of successive steps. Null with fewer than three steps.
  std::optional<std::int64_t> growth_bytes_per_step;
  std::vector<MemoryPart> parts;      ///< Parts of the peak, which they sum to; the largest first.
  std::vector<MemoryHolder> holders;  ///< Code that allocated the peak's memory; the largest first.
  std::vector<MemoryStep> steps;      ///< Steps with at least one allocation or free.
  std::vector<MemoryMoment> curve;    ///< At most a few hundred, in order of time.
};

/// Time that a step waits for its batch.
struct InputWait {
  DurationNs host, exposed, hidden;  ///< Means per batch; hidden = host - exposed.
  std::int64_t batches = 0;
  std::string source;  ///< "gpu-events" or "gpu-tasks".
};

/// The host's work in the mean step, on the host's clock.
struct LoopHost {
  DurationNs step, data_wait, callback;
};

struct Throughput {
  double samples_per_s = 0;
  std::int64_t batch_size = 0;  ///< Samples per step of this rank.
  std::string source;
};

struct ClassRow {
  std::string name;                  ///< Kernel class, "memcpy" or "memset".
  std::optional<WorkFamily> family;  ///< Null for a copy or memset.
  std::int64_t count = 0;
  DurationNs total;
  double share_pct = 0;
};

/// Peak rate of a device in one type of arithmetic.
struct PeakRow {
  std::string dtype;
  double tflops = 0;  ///< Dense, per GPU.
};

/// Use of the GPU's arithmetic by the steps. Shares are of the steps' GPU time, or of the whole
/// trace without steps.
struct Efficiency {
  std::string device_name;                     ///< Empty if the GPU is unknown.
  std::vector<PeakRow> peaks;                  ///< One per type that the data sheet states.
  std::optional<double> memory_bandwidth_gbs;  ///< From the data sheet, in 1e9 bytes per second.
  std::optional<double> flops_per_step;  ///< Per whole step: products, convolutions, attention.
  std::string math_dtype;                ///< The type with the most FLOPs.
  std::optional<double> peak_tflops;     ///< Peak of math_dtype; dense, per GPU.
  /// MFU of all recorded steps together; each type's FLOPs count against that type's peak.
  std::optional<double> mfu_pct;
  std::string mfu_formula;
  /// Reason why MFU is unknown although FLOPs and peaks are known. Either the coverage is too low,
  /// or the result exceeds 100 %, which only wrong inputs explain.
  std::string error;
  /// Share of the time of matrix products, convolutions and attention whose FLOPs are known.
  std::optional<double> mfu_coverage_pct;
  /// Share of GPU time whose operators have known FLOPs and bytes.
  std::optional<double> costed_pct;
  /// Share of GPU time whose FLOPs or bytes exceed the device's limits; no bound includes it.
  std::optional<double> impossible_pct;
  std::optional<double> compute_bound_pct, memory_bound_pct;  ///< Shares of GPU task time.
  /// Share of GPU time in matrix products (except matrix-vector products), convolutions and
  /// attention. Null if the GPU has no tensor cores.
  std::optional<double> tensor_core_eligible_pct;
  /// Shares of the eligible time, by kernel name. Used: time on tensor cores, as a share of the
  /// kernels whose names state whether they use them. Unknown: time of kernels whose names do not
  /// state it.
  std::optional<double> tensor_core_used_pct, tensor_core_unknown_pct;
  double unclassified_pct = 0;  ///< Share of GPU time in kernels that no rule matches.
  UnitUse units;                ///< Mean while the GPU is busy, in the steps that count.
};

struct TraceReport {
  InputInfo input;
  Health health;
  TimeNs trace_start;  ///< Zero of `start_ms` values.
  Steps steps;
  std::optional<RunTime> run;  ///< Null if the trace has no whole step.
  std::vector<GpuTimeRow> gpu_time;
  std::vector<IdleRow> idle;
  /// Window from the first GPU task to the last, if there are no steps. Then breakdown, causes,
  /// bottleneck and findings describe this window.
  std::optional<StepRow> stretch;
  std::optional<StepBreakdown> breakdown;
  /// Mean step time without GPU idle time, which is the GPU's busy time. Null if the step launches
  /// no GPU work, or if the host runs on without waiting for the GPU.
  std::optional<DurationNs> ceiling;
  std::vector<CauseRow> causes;  ///< Empty without a breakdown.
  Bottleneck bottleneck;
  std::vector<Finding> findings;
  std::vector<TimeRow> kernels, operators, layers;
  std::vector<ClassRow> classes;
  std::vector<LineRow> lines;
  std::vector<StackRow> stacks;  ///< Empty if no stacks were sampled.
  std::vector<SyncRow> syncs;
  Efficiency efficiency;
  std::vector<RegionRow> regions;
  std::vector<TimingRow> timings;
  std::vector<CallbackRow> callbacks;
  std::vector<MetricRow> metrics;
  std::vector<MemoryUse> memory;           ///< Empty if not recorded.
  std::vector<MachineNote> machine_notes;  ///< Explanations from the metrics.
  std::optional<LoopHost> loop;            ///< Null without a breakdown.
  std::optional<InputWait> input_wait;
  std::optional<Throughput> throughput;  ///< Null if the batch size is unknown.
  std::optional<EngineSummary> engine;   ///< Null if there are no steps to replay.
};

}  // namespace headroom
