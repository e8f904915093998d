// For tests: the shipped devices and constants.
#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "analysis/test_trace.h"
#include "predict/device_rates.h"
#include "predict/kernel_constants.h"

namespace headroom {

inline const KernelConstants& ShippedConstants() {
  static const KernelConstants constants = [] {
    Result<KernelConstants> built_in = KernelConstants::LoadBuiltIn();
    EXPECT_TRUE(built_in.ok()) << built_in.status().message();
    return std::move(built_in).value();
  }();
  return constants;
}

/// REQUIRES: a GPU of the catalogue.
inline DeviceRates RatesOfGpu(std::string_view name) {
  const DeviceCatalog& catalog = TestReferenceData().devices();
  const DeviceSpec* device = catalog.Find(name);
  EXPECT_NE(device, nullptr) << name;
  Result<DeviceRates> rates = RatesOf(*device, catalog, ShippedConstants());
  EXPECT_TRUE(rates.ok()) << rates.status().message();
  return std::move(rates).value();
}

}  // namespace headroom
