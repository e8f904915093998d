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

/// Beside the network, as the flags of the same names of `headroom scale` say it.
struct ScaleQuestion {
  std::string schedule = "ddp";
  double bucket_mb = 25;            ///< MiB.
  std::int64_t exchange_every = 1;  ///< Steps from one exchange to the next.
  ModelParallel split = {};
  std::string changes = {};  ///< `--with`.
  bool strong = false;
  /// Once it says no, the answer is void.
  IsWanted is_wanted = AlwaysWanted;
};

/// A rank that is replayed for all of its job.
struct ReplayedRankFacts {
  std::optional<std::int64_t> number = {};  ///< None: its file is the only one.
  std::int64_t compared = 1;                ///< Ranks on one clock with it, itself included.
  /// Of its collectives, in a job of so many GPUs; empty: no other rank was compared.
  std::function<CollectiveSkew(std::int64_t gpus)> skew = {};
};

/// One question, asked of a job by any of its records.
class ScaleAnswer {
 public:
  /// Fails (kUsage) with what is wrong with the question.
  static Result<ScaleAnswer> Make(ScaleQuestion question, NetworkChoice network);

  /// Whether the size of buckets says anything.
  bool has_buckets() const { return exchange_.has_buckets; }

  /// Of a recorded job with GPU work. Where it cannot be told, the report says why.
  ///
  /// @param source  what the report says of the job: its path, and where its calibration is from
  Result<ScaleReport> OfTrace(const Job& job, Forecaster& forecaster, const ForecastSource& source,
                              const ReplayedRankFacts& rank) const;
  /// Of a recording without GPU work: the host is the device.
  Result<ScaleReport> OfLoop(const TraceStore& store, const ReferenceData& reference,
                             const AnalysisOptions& analysis) const;
  /// Of the operators of a step.
  Result<ScaleReport> OfList(const std::string& path, const OperatorList& list,
                             const DeviceRates& rates, const GpuModels& models) const;
  /// Where nothing can be told of any.
  ScaleReport Without(const std::string& path, const std::string& why) const;

 private:
  ScaleAnswer(ScaleQuestion question, NetworkChoice network)
      : question_(std::move(question)), network_(std::move(network)) {}
  Status Read();
  /// Whether gradients are summed in buckets and nothing else is asked for, which is all that can
  /// be told where there is no graph of the job.
  bool IsPlain() const;
  ScaleReport ReportOf(const std::string& path) const;
  /// What the split makes of a traced job. Fails (kNoAnswer) where it cannot be told.
  Status SplitJob(const Job& job, std::int64_t recorded_gpus, std::optional<TracedLayers>& layers,
                  std::optional<TensorParallel>& sharing, PipelineStages& stages) const;
  /// As one stage or several.
  Status FillStaged(ScalableJob& job, PipelineStages stages,
                    const std::vector<NamedNetwork>& networks, ScaleReport& report) const;
  Status FillCurves(ScalableJob& job, const std::vector<NamedNetwork>& networks,
                    ScaleReport& report) const;

  ScaleQuestion question_;
  NetworkChoice network_;
  ExchangeSchedule exchange_;
  double bucket_bytes_ = 0;
  std::vector<ScenarioCall> changes_;
};

}  // namespace headroom
