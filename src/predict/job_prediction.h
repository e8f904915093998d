// Predicts a recorded job on another GPU: replays its graph with the kernel times of that GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  double host_ms = 0;     ///< Step time if all GPU tasks took 0 ns.
  double gpu_ms = 0;      ///< Step time with an infinitely fast host.
  StepActivity activity;  ///< Activity of the GPU, for its energy.
  std::string why;        ///< For users: what limits the step on the target.
  /// Share of the GPU time that is based on operators measured on the target, from 0 to 1.
  double measured_share = 0;
  /// For users: parts that measurements do not validate; empty if all are validated.
  std::string doubt = {};
};

/// Returns the error that remains of `of_all` without `of_part`, if the two are independent.
double ErrorBeyond(double of_part, double of_all);

/// Predicts one job for many GPUs.
class JobPredictor {
 public:
  /// Requires that all arguments outlive this object. `source` is the GPU that recorded the job.
  JobPredictor(const Job& job, const DeviceRates& source, const KernelConstants& constants);

  /// Predicts the step on a GPU.
  /// - Operators take model(target) * (recorded / model(source)) ^ w.
  /// - Kernels without shapes use wave scaling.
  /// - Copies between host and GPU scale with the speed of the bus.
  /// - Collectives keep their recorded time.
  /// - The host takes its recorded time divided by `host_factor`.
  JobPrediction Predict(const DeviceRates& target, double host_factor);

  /// Returns the step time at another batch size: the prediction at the recorded batch, plus each
  /// kernel's growth on the target (docs/engine.md, Batch size). The range combines the relative
  /// range at the recorded batch with the uncertainty of the growth.
  ///
  /// @param batch_ratio  samples per step, relative to the recording
  /// @param recorded     predicted step at the recorded batch
  PredictedMs StepAtBatch(const DeviceRates& target, double host_factor, double batch_ratio,
                          const PredictedMs& recorded);

  /// Returns the step after a change of its plan, such as communication between several of these
  /// GPUs. The range adds the uncertainty of transfers to that of the host, as `headroom scale`
  /// does, and combines both with the other errors of the unchanged step. Fails with kNoAnswer if
  /// the change does not apply.
  ///
  /// @param unchanged  predicted step without the change
  Result<PredictedMs> StepWith(const DeviceRates& target, double host_factor,
                               const PredictedMs& unchanged,
                               const std::function<Effect(Edit& edit)>& change);

  /// Returns the job as it would run on a GPU, for forecasts of changes there.
  std::unique_ptr<Job> JobOn(const DeviceRates& target, double host_factor) const {
    return job_.On(target, constants_, PlanOn(target, host_factor));
  }

  /// Returns the share of the GPU time in kernels without shapes, which scale only by ratios of the
  /// GPUs' figures.
  double ratio_only_share() const;
  /// Returns the share of the recorded GPU time in products and convolutions that run on the
  /// target's vector units.
  double VectorShare(const DeviceRates& target) const;

 private:
  /// GPU tasks whose times change by the same factor.
  struct Piece {
    enum class Kind : std::uint8_t { kOperator, kLaunch, kBus, kMemory, kCollective };
    Kind kind = Kind::kLaunch;
    std::vector<TaskIndex> tasks = {};
    double recorded_ns = 0;  ///< Sum over its tasks.
    WorkClass work_class = WorkClass::kOther;
    std::optional<OperatorCall> call = {};
    const OperatorCost* cost = nullptr;
    KernelClass longest = {};
    bool allows_tf32 = false;  ///< See OperatorWork::allows_tf32.
    LaunchShape launch = {};
    double source_ns = 0;  ///< Modelled time; for kOperator only.
  };

  void AddOperators();
  void AddOthers();
  void Add(Piece piece, TaskIndex task);
  /// Returns the plan of the corrected job with the target's times.
  Plan PlanOn(const DeviceRates& target, double host_factor) const;
  double FactorOf(const Piece& piece, const DeviceRates& target) const;
  /// Returns true if the piece has a model that the profile can correct. Attention, pooling and
  /// similar operators have none and depend on the profile alone.
  static bool HasResidualModel(const Piece& piece);
  /// Returns the exponent for the ratio of recorded to modelled time on the source.
  double ResidualWeightOf(const Piece& piece, const DeviceRates& target, double evidence) const;
  /// Returns the evidence of measurements on the target for a class of this job's work, from 0 to
  /// 1.
  double EvidenceFor(WorkClass work, double evidence) const;
  /// Returns true if the algorithm of a convolution on the target is unknown. This is the case if
  /// the target has another library, and either library chose without trying all algorithms.
  bool HasDoubtfulAlgorithm(const Piece& piece, const DeviceRates& target) const;
  /// Returns the share of the recorded GPU time in convolutions with an unknown algorithm on the
  /// target.
  double DoubtfulAlgorithmShare(const DeviceRates& target) const;
  /// Returns the range of factors on the convolution times in `plan`, which has the target's times.
  /// One bound carries over none of the deviation from the model, as if the target's library chose
  /// the fastest algorithm. The other carries over all of it, as if it chose the same algorithm.
  ErrorRange UntriedRange(const Plan& plan, const DeviceRates& target) const;
  /// Returns the range of convolutions, widened if their algorithms are uncertain.
  ErrorRange WithAlgorithms(const Plan& plan, const DeviceRates& target, ErrorRange range) const;
  /// Returns true if a float32 convolution would run in TF32 on the target by the framework's
  /// default. A recording on a GPU without TF32 does not show whether the job uses this default.
  bool RunsInTf32ByDefault(const Piece& piece, const DeviceRates& target) const;
  /// Returns the total convolution time on the target without that default, relative to the time
  /// with it.
  double Float32OverDefault(const Plan& plan, const DeviceRates& target) const;
  bool IsSource(const DeviceRates& target) const {
    return target.device->short_name == source_.device->short_name;
  }
  OperatorWork WorkOf(const Piece& piece) const;
  OperatorOnGpu On(const DeviceRates& gpu, const Piece& piece) const {
    return {WorkOf(piece), gpu};
  }
  /// Returns the share of the recorded GPU time in products and similar work on the target's tensor
  /// cores.
  double TensorCoreShare(const DeviceRates& target) const;
  /// Returns the same share of a class, without work similar to measured operators.
  double UnmeasuredTensorCoreShare(const DeviceRates& target, WorkClass of) const;
  /// Returns the correction of a piece from operators measured on the target, beyond its model and
  /// the profile.
  Correction MeasuredOn(const DeviceRates& target, const Piece& piece) const;
  double MeasuredShare(const DeviceRates& target) const;
  /// Returns the share of the recorded GPU time in operators whose types have an unknown speed on
  /// the target.
  double UnknownTypeShare(const DeviceRates& target) const;
  /// Returns the share of the recorded GPU time that was on tensor cores and is assumed to run in
  /// float32 on the target.
  double LostTensorCoreShare(const DeviceRates& target) const;
  double CollectiveShare() const;
  /// Returns the ranges by class, narrower for classes with similar measurements on the target.
  /// `plan` has the target's times.
  std::array<ErrorRange, kWorkClasses> ErrorsOf(const Plan& plan, const DeviceRates& target) const;
  double ShareOf(const std::function<bool(const Piece&)>& counts) const;
  /// Requires a plan with the target's times.
  StepActivity ActivityOf(const Plan& plan, double step_ms, const DeviceRates& target) const;
  double StepMs(const Plan& plan) {
    return job_.step_scale().Ms(plan, replayer_.Run(plan).step_ns);
  }
  /// Returns the plan with the host's times multiplied by `host`, and GPU times by `gpu`.
  /// Multiplies the GPU tasks of one class, or all GPU tasks if `work_class` is nullopt.
  Plan Stretched(const Plan& plan, std::optional<WorkClass> work_class, double gpu,
                 double host) const;

  const Job& job_;
  const DeviceRates& source_;
  const KernelConstants& constants_;
  std::vector<Piece> pieces_;
  /// True if a convolution records that the library chose its algorithm without benchmarking.
  /// Backward operators do not record this.
  bool untried_ = false;
  /// By task: WorkClass; -1 for tasks that are not on the GPU.
  std::vector<std::int8_t> class_of_;
  Replayer replayer_;
};

}  // namespace headroom
