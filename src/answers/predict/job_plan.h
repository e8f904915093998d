// What a whole job takes where: hours, money and CO2 of each target of a prediction.
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

/// What is asked of a whole job, as the flags of the same names of `headroom predict` say it; what
/// is empty was not given.
struct JobPlanQuestion {
  std::optional<std::int64_t> total_steps = {};
  std::string prices_path = {}, provider = {}, region = {}, pue = {}, carbon_path = {};
  std::optional<double> max_hours = {}, max_money = {};  ///< Of an option; above 0.

  /// Fails (kUsage) where something is said of a whole job whose length is not given.
  Status Check() const;
};

class JobPlan {
 public:
  explicit JobPlan(JobPlanQuestion question) : question_(std::move(question)) {}
  // `grid_` points into `carbon_`.
  JobPlan(const JobPlan&) = delete;
  JobPlan(JobPlan&&) = default;

  /// Returns whether the question gives the job's length.
  bool has_length() const { return question_.total_steps.has_value(); }

  /// Reads prices and, if the job's length was given, grids. BadInput and kUsage name what is
  /// wrong.
  Status Load(const DeviceCatalog& devices);

  /// Those of the list that have several GPUs: what a step takes there is to be predicted first.
  const std::vector<PlannedMachine>& machines() const { return machines_; }

  /// Fills in the money per million samples of the targets, and, if the job's length was given,
  /// their hours, money and CO2, and all options. Only options that the job fits count, and that
  /// take no more time and money than asked for; each is as many instances as have all GPUs of the
  /// job (InstancesFor()), or one whose GPUs share the steps of a job of one. REQUIRES: Load().
  void Make(PredictReport& report) const;

 private:
  Status LoadCarbon();
  /// Of the chosen provider.
  Status LoadPrices(const DeviceCatalog& devices);
  Status FindMachines();
  void AddMoneyPerSample(PredictedTarget& target) const;
  /// BadInput, with the line of the list.
  Status Refuse(const InstancePrice& price, std::string_view why) const;
  /// Where an instance stands.
  struct Place {
    const GridRegion* grid = nullptr;  ///< Not null.
    double pue = 1;
    std::string text = {};  ///< Both in words.
  };
  Place PlaceOf(const InstancePrice& price) const;
  /// Of one workload, whose targets begin and end there.
  void AddOptions(std::size_t begin, std::size_t end, PredictReport& report) const;
  /// How a job runs on an instance; nullopt: it does not, or takes too much time or money, which
  /// the report counts.
  std::optional<PlannedOption> OptionOn(std::size_t price, const PredictedTarget& target,
                                        PredictReport& report) const;
  /// The same.
  void AddEquivalents(std::size_t begin, std::size_t end, PredictReport& report) const;

  JobPlanQuestion question_;
  CarbonData carbon_;
  const GridRegion* grid_ = nullptr;
  double pue_value_ = 1;
  std::vector<InstancePrice> prices_;
  std::vector<std::string> gpu_of_price_;  ///< Short names.
  std::string prices_from_;
  std::vector<PlannedMachine> machines_;
};

}  // namespace headroom
