// Everything that `headroom report` says about one trace file, as plain values. Rendering is
// the work of src/answers/report/.
//
// Absent values (std::optional) were not recorded or cannot be known; a zero was measured.
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
  std::string name;  ///< Empty: not recorded.
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> sms;
  std::string compute_capability;  ///< "9.0"; empty: not recorded.
  std::string model;          ///< Full name in the catalogue, by name or size; empty: not known.
  std::string vendor;         ///< "NVIDIA" or "AMD"; empty: not known.
  std::string architecture;   ///< Of AMD, "gfx942"; empty: not known.
  bool told_by_size = false;  ///< The trace does not name the model.
};

struct InputInfo {
  std::string path;
  std::string format;
  std::string recorded_as;      ///< The format of what a copy was made of, else the same.
  std::int64_t bytes = 0;       ///< On disk.
  std::int64_t events = 0;      ///< Elements of the event list.
  std::int64_t recordings = 1;  ///< Files of one process that are one trace; path is the first.
  std::optional<std::int64_t> rank;
  std::optional<std::int64_t> world_size;
  std::vector<DeviceInfo> devices;
};

struct HealthIssue {
  ImportIssue issue;
  std::int64_t count = 0;
  std::string detail;  ///< What happened, where first, and what would have avoided it.
  std::vector<std::string> voids;
  bool of_set = false;  ///< Of several files together, not of this one.
};

struct Health {
  char grade = 'A';                 ///< A (complete) to F (nothing stands).
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
  std::optional<std::int64_t> tokens;  ///< That it computes, of all sequences, as its mark tells.
  bool of_other_kind = false;          ///< Than the main kind: in no figure but those by kind.
  bool after_pause = false;            ///< The loop paused before it (FindPauses()).
  DurationNs since_previous;           ///< Host time since the previous step; 0 after a pause.
  TimeNs start;                        ///< Where `wall` begins.
  DurationNs wall;  ///< Distance between the ends of GPU work of successive steps.
  std::optional<DurationNs> gpu_busy;
  std::optional<DurationNs> host;  ///< Length of the annotation.
  Interval on_host;                ///< The step as the host sees it, without `since_previous`.
  DurationNs loading;              ///< Host time in loader ranges; 0 at the edge of an epoch.
  std::int64_t tasks = 0;          ///< GPU tasks launched in it.
  /// Kernels were launched and none was recorded, or the file was cut before all of them were, or
  /// nobody knows when one of them ran: in no figure but its own.
  bool lost_tasks = false;
  /// Rough estimate (analysis/steps/profiler_cost.h), not a bound: what recording adds to the step
  /// while the GPU waits for the host; 0 where the launch queue hides it.
  DurationNs profiler_cost;
  DurationNs
      host_wait;  ///< GPU idle inside the step that ends with a task the host launched too late.
  double queue_depth_mean = 0;  ///< Launched but not started tasks, at launches of the step.
  std::int64_t queue_depth_max = 0;

  /// Returns the host's time for the step, including the time since the previous step.
  Interval HostWork() const { return {on_host.start - since_previous, on_host.end}; }

  /// Returns whether the figures of the steps include it.
  bool Counts() const { return !lost_tasks && !of_other_kind; }
};

/// The whole steps of a kind.
struct StepKindRow {
  StepKind kind = StepKind::kUnknown;
  std::int64_t count = 0;
  DurationNs total, mean, p50, p90;
  double share_pct = 0;          ///< Of the time of all whole steps.
  std::optional<double> tokens;  ///< Mean of a step. None: not known of each.
};

/// Times of the steps that count. None: there are none.
struct WallSummary {
  std::optional<DurationNs> p50, mean, min, max;
};

/// Milliseconds, with what they may be wrong by.
struct MsInterval {
  double low = 0, mid = 0, high = 0;
};

/// What the engine (src/whatif) says of the steps: a replay of some of them without the profiler.
struct EngineSummary {
  std::int64_t first_step = 0, last_step = 0;  ///< By index: the steps that were replayed.
  std::int64_t steps = 0, events = 0;          ///< In that window.
  bool of_stretch = false;                     ///< The window is a recording without steps.
  double replay_error_pct = 0;                 ///< Of the unchanged window, against its own steps.
  std::string calibration;                     ///< What is known of the recording's cost, and how.
  std::string error;                           ///< Why it tells nothing; empty: it does.
  /// Steps::step_time without the profiler; if there are no steps, the stretch. None: see `error`.
  std::optional<MsInterval> corrected_step_ms;
};

struct Steps : WallSummary {
  StepSource source = StepSource::kNone;
  std::string confidence;         ///< Of inferred steps: "high", "medium", "low"; else empty.
  std::string confidence_reason;  ///< Why it is no higher or lower; else empty.
  std::string marker;             ///< What the steps were told by.
  ProcessId process;              ///< Whose steps these are; none: not of one process.
  std::vector<StepRow> list;
  std::vector<StepKindRow> kinds;  ///< Main one first; empty if all are alike and tell no tokens.
  std::int64_t tasks_before_first = 0;  ///< GPU tasks launched before the first step: in no step.
  std::int64_t tasks_outside = 0;       ///< Launched between or after steps.
  /// The optimizer steps in every so many steps: gradients are accumulated. None: in every step, or
  /// not known.
  std::optional<std::int64_t> optimizer_every;
  /// As recorded (analysis/steps/step_time.h). EngineSummary::corrected_step_ms is the same without
  /// the profiler. None: no step is whole.
  std::optional<DurationNs> step_time;
  /// p50 without the profiler's own cost, and the share of p50 that this is. None: the engine could
  /// not tell.
  std::optional<DurationNs> corrected_p50;
  std::optional<double> profiler_overhead_pct;
};

/// What samples of the machine explain, in a sentence.
struct MachineNote {
  enum class About : std::uint8_t { kHost, kGpu, kOtherUsers };
  About about = About::kHost;
  std::string text;
};

/// A part of the recording (analysis/loop/run_time.h).
struct RunRow {
  std::string name;  ///< "steps", "compilation", "data wait", ...
  DurationNs time;
  double share_pct = 0;    ///< Of the recording.
  std::int64_t count = 0;  ///< Of steps, ranges, calls or gaps.
  std::string example;     ///< The longest event of it; empty: not recorded.
};
/// Where the time of the recording went; the rows sum to it.
struct RunTime {
  DurationNs wall;
  std::vector<RunRow> rows;  ///< Steps first, then by time.
};

struct GpuTimeRow {
  std::optional<std::int64_t> device;  ///< None: the trace does not say.
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

/// Where the mean of the whole steps goes; without steps, the stretch.
struct StepBreakdown {
  std::int64_t step_index = 0;  ///< Of the median step: an example.
  std::int64_t steps = 1;       ///< Whole steps; their mean is the step.
  bool is_stretch = false;      ///< Of a recording without steps.
  DurationNs wall;
  BreakdownParts step;         ///< Sums to `wall`.
  BreakdownParts gpu;          ///< The part of each during which a GPU task runs.
  BreakdownParts median, p90;  ///< Of each part over the steps.
};

enum class Verdict {
  kUnknown,
  kHost,
  kGpuCompute,
  kGpuMemory,
  kCpuCompute,  ///< No GPU work: the operators on the host hold it.
  kInput,
  kCommunication,
  kCallback,
  kSynchronization,
  kBalanced
};

struct Bottleneck {
  Verdict verdict = Verdict::kUnknown;
  std::optional<double> share_pct;
  std::string confidence;  ///< "high", "medium", "low"; empty: no verdict.
  std::string confidence_reason;  ///< Why it is low; else empty.
  std::string balance;     ///< Of a balanced verdict: why it is no other.
  bool host_only = false;  ///< Told by the host's clock: no GPU work was recorded.
  std::string of;          ///< What the share is of: "the mean step", "the recording"...
  std::vector<std::string> evidence;

  void LowerConfidence(std::string_view reason) {
    confidence = "low";
    confidence_reason = reason;
  }
};

/// One cause of the mean step's time (without steps, of the stretch's); all of them sum to it.
struct CauseRow {
  /// gpu, host, input, communication, callback, synchronization, device_to_host, queue, unknown.
  std::string name;
  DurationNs time;
  double share_pct = 0;
};

/// What the action of a finding would take away, as far as a replay can tell what that buys.
enum class Remedy : std::uint8_t {
  kNone,           ///< No replay tells.
  kLaunchless,     ///< Launching, with the host's work for it.
  kFastHost,       ///< All that the host does.
  kDataWait,       ///< Waiting for the next batch.
  kCommunication,  ///< Collectives.
  kCopiesIn,       ///< Copies to the device.
  kCopiesOut,      ///< Copies to the host, and waiting for them.
  kSyncs,          ///< Blocking calls' waits.
  kOptimizer,      ///< The many kernels of the optimizer.
  kTensorCores,    ///< Products and convolutions beside the tensor cores.
  kElementwise,    ///< Element-wise kernels' traffic.
  kDeviceCopies,   ///< Copies, casts and layout changes on the device.
  kKernelGaps,     ///< What it takes to start each kernel.
  kQueueGaps,      ///< Gaps before kernels that are launched in time.
  kCallbacks,      ///< A trainer's callbacks.
};

struct Finding {
  std::string id;
  std::string title;
  std::optional<double> share_pct;  ///< Of the mean step.
  std::vector<std::string> evidence;
  std::string action;
  std::string check_section;  ///< Section of the report that shows the figure: `--only SECTION`.
  std::string figure;         ///< The figure quoted in the title, as that section prints it.
  Remedy remedy = Remedy::kNone;
  std::string place = {};  ///< Call, callback or region to start with; empty: none stands out.
  std::optional<DurationNs> idle = {};  ///< GPU idle that the title names: no remedy saves more.
  bool of_set = false;                  ///< Of several files together: the check needs them all.
  bool of_stretch = false;              ///< Of a recording without steps.
  /// Mean time a step that no figure of the steps holds; ranks a finding without `saves_ms`.
  std::optional<DurationNs> beside_steps = {};

  std::optional<MsInterval> saves_ms;  ///< A step; none: see saves_note.
  /// What was replayed, or why nothing could be; empty: the engine did not run.
  std::string saves_note;
  std::string scenario;  ///< Of `headroom whatif`, where saves_ms is its forecast; else empty.
};

/// Findings of a report, of whatever number of files.
inline constexpr std::size_t kMaxFindings = 7;

/// How busy units of the GPU are, by its hardware counters; in per cent of the most. None: not
/// recorded.
struct UnitUse {
  std::optional<double> sm_active_pct, tensor_active_pct, dram_active_pct;
};

/// One row of the kernel, operator and layer tables.
struct TimeRow {
  std::string name;
  std::int64_t count = 0;
  DurationNs total, p50, min, max;  ///< GPU time.
  /// Kernels: of the steps that count, mean. Absent: no step counts.
  std::optional<DurationNs> per_step;
  double share_pct = 0;  ///< Of all GPU task time.
  std::optional<DurationNs> host, self_host, forward, backward;
  std::optional<double> flops, bytes;  ///< Of all calls with known shapes.
  /// Share of the roofline's limit that was reached: 100 means as fast as the device allows.
  std::optional<double> roofline_pct;
  std::string bound;         ///< "compute", "memory"; empty: unknown.
  std::string kind;          ///< Kernels: class by the rules file. Operators: family.
  std::string tensor_cores;  ///< Kernels: "yes", "no", "unknown".
  UnitUse units;             ///< Kernels: while nothing else runs.
};

struct LineRow {
  std::string location;  ///< "train_ddp.py(184): <module>".
  std::int64_t count = 0;
  DurationNs total, forward, backward;
  double share_pct = 0;
};

/// Calls that block the host until the GPU is done, by name and operator.
struct SyncRow {
  std::string name;   ///< Of the call.
  std::string where;  ///< Operator or source line around it; empty: unknown.
  std::int64_t count = 0;
  DurationNs host;            ///< Time in the calls.
  DurationNs gpu_idle;        ///< GPU idle that the calls cause, over the trace.
  DurationNs in_median_step;  ///< Of that, inside the median step; 0 without steps.
  DurationNs in_mean_step;    ///< The same of the mean whole step, or of the stretch.
};

/// A range that somebody marked, by name: user_annotation of a framework, or a timer's region.
/// Statistics are of single entries.
struct RegionRow {
  std::string key;
  std::int64_t count = 0;
  DurationNs total;  ///< Of the outermost of entries inside each other: never more than the time.
  DurationNs self;   ///< Time in which no other region runs inside.
  DurationNs min, max, mean, stdev, p50, p99;
  std::optional<DurationNs> gpu;  ///< None: no GPU work, or none that is known to be of it.
};

/// A part of the training loop, by Determined's names for them. Times are those inside the whole
/// steps, on the host, per step.
struct TimingRow {
  std::string name;
  std::string inside;      ///< The row that contains this one; empty: one of those that add up.
  std::string source;      ///< "ranges", "operators", "calls", "its parts", "its place", "rest".
  std::int64_t count = 0;  ///< Steps in which it occurs; the order statistics are over these.
  DurationNs total, mean, p50, p99;
  double share_pct = 0;           ///< Of the time of the steps on the host.
  std::optional<DurationNs> gpu;  ///< The GPU works on what was launched in it.
};

/// One callback of the trainer on one event.
struct CallbackRow {
  std::string event;     ///< "on_train_batch_end"; empty: the name does not say.
  std::string callback;  ///< "ModelCheckpoint".
  std::int64_t count = 0;
  DurationNs total, self;              ///< self: without the callbacks that it calls.
  std::optional<DurationNs> in_steps;  ///< Of `total`, inside the whole steps; none without steps.
  std::optional<double> share_pct;     ///< `in_steps` of the time of the whole steps.
};

/// A counter over time.
struct MetricRow {
  std::string name, unit;  ///< unit empty: not recorded.
  std::string host;        ///< Name of the machine; empty: not recorded.
  std::string instance;    ///< What it is of, e.g. "GPU 0", "eth0"; empty: the machine.
  std::optional<std::int64_t> gpu;
  double mean = 0, min = 0, max = 0, last = 0;  ///< mean: weighted with time.
  std::int64_t samples = 0;                     ///< That hold a number.
};

/// What was allocated for one purpose at one moment.
struct MemoryPart {
  std::string kind;  ///< One of kMemoryKinds (memory_use.h).
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;  ///< 0 of what the recording did not see allocated.
};

/// Who allocated what was held at the peak.
struct MemoryHolder {
  std::string operator_name;  ///< Empty: no operator ran.
  std::string layer;          ///< Empty: none was recorded.
  std::string line;  ///< The user's innermost Python frame, "file.py(12): name". Empty: none.
  std::string kind;
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;
};

/// Memory of one step, on the host's clock.
struct MemoryStep {
  std::int64_t index = 0;
  TimeNs start;
  std::int64_t peak_bytes = 0;
  std::int64_t end_bytes = 0;  ///< Still allocated as it ends.
};

/// The moment of a stretch of time at which most was allocated.
struct MemoryMoment {
  TimeNs time;
  std::int64_t allocated_bytes = 0;
  std::optional<std::int64_t> reserved_bytes;
  std::vector<std::int64_t> parts;  ///< Bytes of each of kMemoryKinds; they sum to the allocated.
};

/// Memory that a framework allocated on one device, by the profiler's records.
struct MemoryUse {
  std::optional<std::int64_t> device;  ///< None: of the host.
  std::string process;  ///< Its id; empty: all memory of the trace is of one process.
  std::int64_t allocations = 0, frees = 0;
  std::int64_t turnover_bytes = 0;  ///< Of all allocations.
  MemoryMoment peak;
  std::optional<std::int64_t> peak_step;            ///< By index; none: in no step.
  std::optional<std::int64_t> most_reserved_bytes;  ///< None: not recorded.
  std::int64_t first_bytes = 0;                     ///< Before the first record.
  std::int64_t last_bytes = 0;                      ///< After the last.
  /// By which a step's end is above that of the step before; the median. None: under three steps.
  std::optional<std::int64_t> growth_bytes_per_step;
  std::vector<MemoryPart> parts;      ///< Of the peak, which they sum to; the largest first.
  std::vector<MemoryHolder> holders;  ///< Of the peak; the largest first.
  std::vector<MemoryStep> steps;      ///< Those in which something was allocated or freed.
  std::vector<MemoryMoment> curve;    ///< At most a few hundred, in order of time.
};

/// How long a step waits for its batch.
struct InputWait {
  DurationNs host, exposed, hidden;  ///< Means of a batch; hidden = host - exposed.
  std::int64_t batches = 0;
  std::string source;  ///< "gpu-events", "gpu-tasks".
};

/// What the host does in the mean step, on its own clock.
struct LoopHost {
  DurationNs step, data_wait, callback;
};

struct Throughput {
  double samples_per_s = 0;
  std::int64_t batch_size = 0;  ///< Samples a step of this rank.
  std::string source;
};

struct ClassRow {
  std::string name;                  ///< Kernel class, or "memcpy" or "memset".
  std::optional<WorkFamily> family;  ///< None: a copy or set.
  std::int64_t count = 0;
  DurationNs total;
  double share_pct = 0;
};

/// What a device's units can do at most in one type of arithmetic.
struct PeakRow {
  std::string dtype;
  double tflops = 0;  ///< Dense, per GPU.
};

/// Use of the GPU's arithmetic by the steps; shares of GPU time are of theirs (without steps, of
/// the whole trace).
struct Efficiency {
  std::string device_name;                     ///< Empty: unknown GPU.
  std::vector<PeakRow> peaks;                  ///< Of the types that its data sheet states.
  std::optional<double> memory_bandwidth_gbs;  ///< By its data sheet; 1e9 bytes per second.
  std::optional<double> flops_per_step;        ///< Of operators with known shapes; mean.
  std::string math_dtype;                      ///< Of most FLOPs.
  std::optional<double> peak_tflops;           ///< Of that type; dense, per GPU.
  /// Of all recorded steps together; each type's FLOPs against that type's peak.
  std::optional<double> mfu_pct;
  std::string mfu_formula;
  /// Why there is no MFU although FLOPs and peaks are known: more than 100 % (a figure that is
  /// wrong, not good), or too little coverage.
  std::string error;
  /// Share of the time of matrix products, convolutions and attention whose FLOPs are known.
  std::optional<double> mfu_coverage_pct;
  /// Share of GPU time whose operators have known FLOPs and bytes.
  std::optional<double> costed_pct;
  /// Share of GPU time whose FLOPs or bytes exceed what the device can do: in no bound.
  std::optional<double> impossible_pct;
  std::optional<double> compute_bound_pct, memory_bound_pct;  ///< Shares of GPU task time.
  /// GPU time of matrix products (without those with a vector), convolutions and attention; none:
  /// the GPU has no tensor cores.
  std::optional<double> tensor_core_eligible_pct;
  /// Of that, by kernel name: on tensor cores, of what is told; and what no name tells.
  std::optional<double> tensor_core_used_pct, tensor_core_unknown_pct;
  double unclassified_pct = 0;  ///< GPU time of kernels that no rule knows.
  UnitUse units;                ///< While the GPU works, in the steps that count.
};

struct TraceReport {
  InputInfo input;
  Health health;
  TimeNs trace_start;  ///< Zero of `start_ms` values.
  Steps steps;
  std::optional<RunTime> run;  ///< None: no step is whole.
  std::vector<GpuTimeRow> gpu_time;
  std::vector<IdleRow> idle;
  /// Where there are no steps: the stretch from the first GPU task to the last, which breakdown,
  /// causes, bottleneck and findings are of.
  std::optional<StepRow> stretch;
  std::optional<StepBreakdown> breakdown;
  /// The mean step if the GPU were never idle: what it works in it. None: no such step, or not
  /// all of its time is in the figures.
  std::optional<DurationNs> ceiling;
  std::vector<CauseRow> causes;  ///< Empty without a breakdown.
  Bottleneck bottleneck;
  std::vector<Finding> findings;
  std::vector<TimeRow> kernels, operators, layers;
  std::vector<ClassRow> classes;
  std::vector<LineRow> lines;
  std::vector<SyncRow> syncs;
  Efficiency efficiency;
  std::vector<RegionRow> regions;
  std::vector<TimingRow> timings;
  std::vector<CallbackRow> callbacks;
  std::vector<MetricRow> metrics;
  std::vector<MemoryUse> memory;           ///< Empty: not recorded.
  std::vector<MachineNote> machine_notes;  ///< What the metrics explain.
  std::optional<LoopHost> loop;            ///< None without a breakdown.
  std::optional<InputWait> input_wait;
  std::optional<Throughput> throughput;  ///< None: the batch size is not known.
  std::optional<EngineSummary> engine;   ///< None: there are no steps to replay.
};

}  // namespace headroom
