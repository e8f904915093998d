// Where a job could run and what it costs there: instances with prices, and what is best.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/named_text.h"
#include "base/status.h"

namespace headroom {

/// An instance as its provider lists it.
struct InstancePrice {
  std::string provider, instance, region;
  std::string gpu;      ///< A name of the catalogue's.
  std::string cluster;  ///< What connects several; empty: not told.
  std::int64_t gpus = 1;
  double price_per_hour = 0;  ///< 0 or more, of the whole instance.
  std::string currency;       ///< Three capitals: "USD".
  std::string date;           ///< When it was listed: "2024-05" or "2024-05-31".
  std::string source;
  std::int64_t line = 0;  ///< Of the file, where it begins.
};

/// Reads a list of prices. BadInput names file and line: prices without a date, negative ones,
/// unknown keys, an instance that is listed twice.
///
/// @param latest  no price is listed later, "2024-05-31"; empty: that is not asked
Result<std::vector<InstancePrice>> ReadPrices(const NamedText& file, std::string_view latest = {});

/// The sample built into the program; a failure is a defect of the build.
Result<std::vector<InstancePrice>> LoadSamplePrices();

/// A whole job on an instance.
struct DeploymentOption {
  InstancePrice instance;
  std::int64_t instances = 1;   ///< As many as have all its GPUs.
  bool scaled_out = false;      ///< The job has one GPU, and is to use all of the instance's.
  double hours = 0, money = 0;  ///< Money is of all of them.
  bool cheapest = false, fastest = false;
  bool pareto = false;  ///< No other option is both cheaper and faster.
};

/// How many instances hold a job of so many GPUs.
std::int64_t InstancesFor(std::int64_t gpus, std::int64_t gpus_of_each);

/// Marks the best options, currency by currency: money in different ones cannot be compared.
void MarkBest(std::vector<DeploymentOption>& options);

}  // namespace headroom
