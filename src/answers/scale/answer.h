// Answers `headroom scale`, for the command line and the page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/analyze.h"
#include "analysis/names/reference_data.h"
#include "answers/scale/exchange_schedule.h"
#include "answers/scale/network_choice.h"
#include "answers/scale/render.h"
#include "answers/whatif/answer.h"
#include "base/status.h"
#include "base/wanted.h"
#include "predict/gpu_models.h"
#include "predict/operator_list.h"
#include "ranks/collective_skew.h"
#include "scale/listed_job.h"
#include "scale/scaling_curve.h"
#include "scale/tensor_parallel.h"
#include "scale/traced_layers.h"
#include "whatif/forecast.h"
#include "whatif/job/job.h"

namespace headroom {

/// Options besides the network, with the names of the flags of `headroom scale`.
struct ScaleQuestion {
  std::string schedule = "ddp";
  double bucket_mb = 25;            ///< MiB.
  std::string gradient_dtype = {};  ///< fp32, fp16 or bf16; empty: as recorded.
  bool no_overlap = false;          ///< The exchange begins after the backward.
  std::optional<double> bucket_host_us = {};
  std::int64_t exchange_every = 1;  ///< Steps from one exchange to the next.
  ModelParallel split = {};
  std::string changes = {};  ///< Value of `--with`; empty without it.
  bool strong = false;
  ScalingCosts costs = {};
  /// Called during the work. After it returns false, the work stops and the answer is invalid.
  IsWanted is_wanted = AlwaysWanted;
};

/// A rank that is replayed on behalf of its whole job.
struct ReplayedRankFacts {
  std::optional<std::int64_t> number = {};  ///< Rank; absent if only one file was given.
  std::int64_t compared = 1;  ///< Number of ranks with aligned clocks, including this one.
  /// Returns the skew of this rank's collectives in a job of `gpus` GPUs; empty if no other rank
  /// was compared.
  std::function<CollectiveSkew(std::int64_t gpus)> skew = {};
};

/// Answers one question about a job: for a trace, a recording without GPU work, or a list of
/// operators.
class ScaleAnswer {
 public:
  /// Fails with kUsage if the question is wrong.
  static Result<ScaleAnswer> Make(ScaleQuestion question, NetworkChoice network);

  /// Returns true if the size of buckets has an effect.
  bool has_buckets() const { return exchange_.has_buckets; }

  /// Answers for a recorded job with GPU work. If that is impossible, the report gives the reason.
  /// @param source  path of the job and source of its calibration, for the report
  Result<ScaleReport> OfTrace(const Job& job, Forecaster& forecaster, const ForecastSource& source,
                              const ReplayedRankFacts& rank) const;
  /// Answers for a recording without GPU work: the host is the device.
  Result<ScaleReport> OfLoop(const TraceStore& store, const ReferenceData& reference,
                             const AnalysisOptions& analysis) const;
  /// Answers for a list of the operators of a step.
  Result<ScaleReport> OfList(const std::string& path, const OperatorList& list,
                             const DeviceRates& rates, const GpuModels& models) const;
  /// Returns a report without an answer. It gives the reason `why`.
  ScaleReport Without(const std::string& path, const std::string& why) const;

 private:
  ScaleAnswer(ScaleQuestion question, NetworkChoice network)
      : question_(std::move(question)), network_(std::move(network)) {}
  Status Read();
  /// Fills `transfer_`. Fails with kUsage if the schedule does not support it.
  Status ReadTransfer();
  /// Returns true if the schedule only exchanges buckets, and --with changes nothing. Jobs without
  /// a graph support nothing else.
  bool IsPlain() const;
  ScaleReport ReportOf(const std::string& path) const;
  /// Splits a traced job into tensor-parallel layers and pipeline stages. Fails with kNoAnswer if
  /// the trace lacks data for that.
  Status SplitJob(const Job& job, std::int64_t recorded_gpus, std::optional<TracedLayers>& layers,
                  std::optional<TensorParallel>& sharing, PipelineStages& stages) const;
  /// Fills in the curves of a job with one or several stages.
  Status FillStaged(ScalableJob& job, PipelineStages stages,
                    const std::vector<NamedNetwork>& networks, ScaleReport& report) const;
  Status FillCurves(ScalableJob& job, const std::vector<NamedNetwork>& networks,
                    ScaleReport& report) const;

  ScaleQuestion question_;
  NetworkChoice network_;
  ExchangeSchedule exchange_;
  GradientTransfer transfer_;
  std::vector<ScenarioCall> changes_;
};

}  // namespace headroom
