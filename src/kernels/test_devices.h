// Shipped devices and constants for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cost/device_spec.h"
#include "cost/test_files.h"
#include "kernels/device_rates.h"
#include "kernels/kernel_constants.h"

namespace headroom {

inline const KernelConstants& ShippedConstants() {
  static const KernelConstants constants = [] {
    Result<KernelConstants> built_in = KernelConstants::LoadBuiltIn();
    EXPECT_TRUE(built_in.ok()) << built_in.status().message();
    return std::move(built_in).value();
  }();
  return constants;
}

/// Returns the shipped devices plus those in the file `more`.
inline DeviceCatalog DevicesWith(const std::optional<NamedText>& more) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& file : std::filesystem::directory_iterator(SourceDir() / "data/devices"))
    texts.emplace_back(file.path().filename().string(), ReadWholeFile(file.path()));
  std::vector<NamedText> files;
  files.reserve(texts.size() + 1);
  for (const auto& [name, text] : texts) files.push_back({name, text});
  if (more) files.push_back(*more);
  Result<DeviceCatalog> loaded = DeviceCatalog::Load(files);
  EXPECT_TRUE(loaded.ok()) << loaded.status().message();
  return std::move(loaded).value();
}

inline const DeviceCatalog& ShippedDevices() {
  static const DeviceCatalog catalog = DevicesWith(std::nullopt);
  return catalog;
}

/// Requires a GPU of the catalogue.
inline DeviceRates RatesOfGpu(std::string_view name) {
  const DeviceCatalog& catalog = ShippedDevices();
  const DeviceSpec* device = catalog.Find(name);
  EXPECT_NE(device, nullptr) << name;
  Result<DeviceRates> rates = RatesOf(*device, catalog, ShippedConstants());
  EXPECT_TRUE(rates.ok()) << rates.status().message();
  return std::move(rates).value();
}

}  // namespace headroom
