// The report of `headroom predict`: steps on other GPUs.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "network/topology.h"
#include "predict/deployment.h"
#include "predict/energy.h"
#include "predict/job_memory.h"
#include "predict/kernel_table.h"
#include "predict/operator_list.h"
#include "predict/target_batch.h"
#include "render/text_page.h"

namespace headroom {

/// The job as it was recorded.
struct PredictBaseline {
  std::string trace;
  std::string gpu = {};                      ///< Short name of the recorded GPU.
  PredictedMs step;                          ///< Step without the profiler.
  double host_ms = 0;                        ///< Step if every GPU task took 0 ms.
  double gpu_ms = 0;                         ///< Step if the host were infinitely fast.
  std::int64_t gpus = 1;                     ///< GPUs of the whole job. The trace is one of its
                                             ///< ranks.
  std::optional<StepEnergy> energy = {};     ///< Energy of all GPUs.
  std::optional<std::int64_t> samples = {};  ///< Samples per step of the rank; absent if unknown.
  std::optional<JobMemory> memory = {};
  std::string no_memory = {};   ///< Why the memory is unknown.
  std::string steps_note = {};  ///< Remark on the recorded steps; empty without one.
  double ratio_only_share = 0;  ///< Share of GPU time in kernels without shapes, predicted by
                                ///< ratios.
};

/// A machine with several GPUs, to which a job of one GPU may be scaled out. Each GPU takes the
/// recorded batch, so N GPUs take 1/N of the steps.
struct PlannedMachine {
  std::size_t price = 0;  ///< Index in the list of prices.
  std::string gpu;        ///< Short name.
  std::int64_t gpus = 2;
  Topology topology;
};

/// A step of the job on all GPUs of a PlannedMachine.
struct MachineStep {
  std::size_t price = 0;
  std::int64_t gpus = 2;
  std::string network = {};  ///< Description of the network.
  PredictedMs step;
  double efficiency = 1;              ///< Throughput, relative to the same number of independent
                                      ///< GPUs.
  std::optional<double> joules = {};  ///< Energy of all GPUs.
  /// Why the step is unknown; empty if known. If set, only `price` is valid.
  std::string no_answer = {};
};

/// One step on one GPU.
struct PredictedTarget {
  std::size_t group = 0;  ///< Targets of one workload and its baseline share a number.
  /// Name of the trace or of the listed step; empty if there is only one workload.
  std::string workload;
  std::string gpu, full_name;
  PredictedMs step;
  std::optional<PredictedMs> unchanged = {};  ///< Step without the change; absent if there is none.
  std::optional<double> speedup = {};
  /// ms of each StepPhase; only for a list of operators.
  std::optional<std::array<double, kStepPhases>> phases_ms = {};
  std::optional<double> gpu_memory_bytes = {};
  std::int64_t gpus = 1;                     ///< Number of such GPUs that the job uses.
  std::optional<StepEnergy> energy = {};     ///< Energy per step of all GPUs.
  std::optional<std::int64_t> samples = {};  ///< Samples per step of one rank; absent if unknown.
  /// Hours of the whole job, to which `co2_kg` and `money` also refer.
  std::optional<double> hours = {};
  std::optional<double> co2_kg = {};
  std::optional<double> money = {};  ///< Money of the whole job on the cheapest listed instance.
  /// Money per million samples at the lowest listed hourly price of such a GPU.
  std::optional<double> money_per_million_samples = {};
  std::string currency = {};
  /// Peak memory of the job on this GPU; absent if unknown.
  std::optional<double> memory_bytes = {};
  std::optional<bool> fits = {};
  std::optional<FitConfidence> fit_confidence = {};  ///< Absent if unknown.
  /// Largest batch, in samples, that leaves kMemoryMargin of the memory free; absent if unknown.
  std::optional<double> largest_batch = {};
  /// `largest_batch` if cuDNN's workspaces do not grow with the batch; absent if they do not limit
  /// it.
  std::optional<double> largest_batch_at_best = {};
  std::optional<TargetBatchCurve> batch_curve = {};  ///< Absent if not requested.
  /// Steps on machines with several such GPUs; empty if the job uses several.
  std::vector<MachineStep> machines = {};
  std::size_t measured_operators = 0;  ///< Number of operators of this GPU in --gpu-calibration.
  double measured_share = 0;           ///< Share of GPU time that these operators cover: 0 to 1.
  std::string limited_by = {};         ///< "host" or "gpu"; empty if unknown.
  /// Limit of the step on this GPU, in words; for a list, the operators without kernels.
  std::string why = {};
  std::string left_out = {};  ///< Kernels that the step lacks, in words; empty if none.
  std::string doubt = {};     ///< Why the prediction is extrapolated; empty if it is not.
  /// Other GPUs of the same workload whose step is not significantly different.
  std::vector<std::string> ties = {};
};

/// One way to run the whole job.
struct PlannedOption {
  std::string workload;
  DeploymentOption option;
  std::optional<double> co2_kg = {};
  std::string carbon = {};  ///< Description of the grid and PUE behind `co2_kg`.
  /// Set if a job of one GPU runs on all GPUs of a larger instance.
  std::optional<MachineStep> scaled_out = {};
};

/// A trace that cannot be replayed, a list without known kernels, or a change that does not apply,
/// with the reason.
struct PredictAbstention {
  std::string trace, why;
  std::string gpu = {};  ///< The only GPU that it concerns; empty for all.
};

struct PredictReport {
  std::optional<std::string> source_gpu;
  std::string change;  ///< Made on each target, as the user wrote it; empty for none.
  std::vector<PredictBaseline> baselines;  ///< One per trace. Lists of operators have none.
  std::vector<PredictedTarget> targets;    ///< Workload by workload, in the order of the command
                                           ///< line.
  std::vector<PredictAbstention> abstained;
  /// Steps of the whole job; absent if not given, and then so are its hours and money.
  std::optional<double> total_steps = {};
  std::string carbon;                    ///< Grid, PUE and year; empty if not requested.
  std::vector<std::string> equivalents;  ///< A job's CO2 compared with everyday things.
  std::vector<PlannedOption> options;    ///< Sorted by money within a workload and currency.
  /// Maps each reason why a job of one GPU has no options with several GPUs to the GPUs (and jobs)
  /// that it applies to.
  std::map<std::string, std::vector<std::string>> not_scaled_out;
  /// Number of options left out because of a limit of time or money.
  std::int64_t options_over_limits = 0;
  std::string prices;     ///< Source of the prices.
  std::string constants;  ///< Source of the models' constants.
};

/// Returns `not_scaled_out` as one sentence; empty if it has no entry.
std::string WhyNotScaledOut(const PredictReport& report);

/// Returns headroom.predict/1, see docs/predict.md.
std::string RenderPredictJson(const PredictReport& report);
/// Returns all sections.
std::string RenderPredictText(const PredictReport& report, const PageStyle& style);
/// Returns one line per target.
std::string RenderPredictSummary(const PredictReport& report, const PageStyle& style);
/// Writes a paragraph per reason, after the traces or GPUs that it concerns.
void WriteAbstained(TextPage& page, const std::vector<PredictAbstention>& abstained,
                    const std::string& prefix);
/// Returns true for GPUs that are commonly bought or rented today.
bool IsCurrentGpu(std::string_view gpu);
/// Keeps only targets that are current GPUs, the recorded GPU, or the GPU of a planned instance.
void KeepCurrentGpus(PredictReport& report);

}  // namespace headroom
