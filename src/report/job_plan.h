// What a whole job takes where: hours, money and CO2 of each target of a prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cost/device_spec.h"
#include "predict/carbon.h"
#include "predict/deployment.h"
#include "report/predict_report.h"

namespace headroom {

inline constexpr std::int64_t kMostTotalSteps = 1'000'000'000'000;

/// What is asked of a whole job, as the flags of the same names of `headroom predict` say it; what
/// is empty was not given.
struct JobPlanQuestion {
  std::optional<std::int64_t> total_steps = {};
  std::string prices_path = {}, provider = {}, region = {}, pue = {}, carbon_path = {};

  /// Fails (kUsage) where something is said of a whole job whose length is not given.
  Status Check() const;
};

class JobPlan {
 public:
  explicit JobPlan(JobPlanQuestion question) : question_(std::move(question)) {}

  /// Fills in hours, money and CO2 of the targets, and all options; nothing where the job's length
  /// was not given. Only options that the job fits count; each is as many instances as have all
  /// GPUs of the job (InstancesFor()).
  Status Make(const DeviceCatalog& devices, PredictReport& report);

 private:
  Status LoadCarbon();
  /// Of the chosen provider; says in the report where they come from.
  Status LoadPrices(const DeviceCatalog& devices, PredictReport& report);
  /// Where an instance stands.
  struct Place {
    const GridRegion* grid = nullptr;  ///< Not null.
    double pue = 1;
    std::string text = {};  ///< Both in words.
  };
  Place PlaceOf(const InstancePrice& price) const;
  /// Of one workload, whose targets begin and end there.
  void AddOptions(const DeviceCatalog& devices, std::size_t begin, std::size_t end,
                  PredictReport& report) const;
  /// The same.
  void AddEquivalents(std::size_t begin, std::size_t end, PredictReport& report) const;

  const JobPlanQuestion question_;
  CarbonData carbon_;
  const GridRegion* grid_ = nullptr;
  double pue_value_ = 1;
  std::vector<InstancePrice> prices_;
};

}  // namespace headroom
