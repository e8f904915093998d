// Data on the GPUs that a prediction can target: data sheets, constants of the models, and
// measurements.
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
  /// Loads data sheets and constants. Fails if either is invalid. Requires that all files outlive
  /// the result.
  ///
  /// @param device_files  data sheets in addition to the built-in ones
  /// @param constants     constants of the kernel models; nullopt for the built-in ones
  static Result<GpuModels> Load(std::span<const NamedText> device_files,
                                const std::optional<NamedText>& constants);

  /// Adds a table of operators measured on GPUs (headroom calibrate --gpu). Fails and names the
  /// file and the fault.
  Status AddCalibration(const std::string& path);

  const DeviceCatalog& devices() const { return reference_->devices(); }
  const KernelConstants& constants() const { return constants_; }

  /// Returns the rates of the device that a user names. Fails with kUsage, and lists similar names,
  /// if no device has that name.
  Result<DeviceRates> RatesNamed(const std::string& name) const;
  /// Returns the rates with the correction from measurements. If a user's file lacks a figure that
  /// predictions require, fails with kBadInput and names the file and the line. If a built-in file
  /// lacks one, fails with kUsage.
  Result<DeviceRates> RatesOfDevice(const DeviceSpec& device) const;
  /// Returns the rates of each named device once, even if several names mean the same device.
  Result<std::vector<DeviceRates>> AllNamed(std::span<const std::string> names) const;
  /// Returns the rates of all devices with complete figures.
  ///
  /// @param left_out  list to which the reasons for the other devices are added; can be nullptr
  std::vector<DeviceRates> All(std::vector<std::string>* left_out) const;

  /// Returns the names of the GPUs that a calibration covers but no prediction uses, separated by
  /// ", ".
  std::string UnusedCalibrations(std::span<const DeviceRates> used) const;
  /// Returns why a prediction for a GPU is extrapolated; otherwise an empty string.
  ///
  /// @param vector_share  share of the time in products and convolutions on vector units, 0 to 1
  std::string WhyExtrapolated(const DeviceRates& rates, double vector_share = 1) const;

 private:
  std::unique_ptr<ReferenceData> reference_;
  /// Reference data without the user's devices; null if the user gave none.
  std::unique_ptr<ReferenceData> shipped_;
  /// Places of the user's devices in files, by short name.
  std::map<std::string, std::string, std::less<>> places_;
  KernelConstants constants_;
  /// Corrections from measurements, by short name of the GPU.
  std::map<std::string, std::shared_ptr<const LocalCorrection>, std::less<>> corrections_;
};

}  // namespace headroom
