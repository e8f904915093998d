// Plans a whole job: hours, money and CO2 on each target of a prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "answers/predict/render.h"
#include "base/status.h"
#include "cost/device_spec.h"
#include "predict/carbon.h"
#include "predict/deployment.h"

namespace headroom {

inline constexpr std::int64_t kMaxTotalSteps = 1'000'000'000'000;

/// Options for a whole job, with the names of the flags of `headroom predict`. Empty means not
/// given.
struct JobPlanQuestion {
  std::optional<std::int64_t> total_steps = {};
  std::string prices_path = {}, provider = {}, region = {}, pue = {}, carbon_path = {};
  /// Limits per plan, above 0: hours, and cost in the currency of the prices.
  std::optional<double> max_hours = {}, max_money = {};

  /// Fails with kUsage if options of a whole job are given without `total_steps`.
  Status Check() const;
};

class JobPlan {
 public:
  explicit JobPlan(JobPlanQuestion question) : question_(std::move(question)) {}
  // `grid_` points into `carbon_`.
  JobPlan(const JobPlan&) = delete;
  JobPlan(JobPlan&&) = default;

  /// Returns true if the question gives the job's length.
  bool has_length() const { return question_.total_steps.has_value(); }

  /// Reads prices and, if the job's length was given, grids. Fails with kBadInput or kUsage.
  Status Load(const DeviceCatalog& devices);

  /// Returns the listed machines with several GPUs. Their steps must be predicted before Make().
  const std::vector<PlannedMachine>& machines() const { return machines_; }

  /// Fills in the money per million samples of the targets. If the job's length was given, also
  /// fills in hours, money, CO2, and all options. Options are instances with enough GPU memory,
  /// within --max-hours and --max-money. Each option has enough instances for all GPUs of the job
  /// (InstancesFor()). For a job of one GPU, an option may also be one instance whose GPUs share
  /// the steps. Requires Load().
  void Make(PredictReport& report) const;

 private:
  Status LoadCarbon();
  /// Loads the prices of the chosen provider.
  Status LoadPrices(const DeviceCatalog& devices);
  Status FindMachines();
  void AddMoneyPerSample(PredictedTarget& target) const;
  /// Returns kBadInput with the line of `price` in the list.
  Status Refuse(const InstancePrice& price, std::string_view why) const;
  /// Grid and PUE at the location of an instance.
  struct Place {
    const GridRegion* grid = nullptr;  ///< Not null.
    double pue = 1;
    std::string text = {};  ///< Description of grid and PUE.
  };
  Place PlaceOf(const InstancePrice& price) const;
  /// Adds the options of one workload, whose targets are [`begin`, `end`).
  void AddOptions(std::size_t begin, std::size_t end, PredictReport& report) const;
  /// Returns how a job runs on an instance. Returns nullopt if it does not fit, or exceeds a limit
  /// of time or money, which the report counts.
  std::optional<PlannedOption> OptionOn(std::size_t price, const PredictedTarget& target,
                                        PredictReport& report) const;
  /// Adds everyday equivalents of one workload's CO2.
  void AddEquivalents(std::size_t begin, std::size_t end, PredictReport& report) const;

  JobPlanQuestion question_;
  CarbonData carbon_;
  const GridRegion* grid_ = nullptr;
  double pue_value_ = 1;
  std::vector<InstancePrice> prices_;
  std::vector<std::string> gpu_of_price_;  ///< Short name of the GPU of each price.
  std::string prices_from_;
  std::vector<PlannedMachine> machines_;
};

}  // namespace headroom
