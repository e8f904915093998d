// The report of `headroom predict`: what a step takes on other GPUs.
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
  std::string gpu = {};                      ///< Short name of the one that it was recorded on.
  PredictedMs step;                          ///< Without the profiler.
  double host_ms = 0;                        ///< Step were every GPU task done in no time.
  double gpu_ms = 0;                         ///< Step were the host infinitely fast.
  std::int64_t gpus = 1;                     ///< Of the whole job, of which the trace is one rank.
  std::optional<StepEnergy> energy = {};     ///< Of all of them.
  std::optional<std::int64_t> samples = {};  ///< A step of the rank; none: not told.
  std::optional<JobMemory> memory = {};
  std::string no_memory = {};   ///< Why it is not known.
  std::string steps_note = {};  ///< What one should know of the recorded steps; empty: nothing.
  double ratio_only_share = 0;  ///< Of GPU time: kernels without shapes, carried over by ratios.
};

/// A machine with several GPUs, to which a job of one may be scaled out: each takes the recorded
/// batch, so there are as many times fewer steps.
struct PlannedMachine {
  std::size_t price = 0;  ///< Its number in the list of prices.
  std::string gpu;        ///< Short name.
  std::int64_t gpus = 2;
  Topology topology;
};

/// A step there, of all GPUs.
struct MachineStep {
  std::size_t price = 0;
  std::int64_t gpus = 2;
  std::string network = {};  ///< In words.
  PredictedMs step;
  double efficiency = 1;              ///< Work a second, in that of as many GPUs by themselves.
  std::optional<double> joules = {};  ///< Of all of them.
  std::string no_answer = {};         ///< Why it is not known; all but `price` is void then.
};

/// One step on one GPU.
struct PredictedTarget {
  std::size_t group = 0;  ///< Targets of one workload have one number; so has its baseline.
  std::string workload;   ///< The trace, or a step of a list of operators; empty: the only one.
  std::string gpu, full_name;
  PredictedMs step;
  std::optional<double> speedup = {};
  std::optional<std::array<double, 3>> phases_ms = {};  ///< Of a list, by StepPhase.
  std::optional<double> gpu_memory_bytes = {};
  std::int64_t gpus = 1;                     ///< So many such GPUs the job takes.
  std::optional<StepEnergy> energy = {};     ///< Of a step, of all of them.
  std::optional<std::int64_t> samples = {};  ///< A step of one rank; none: not told.
  std::optional<double> hours = {};          ///< Of the whole job, as are money and CO2.
  std::optional<double> co2_kg = {};
  std::optional<double> money = {};  ///< On the cheapest instance that is listed.
  /// A million samples at the lowest listed price an hour of such a GPU.
  std::optional<double> money_per_million_samples = {};
  std::string currency = {};
  std::optional<double> memory_bytes = {};  ///< That the job takes there.
  std::optional<bool> fits = {};
  std::optional<double> largest_batch = {};  ///< Samples that fit, with kMemoryMargin left.
  /// The same were cuDNN's workspaces to stay as they are; none: they do not decide it.
  std::optional<double> largest_batch_at_best = {};
  std::optional<TargetBatchCurve> batch_curve = {};  ///< Where it was asked for.
  std::vector<MachineStep> machines = {};            ///< Of a job of one GPU.
  std::size_t measured_operators = 0;                ///< On that GPU, for --gpu-calibration.
  double measured_share = 0;    ///< Of the GPU time, that they tell of: 0 to 1.
  std::string limited_by = {};  ///< "host" or "gpu"; empty: not known, without a trace.
  std::string why = {};         ///< What holds the step there.
  std::string doubt = {};       ///< Why the prediction is extrapolated; empty: it is not.
  /// Other GPUs of the same workload whose step cannot be told from this one.
  std::vector<std::string> ties = {};
};

/// One way to run the whole job.
struct PlannedOption {
  std::string workload;
  DeploymentOption option;
  std::optional<double> co2_kg = {};
  std::string carbon = {};                     ///< By which grid and overhead.
  std::optional<MachineStep> scaled_out = {};  ///< Where a job of one GPU uses all of several.
};

/// A trace that cannot be replayed, or the file of a step without known kernels, and what it lacks.
struct PredictAbstention {
  std::string trace, why;
};

struct PredictReport {
  std::optional<std::string> source_gpu;
  std::vector<PredictBaseline> baselines;  ///< One a trace; none of lists of operators.
  std::vector<PredictedTarget> targets;    ///< Workload by workload, in the order asked for.
  std::vector<PredictAbstention> abstained;
  std::optional<double> total_steps = {};  ///< Of the job; none: hours and money are not told.
  std::string carbon;                      ///< Which grid, PUE and year; empty: not asked for.
  std::vector<std::string> equivalents;    ///< Of a job's CO2, in something that people grasp.
  std::vector<PlannedOption> options;      ///< By money within a workload and currency.
  /// Of a job of one GPU: why it has no options of several, and on which GPUs (of which job).
  std::map<std::string, std::vector<std::string>> not_scaled_out;
  std::int64_t options_over_limits = 0;  ///< Left out for the time or the money they take.
  std::string prices;                    ///< Where prices come from.
  std::string constants;                 ///< Where the models' constants come from.
};

/// In one sentence; empty: it is.
std::string WhyNotScaledOut(const PredictReport& report);

/// headroom.predict/1, docs/predict.md.
std::string RenderPredictJson(const PredictReport& report);
/// All sections.
std::string RenderPredictText(const PredictReport& report, const PageStyle& style);
/// One line per target.
std::string RenderPredictSummary(const PredictReport& report, const PageStyle& style);
/// Leaves only targets that are current GPUs or the recorded one.
void KeepCurrentGpus(PredictReport& report);

}  // namespace headroom
