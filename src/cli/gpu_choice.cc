#include "cli/gpu_choice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "cli/output.h"
#include "cost/device_spec.h"
#include "predict/gpu_calibration.h"

namespace headroom::cli {

void GpuChoice::AddFlags(CLI::App& app) {
  app.add_option("--gpu", gpus_, "GPUs to predict for [all with a device file]")
      ->type_name("NAME,...")
      ->delimiter(',');
  app.add_option("--gpu-file", gpu_files_, "Further device files, as data/devices/*.toml")
      ->type_name("FILE");
  app.add_option("--gpu-calibration", calibration_paths_,
                 "Operators measured on GPUs to predict for (headroom calibrate --gpu)")
      ->type_name("FILE");
  app.add_option("--constants", constants_path_,
                 "Constants of the kernel models instead of the built-in ones")
      ->type_name("FILE");
}

std::vector<std::string> GpuChoice::Inputs() const {
  std::vector<std::string> paths = gpu_files_;
  paths.insert(paths.end(), calibration_paths_.begin(), calibration_paths_.end());
  if (!constants_path_.empty()) paths.push_back(constants_path_);
  return paths;
}

Status GpuChoice::Load() {
  if (Status status = LoadDevices(); !status.ok()) return status;
  if (Status status = LoadConstants(); !status.ok()) return status;
  for (const std::string& path : calibration_paths_) {
    if (Status status = LoadCalibration(path); !status.ok()) return status;
  }
  return Status::Ok();
}

Status GpuChoice::LoadDevices() {
  gpu_texts_.reserve(gpu_files_.size());  // Names and texts are viewed.
  for (const std::string& path : gpu_files_) {
    Result<std::string> text = ReadRequiredFile("--gpu-file", path);
    if (!text.ok()) return text.status();
    gpu_texts_.push_back(std::move(text).value());
    device_files_.push_back({path, gpu_texts_.back()});
  }
  Result<std::unique_ptr<Knowledge>> knowledge = Knowledge::LoadBuiltIn(device_files_);
  if (!knowledge.ok()) return knowledge.status();
  knowledge_ = std::move(knowledge).value();
  if (device_files_.empty()) return Status::Ok();
  // What the user adds says nothing of what other cards sustain.
  Result<std::unique_ptr<Knowledge>> shipped = Knowledge::LoadBuiltIn();
  if (!shipped.ok()) return shipped.status();
  shipped_ = std::move(shipped).value();
  return Status::Ok();
}

Status GpuChoice::LoadConstants() {
  if (!constants_path_.empty()) {
    Result<std::string> text = ReadRequiredFile("--constants", constants_path_);
    if (!text.ok()) return text.status();
    constants_text_ = std::move(text).value();
  }
  Result<KernelConstants> constants =
      constants_path_.empty() ? KernelConstants::LoadBuiltIn()
                              : KernelConstants::Parse({constants_path_, constants_text_});
  if (!constants.ok()) return constants.status();
  constants_ = std::move(constants).value();
  return Status::Ok();
}

Status GpuChoice::LoadCalibration(const std::string& path) {
  const Result<CsvTable> table = ReadCsv(path);
  if (!table.ok()) return table.status();
  const Result<std::vector<std::string>> names = DevicesOf(table.value());
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    const DeviceSpec* device = devices().Find(name);
    if (device == nullptr) {
      return Status::BadInput(
          fmt::format("{}: its device '{}' is not known; add its data sheet with --gpu-file FILE "
                      "(docs/devices.md)",
                      path, name));
    }
    if (corrections_.contains(device->short_name)) {
      return Status::Usage(fmt::format(
          "--gpu-calibration {}: {} is calibrated twice; give one table of it, under one name",
          path, device->short_name));
    }
    const Result<DeviceRates> rates = RatesOfDevice(*device);
    if (!rates.ok()) return Status::BadInput(fmt::format("{}: {}", path, rates.status().message()));
    Result<std::shared_ptr<const LocalCorrection>> correction =
        ReadCorrection(table.value(), name, rates.value(), constants_);
    if (!correction.ok()) return correction.status();
    corrections_.emplace(device->short_name, std::move(correction).value());
  }
  return Status::Ok();
}

Result<DeviceRates> GpuChoice::RatesNamed(const std::string& name) const {
  const DeviceSpec* device = devices().Find(name);
  if (device == nullptr) {
    std::vector<std::string_view> names;
    for (const DeviceSpec& known : devices().devices()) names.push_back(known.short_name);
    return Status::Usage(fmt::format(
        "no GPU '{}' is known; near names: {}. A GPU is added by a file of its data sheet: "
        "--gpu-file FILE (docs/devices.md)",
        name, fmt::join(NearNames(name, std::move(names)), ", ")));
  }
  return RatesOfDevice(*device);
}

Result<DeviceRates> GpuChoice::RatesOfDevice(const DeviceSpec& device) const {
  Result<DeviceRates> rates =
      RatesOf(device, shipped_ ? shipped_->devices() : devices(), constants_);
  if (!rates.ok()) return rates;
  const auto measured = corrections_.find(device.short_name);
  if (measured != corrections_.end()) rates.value().correction = measured->second;
  return rates;
}

Result<std::vector<DeviceRates>> GpuChoice::Chosen(bool quiet) const {
  std::vector<DeviceRates> chosen;
  for (const std::string& name : gpus_) {
    Result<DeviceRates> found = RatesNamed(name);
    if (!found.ok()) return found.status();
    // One GPU has many names.
    const auto same = [&](const DeviceRates& other) {
      return other.device == found.value().device;
    };
    if (std::none_of(chosen.begin(), chosen.end(), same))
      chosen.push_back(std::move(found).value());
  }
  if (!gpus_.empty()) return chosen;
  for (const DeviceSpec& device : devices().devices()) {
    Result<DeviceRates> found = RatesOfDevice(device);
    if (found.ok()) {
      chosen.push_back(std::move(found).value());
    } else if (!quiet) {
      Remark(fmt::format("left out: {}\n", found.status().message()));
    }
  }
  return chosen;
}

std::string GpuChoice::UnusedCalibrations(std::span<const DeviceRates> used) const {
  std::string unused;
  for (const auto& [name, correction] : corrections_) {
    const auto& measured = correction;
    const bool is_used = std::any_of(used.begin(), used.end(), [&](const DeviceRates& rates) {
      return rates.correction == measured;
    });
    if (!is_used) unused += (unused.empty() ? "" : ", ") + name;
  }
  return unused;
}

std::string GpuChoice::WhyExtrapolated(const DeviceRates& rates) const {
  std::string why;
  if (!constants_.Validated(rates.device->architecture)) {
    why = fmt::format("no GPU of the {} architecture had a part in the models",
                      rates.device->architecture);
  }
  if (!rates.guessed.empty()) {
    why += fmt::format("{}its device file does not give {}: a usual value stands in",
                       why.empty() ? "" : "; ", rates.guessed);
  }
  return why;
}

}  // namespace headroom::cli
