// All that is known of the GPUs that a prediction can be for: data sheets, constants of the models,
// and what was measured on them.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/names/reference_data.h"
#include "base/named_text.h"
#include "base/status.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"

namespace headroom {

class GpuModels {
 public:
  /// @param device_files  further data sheets, beside the built-in ones
  /// @param constants     of the kernel models; nullopt: the built-in ones
  /// Both outlive it. Fails as reading them does.
  static Result<GpuModels> Load(std::span<const NamedText> device_files,
                                const std::optional<NamedText>& constants);

  /// Takes in a table of operators that were measured on GPUs (headroom calibrate --gpu). Fails
  /// with the file and what is wrong with it.
  Status AddCalibration(const std::string& path);

  const DeviceCatalog& devices() const { return reference_->devices(); }
  const KernelConstants& constants() const { return constants_; }

  /// Of a device by a name that the user wrote; fails (kUsage) with near names.
  Result<DeviceRates> RatesNamed(const std::string& name) const;
  /// With what was measured on it. Fails (kBadInput, with file and line) where a file of the user's
  /// lacks what predictions take, and (kUsage) where a built-in one does.
  Result<DeviceRates> RatesOfDevice(const DeviceSpec& device) const;
  /// Of each name, each device once: one has many names.
  Result<std::vector<DeviceRates>> AllNamed(std::span<const std::string> names) const;
  /// All of which enough is known.
  ///
  /// @param left_out  takes in why others are left out; nullptr: not asked for
  std::vector<DeviceRates> All(std::vector<std::string>* left_out) const;

  /// GPUs of which a calibration says something, but that have no part in a prediction.
  std::string UnusedCalibrations(std::span<const DeviceRates> used) const;
  /// Why a prediction for it is extrapolated; empty: it is not.
  std::string WhyExtrapolated(const DeviceRates& rates) const;

 private:
  std::unique_ptr<ReferenceData> reference_;
  std::unique_ptr<ReferenceData> shipped_;  ///< Without the user's devices; null: there are none.
  std::map<std::string, std::string, std::less<>> places_;  ///< Of the user's, by short name.
  KernelConstants constants_;
  /// What was measured, by short name of the GPU.
  std::map<std::string, std::shared_ptr<const LocalCorrection>, std::less<>> corrections_;
};

}  // namespace headroom
