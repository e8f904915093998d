// `headroom predict`: what a step takes on another GPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/knowledge.h"
#include "cli/open_job.h"
#include "cli/subcommand.h"
#include "predict/carbon.h"
#include "predict/deployment.h"
#include "predict/device_rates.h"
#include "predict/kernel_constants.h"
#include "report/predict_report.h"

namespace headroom::cli {

class PredictCommand : public Subcommand {
 public:
  explicit PredictCommand(CLI::App& parent);

  const CLI::App& app() const override { return *app_; }
  Status Run() override;

 private:
  Status CheckFlags() const;
  Status LoadKnowledge();
  /// Without the user's own.
  const DeviceCatalog& ShippedDevices() const;
  /// A device by a name that the user wrote; fails (kUsage) with near names.
  Result<DeviceRates> RatesNamed(const std::string& name) const;
  Status PredictTable() const;
  Status PredictLists(PredictReport& report) const;
  Status PredictTrace(const std::string& trace, PredictReport& report) const;
  /// The GPUs that were asked for, or all of which enough is known.
  Result<std::vector<DeviceRates>> Targets() const;
  /// The GPU of a trace; fails (kNoAnswer) where it does not tell.
  Result<DeviceRates> SourceOf(const std::string& trace, const Job& job) const;
  Status LoadCarbon();
  /// Of the chosen provider; says in the report where they come from.
  Status LoadPrices(PredictReport& report, std::vector<InstancePrice>& prices) const;
  /// With what the step's own range adds to the model's.
  std::optional<StepEnergy> EnergyOf(const StepActivity& activity, const PredictedMs& step,
                                     const DeviceRates& rates) const;
  std::optional<double> Co2AtInstance(const PredictedTarget& target,
                                      const InstancePrice& price) const;
  /// Hours, money and CO2 of the whole job, where its length was given.
  Status PlanJob(PredictReport& report);
  std::string WhyExtrapolated(const DeviceRates& rates) const;

  CLI::App* app_;
  std::vector<std::string> traces_, gpus_, gpu_files_;
  std::string operators_path_, table_path_, from_, to_, constants_path_, output_path_;
  std::string prices_path_, provider_, region_, pue_, carbon_path_;
  std::optional<std::int64_t> total_steps_;
  double host_factor_ = 1;
  bool json_ = false;
  JobOptions options_;

  std::vector<std::string> gpu_texts_;  ///< Of the user's device files.
  std::string constants_text_;
  std::unique_ptr<Knowledge> knowledge_;
  std::unique_ptr<Knowledge> shipped_;  ///< Without the user's devices; null: there are none.
  KernelConstants constants_;
  CarbonData carbon_;
  const GridRegion* grid_ = nullptr;
  double pue_value_ = 1;
};

}  // namespace headroom::cli
