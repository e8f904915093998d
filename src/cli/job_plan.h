// What a whole job takes where: hours, money and CO2 of each target of a prediction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cost/device_spec.h"
#include "predict/carbon.h"
#include "predict/deployment.h"
#include "report/predict_report.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
}

namespace headroom::cli {

class JobPlan {
 public:
  /// --total-steps, --prices, --provider, --region, --pue and --carbon.
  void AddFlags(CLI::App& app);
  /// Refuses flags that say something of a whole job whose length is not given.
  Status CheckFlags() const;
  std::vector<std::string> Inputs() const;
  bool is_asked() const { return total_steps_.has_value(); }

  /// Fills in hours, money and CO2 of the targets, and all options; nothing where the job's length
  /// was not given. Only options that the job fits count, and none of several GPUs.
  Status Make(const DeviceCatalog& devices, PredictReport& report);

 private:
  Status LoadCarbon();
  /// Of the chosen provider; says in the report where they come from.
  Status LoadPrices(const DeviceCatalog& devices, PredictReport& report);
  std::optional<double> Co2AtInstance(const PredictedTarget& target,
                                      const InstancePrice& price) const;
  /// Of one workload, whose targets begin and end there.
  void AddOptions(const DeviceCatalog& devices, std::size_t begin, std::size_t end,
                  PredictReport& report) const;
  void AddEquivalents(PredictReport& report) const;

  std::optional<std::int64_t> total_steps_;
  std::string prices_path_, provider_, region_, pue_, carbon_path_;
  CarbonData carbon_;
  const GridRegion* grid_ = nullptr;
  double pue_value_ = 1;
  std::vector<InstancePrice> prices_;
};

}  // namespace headroom::cli
