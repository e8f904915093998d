// Instances that can run a job, with their prices, and the best of them.
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
  std::string gpu;  ///< Name in the device catalogue.
  /// Name of a cluster with the same links between GPUs (headroom scale --list); empty if unknown.
  std::string cluster;
  std::int64_t gpus = 1;
  double price_per_hour = 0;  ///< Price of the whole instance; at least 0.
  std::string currency;       ///< Three capitals: "USD".
  std::string date;           ///< Listing date: "2024-05" or "2024-05-31".
  std::string source;
  std::int64_t line = 0;  ///< Line of the file on which the entry begins.
};

/// Reads a list of prices. Fails with kBadInput, and names file and line, for prices without a
/// date, negative prices, unknown keys, and instances listed twice.
///
/// @param latest  latest allowed listing date, such as "2024-05-31"; empty for no limit
Result<std::vector<InstancePrice>> ReadPrices(const NamedText& file, std::string_view latest = {});

/// Loads the built-in sample. A failure is a defect of the build.
Result<std::vector<InstancePrice>> LoadSamplePrices();

/// Duration and cost of a whole job on one kind of instance.
struct DeploymentOption {
  InstancePrice instance;
  std::int64_t instances = 1;  ///< Number of instances that together have enough GPUs.
  /// The recorded job has one GPU, and the forecast uses all GPUs of the instance.
  bool scaled_out = false;
  double hours = 0, money = 0;  ///< Money is for all instances.
  bool cheapest = false, fastest = false;
  /// False if another option is cheaper or faster, and neither slower nor more expensive.
  bool pareto = false;
};

/// Returns the number of instances for a job with this many GPUs.
std::int64_t InstancesFor(std::int64_t gpus, std::int64_t gpus_of_each);

/// Marks the best options of each currency, because amounts in different currencies are not
/// comparable.
void MarkBest(std::vector<DeploymentOption>& options);

}  // namespace headroom
