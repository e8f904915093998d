// A recorded job on another GPU: its graph replayed with every kernel's time there.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"
#include "kernels/operator_time.h"
#include "kernels/wave_scaling.h"
#include "predict/energy.h"
#include "predict/kernel_table.h"
#include "sim/edit.h"
#include "sim/schedule.h"
#include "whatif/job/job.h"
#include "whatif/scenarios/scenario.h"

namespace headroom {

struct JobPrediction {
  PredictedMs step;
  double host_ms = 0;     ///< Step were every GPU task done in no time.
  double gpu_ms = 0;      ///< Step were the host infinitely fast.
  StepActivity activity;  ///< Of the GPU, for its energy.
  std::string why;        ///< What holds the step there, and what is not in the model.
  /// Of the GPU time: how much is known by operators that were measured on the target, from 0 to 1.
  double measured_share = 0;
  std::string doubt = {};  ///< What was never held against a measurement; empty: nothing.
};

/// Asks one job about many GPUs.
class JobPredictor {
 public:
  /// All outlive it. `source`: the GPU that the job was recorded on.
  JobPredictor(const Job& job, const DeviceRates& source, const KernelConstants& constants);

  /// GPU tasks take model(target) * (recorded / model(source)) ^ w, by operator; those of operators
  /// without shapes by wave scaling; copies between host and GPU by the speed of the bus;
  /// collectives as recorded. The host takes what it took, divided by `host_factor`.
  JobPrediction Predict(const DeviceRates& target, double host_factor);

  /// Step time at other batch sizes: what is predicted for the recorded one, and from there the
  /// growth of each kernel on the target (docs/engine.md, Batch size). The range is that of the
  /// recorded batch, as a share, and with it what is not known of the growth.
  ///
  /// @param batch_ratio  samples per step, of those recorded
  /// @param recorded     the step there at the recorded batch
  PredictedMs StepAtBatch(const DeviceRates& target, double host_factor, double batch_ratio,
                          const PredictedMs& recorded);

  /// The step with a change of its plan there, as an exchange between several such GPUs is. The
  /// range is that of the unchanged step, as a share, and with it what is not known of transfers.
  /// Fails (kNoAnswer) where the change does not apply.
  ///
  /// @param unchanged  the step there without it
  Result<PredictedMs> StepWith(const DeviceRates& target, double host_factor,
                               const PredictedMs& unchanged,
                               const std::function<Effect(Edit& edit)>& change);

  /// Of the GPU time: tasks that only ratios of the GPUs' figures carry over.
  double ratio_only_share() const;

 private:
  /// GPU tasks whose times change by one factor.
  struct Piece {
    enum class Kind : std::uint8_t { kOperator, kLaunch, kBus, kMemory, kCollective };
    Kind kind = Kind::kLaunch;
    std::vector<TaskIndex> tasks = {};
    double recorded_ns = 0;  ///< All of them.
    WorkClass work_class = WorkClass::kOther;
    std::optional<OperatorCall> call = {};
    const OperatorCost* cost = nullptr;
    KernelClass longest = {};
    bool allows_tf32 = false;  ///< As OperatorWork has it.
    LaunchShape launch = {};
    double source_ns = 0;  ///< By the model; of kOperator.
  };

  void AddOperators();
  void AddOthers();
  void Add(Piece piece, TaskIndex task);
  /// Of the corrected job, with times of the target.
  Plan PlanOn(const DeviceRates& target, double host_factor) const;
  double FactorOf(const Piece& piece, const DeviceRates& target) const;
  /// Whether it has a model that the profile may correct. Attention, pooling and the like have
  /// none: there the profile is all there is.
  static bool HasResidualModel(const Piece& piece);
  /// The exponent with which is carried over how many times as long as by the model it took on the
  /// source.
  double ResidualWeightOf(const Piece& piece, const DeviceRates& target, double evidence) const;
  /// Of what was measured on the target, how much it says of a class of this job's work.
  double EvidenceFor(WorkClass work, double evidence) const;
  /// Whether it is anybody's guess which algorithm a convolution has on the target: the library
  /// there is another one, and here it was chosen untried, or the one there was never seen to try.
  bool HasDoubtfulAlgorithm(const Piece& piece, const DeviceRates& target) const;
  /// Of the recorded GPU time.
  double DoubtfulAlgorithmShare(const DeviceRates& target) const;
  /// By which convolutions get shorter or longer on the target, of whose times `plan` is, where
  /// nothing or all of what they took beyond the model is carried over: the library may take the
  /// fastest algorithm there, or the same.
  ErrorRange UntriedRange(const Plan& plan, const DeviceRates& target) const;
  /// The range of convolutions, where their algorithms are in doubt, too.
  ErrorRange WithAlgorithms(const Plan& plan, const DeviceRates& target, ErrorRange range) const;
  /// Whether it is a convolution in float32 that the target would run in TF32 by the framework's
  /// default, of which a GPU without TF32 tells nothing.
  bool RunsInTf32ByDefault(const Piece& piece, const DeviceRates& target) const;
  /// How many times as long all convolutions would take there, were that default off.
  double Float32OverDefault(const Plan& plan, const DeviceRates& target) const;
  bool IsSource(const DeviceRates& target) const {
    return target.device->short_name == source_.device->short_name;
  }
  OperatorWork WorkOf(const Piece& piece) const;
  OperatorOnGpu On(const DeviceRates& gpu, const Piece& piece) const {
    return {WorkOf(piece), gpu};
  }
  /// Of the recorded GPU time: products and the like that run on tensor cores on the target.
  double TensorCoreShare(const DeviceRates& target) const;
  /// The same, of what nothing like it was measured there.
  double UnmeasuredTensorCoreShare(const DeviceRates& target) const;
  /// Returns the correction that operators measured on the target give a piece, beyond its model
  /// and the profile.
  Correction MeasuredOn(const DeviceRates& target, const Piece& piece) const;
  double MeasuredShare(const DeviceRates& target) const;
  /// Of the recorded GPU time: operators in types whose speed there is not known.
  double UnknownTypeShare(const DeviceRates& target) const;
  /// Of the same: work that ran on tensor cores and is taken as float32 there.
  double LostTensorCoreShare(const DeviceRates& target) const;
  double CollectiveShare() const;
  /// By class; each by how much of its time was measured near by on the target, of whose times
  /// `plan` is.
  std::array<ErrorRange, kWorkClasses> ErrorsOf(const Plan& plan, const DeviceRates& target) const;
  double ShareOf(const std::function<bool(const Piece&)>& counts) const;
  /// Of a plan with the target's times.
  StepActivity ActivityOf(const Plan& plan, double step_ms, const DeviceRates& target) const;
  double StepMs(const Plan& plan) {
    return job_.step_scale().Ms(plan, replayer_.Run(plan).step_ns);
  }
  /// With GPU tasks of one class, or the host, multiplied.
  Plan Stretched(const Plan& plan, std::optional<WorkClass> work_class, double gpu,
                 double host) const;

  const Job& job_;
  const DeviceRates& source_;
  const KernelConstants& constants_;
  std::vector<Piece> pieces_;
  bool untried_ = false;  ///< Convolutions say that their algorithm was; backwards do not say.
  std::vector<std::int8_t> class_of_;  ///< By task: WorkClass; -1: not of the GPU.
  Replayer replayer_;
};

}  // namespace headroom
