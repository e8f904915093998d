#include "predict/gpu_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cost/device_spec.h"
#include "cost/toml_row.h"
#include "predict/gpu_calibration.h"

namespace headroom {

Result<GpuModels> GpuModels::Load(std::span<const NamedText> device_files,
                                  const std::optional<NamedText>& constants) {
  GpuModels models;
  Result<std::unique_ptr<ReferenceData>> reference = ReferenceData::LoadBuiltIn(device_files);
  if (!reference.ok()) return reference.status();
  models.reference_ = std::move(reference).value();
  if (!device_files.empty()) {
    // A user's devices do not contribute to the sustained rates of other cards.
    Result<std::unique_ptr<ReferenceData>> shipped = ReferenceData::LoadBuiltIn();
    if (!shipped.ok()) return shipped.status();
    models.shipped_ = std::move(shipped).value();
  }
  for (const NamedText& file : device_files) {
    // LoadBuiltIn() has already read this file without an error.
    const Result<DeviceCatalog> alone = DeviceCatalog::Load(std::span(&file, 1));
    const Result<toml::table> root = ParseToml(file);
    if (!alone.ok() || !root.ok()) continue;
    const toml::node* const figures = root.value().get("figures");
    models.places_[alone.value().devices().front().short_name] =
        fmt::format("device file {}, line {}", file.name,
                    figures != nullptr ? figures->source().begin.line : 1);
  }
  Result<KernelConstants> read =
      constants ? KernelConstants::Parse(*constants) : KernelConstants::LoadBuiltIn();
  if (!read.ok()) return read.status();
  models.constants_ = std::move(read).value();
  return models;
}

Status GpuModels::AddCalibration(const std::string& path) {
  const Result<CsvTable> table = ReadCsv(path);
  if (!table.ok()) return table.status();
  const Result<std::vector<std::string>> names = DevicesOf(table.value());
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    const DeviceSpec* device = devices().Find(name);
    if (device == nullptr) {
      return Status::BadInput(
          fmt::format("{}: device '{}' is unknown; add its data sheet with --gpu-file FILE "
                      "(docs/devices.md)",
                      path, name));
    }
    if (corrections_.contains(device->short_name)) {
      return Status::Usage(fmt::format(
          "--gpu-calibration {}: {} is calibrated twice; give one table per GPU, under one name",
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

Result<DeviceRates> GpuModels::RatesNamed(const std::string& name) const {
  const DeviceSpec* device = devices().Find(name);
  if (device == nullptr) {
    std::vector<std::string_view> names;
    for (const DeviceSpec& known : devices().devices()) names.push_back(known.short_name);
    const std::vector<std::string_view> near = NearNames(name, names);
    return Status::Usage(
        fmt::format("unknown GPU '{}'; {}: {}. Add the data sheet of another GPU with "
                    "--gpu-file FILE (docs/devices.md)",
                    name, near.empty() ? "known GPUs" : "similar names",
                    fmt::join(near.empty() ? names : near, ", ")));
  }
  return RatesOfDevice(*device);
}

Result<DeviceRates> GpuModels::RatesOfDevice(const DeviceSpec& device) const {
  Result<DeviceRates> rates =
      RatesOf(device, shipped_ ? shipped_->devices() : devices(), constants_);
  if (const auto place = places_.find(device.short_name); !rates.ok() && place != places_.end())
    return Status::BadInput(fmt::format("{}: {}", place->second, rates.status().message()));
  if (!rates.ok()) return rates;
  const auto measured = corrections_.find(device.short_name);
  if (measured != corrections_.end()) rates.value().correction = measured->second;
  return rates;
}

Result<std::vector<DeviceRates>> GpuModels::AllNamed(std::span<const std::string> names) const {
  std::vector<DeviceRates> chosen;
  for (const std::string& name : names) {
    Result<DeviceRates> found = RatesNamed(name);
    if (!found.ok()) return found.status();
    const auto same = [&](const DeviceRates& other) {
      return other.device == found.value().device;
    };
    if (std::none_of(chosen.begin(), chosen.end(), same))
      chosen.push_back(std::move(found).value());
  }
  return chosen;
}

std::vector<DeviceRates> GpuModels::All(std::vector<std::string>* left_out) const {
  std::vector<DeviceRates> all;
  for (const DeviceSpec& device : devices().devices()) {
    Result<DeviceRates> found = RatesOfDevice(device);
    if (found.ok()) {
      all.push_back(std::move(found).value());
    } else if (left_out != nullptr) {
      left_out->push_back(found.status().message());
    }
  }
  return all;
}

std::string GpuModels::UnusedCalibrations(std::span<const DeviceRates> used) const {
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

std::string GpuModels::WhyExtrapolated(const DeviceRates& rates, double vector_share) const {
  std::string why;
  if (!constants_.Validated(rates.device->architecture, vector_share)) {
    why = fmt::format("the models were fitted without a GPU of the {} architecture",
                      rates.device->architecture);
  }
  if (!rates.guessed.empty()) {
    why += fmt::format("{}its device file lacks {}: {}", why.empty() ? "" : "; ", rates.guessed,
                       rates.device->tdp_w ? "typical values are assumed"
                                           : "enough power for its clock is assumed, and typical "
                                             "values for other missing figures");
  }
  return why;
}

}  // namespace headroom
