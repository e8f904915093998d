// Which GPUs a prediction is for, and all that is known of them: data sheets, constants of the
// models, and what was measured on them.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/knowledge.h"
#include "base/named_text.h"
#include "base/status.h"
#include "predict/device_rates.h"
#include "predict/kernel_constants.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that the library has.
class App;
}

namespace headroom::cli {

class GpuChoice {
 public:
  /// --gpu, --gpu-file, --gpu-calibration and --constants.
  void AddFlags(CLI::App& app);
  /// Files that the flags name, none of which may be written over.
  std::vector<std::string> Inputs() const;
  bool is_given() const { return !gpus_.empty(); }

  /// Reads what the flags name. Before it, nothing below may be asked.
  Status Load();
  const DeviceCatalog& devices() const { return knowledge_->devices(); }
  const KernelConstants& constants() const { return constants_; }
  /// The user's device files.
  const std::vector<NamedText>& device_files() const { return device_files_; }

  /// Of a device by a name that the user wrote; fails (kUsage) with near names.
  Result<DeviceRates> RatesNamed(const std::string& name) const;
  /// With what was measured on it.
  Result<DeviceRates> RatesOfDevice(const DeviceSpec& device) const;
  /// The GPUs that were asked for, each once, or all of which enough is known.
  ///
  /// @param quiet  does not remark on those that are left out
  Result<std::vector<DeviceRates>> Chosen(bool quiet) const;
  /// GPUs of which --gpu-calibration says something, but that have no part in a prediction.
  std::string UnusedCalibrations(std::span<const DeviceRates> used) const;
  /// Why a prediction for it is extrapolated; empty: it is not.
  std::string WhyExtrapolated(const DeviceRates& rates) const;

 private:
  Status LoadDevices();
  Status LoadConstants();
  Status LoadCalibration(const std::string& path);

  std::vector<std::string> gpus_, gpu_files_, calibration_paths_;
  std::string constants_path_;

  std::vector<std::string> gpu_texts_;  ///< Of the user's device files.
  std::vector<NamedText> device_files_;
  std::string constants_text_;
  std::unique_ptr<Knowledge> knowledge_;
  std::unique_ptr<Knowledge> shipped_;  ///< Without the user's devices; null: there are none.
  KernelConstants constants_;
  /// What was measured, by short name of the GPU.
  std::map<std::string, std::shared_ptr<const LocalCorrection>, std::less<>> corrections_;
};

}  // namespace headroom::cli
