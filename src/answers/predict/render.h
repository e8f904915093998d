// The report of `headroom predict`: steps on other GPUs.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "network/topology.h"
#include "predict/deployment.h"
#include "predict/energy.h"
#include "predict/job_memory.h"
#include "predict/kernel_table.h"
#include "predict/target_batch.h"
#include "render/text_page.h"

namespace headroom {

/// The job as it was recorded.
struct PredictBaseline {
  std::string trace;
  std::string gpu = {};                      ///< Short name of the recorded GPU.
  PredictedMs step;                          ///< Without the profiler.
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

/// A machine with several GPUs, to which a job of one may be scaled out. Each GPU takes the
/// recorded batch, so N GPUs need 1/N of the steps.
struct PlannedMachine {
  std::size_t price = 0;  ///< Index in the list of prices.
  std::string gpu;        ///< Short name.
  std::int64_t gpus = 2;
  Topology topology;
};

/// A step of all GPUs of the machine.
struct MachineStep {
  std::size_t price = 0;
  std::int64_t gpus = 2;
  std::string network = {};  ///< Description of the network.
  PredictedMs step;
  double efficiency = 1;              ///< Throughput, relative to the same number of independent
                                      ///< GPUs.
  std::optional<double> joules = {};  ///< Energy of all GPUs.
  std::string no_answer = {};         ///< Why it is unknown. Then only `price` is valid.
};

/// One step on one GPU.
struct PredictedTarget {
  std::size_t group = 0;  ///< Targets of one workload and its baseline share a number.
  std::string workload;   ///< The trace, or a step of a list of operators; empty if there is only
                          ///< one.
  std::string gpu, full_name;
  PredictedMs step;
  std::optional<double> speedup = {};
  std::optional<std::array<double, 3>> phases_ms = {};  ///< Times of a list, by StepPhase.
  std::optional<double> gpu_memory_bytes = {};
  std::int64_t gpus = 1;                     ///< Number of such GPUs for the job.
  std::optional<StepEnergy> energy = {};     ///< Energy per step of all GPUs.
  std::optional<std::int64_t> samples = {};  ///< Samples per step of one rank; absent if unknown.
  std::optional<double> hours = {};          ///< Hours of the whole job. Money and CO2 cover it,
                                             ///< too.
  std::optional<double> co2_kg = {};
  std::optional<double> money = {};  ///< On the cheapest listed instance.
  /// Money per million samples at the lowest listed hourly price of such a GPU.
  std::optional<double> money_per_million_samples = {};
  std::string currency = {};
  std::optional<double> memory_bytes = {};  ///< Peak memory of the job there.
  std::optional<bool> fits = {};
  std::optional<double> largest_batch = {};  ///< Samples that fit with kMemoryMargin to spare.
  /// The same if cuDNN's workspaces do not grow; absent if they do not decide it.
  std::optional<double> largest_batch_at_best = {};
  std::optional<TargetBatchCurve> batch_curve = {};  ///< Absent if not requested.
  std::vector<MachineStep> machines = {};            ///< For a job of one GPU.
  std::size_t measured_operators = 0;                ///< Operators that --gpu-calibration has for
                                                     ///< that GPU.
  double measured_share = 0;    ///< Share of GPU time that these operators cover: 0 to 1.
  std::string limited_by = {};  ///< "host" or "gpu"; empty if unknown, or without a trace.
  std::string why = {};         ///< The limit of the step there.
  std::string doubt = {};       ///< Why the prediction is extrapolated; empty if it is not.
  /// Other GPUs of the same workload whose step is not significantly different.
  std::vector<std::string> ties = {};
};

/// One way to run the whole job.
struct PlannedOption {
  std::string workload;
  DeploymentOption option;
  std::optional<double> co2_kg = {};
  std::string carbon = {};                     ///< Grid and overhead of its CO2.
  std::optional<MachineStep> scaled_out = {};  ///< Set if a job of one GPU uses all GPUs of
                                               ///< several.
};

/// A trace that cannot be replayed, or a list without known kernels, with the reason.
struct PredictAbstention {
  std::string trace, why;
};

struct PredictReport {
  std::optional<std::string> source_gpu;
  std::vector<PredictBaseline> baselines;  ///< One per trace. Lists of operators have none.
  std::vector<PredictedTarget> targets;    ///< Workload by workload, in the order of the command
                                           ///< line.
  std::vector<PredictAbstention> abstained;
  std::optional<double> total_steps = {};  ///< Steps of the job; absent without hours and money.
  std::string carbon;                      ///< Grid, PUE and year; empty if not requested.
  std::vector<std::string> equivalents;    ///< A job's CO2 compared with everyday things.
  std::vector<PlannedOption> options;      ///< By money within a workload and currency.
  /// Why a job of one GPU has no options with several GPUs, with the GPUs (and jobs) of each
  /// reason.
  std::map<std::string, std::vector<std::string>> not_scaled_out;
  std::int64_t options_over_limits = 0;  ///< Left out because of a limit of time or money.
  std::string prices;                    ///< Source of the prices.
  std::string constants;                 ///< Source of the models' constants.
};

/// Returns the reason in one sentence; empty if it is scaled out.
std::string WhyNotScaledOut(const PredictReport& report);

/// Returns headroom.predict/1, see docs/predict.md.
std::string RenderPredictJson(const PredictReport& report);
/// Returns all sections.
std::string RenderPredictText(const PredictReport& report, const PageStyle& style);
/// Returns one line per target.
std::string RenderPredictSummary(const PredictReport& report, const PageStyle& style);
/// Keeps only targets that are current GPUs or the recorded one.
void KeepCurrentGpus(PredictReport& report);

}  // namespace headroom
