#include "predict/deployment.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "cost/toml_row.h"
#include "embedded/price_files.h"

namespace headroom {

Result<std::vector<InstancePrice>> ReadPrices(const NamedText& file, std::string_view latest) {
  constexpr double kMaxAnHour = 1e5;
  const Result<toml::table> root = ParseToml(file);
  if (!root.ok()) return root.status();
  TomlRow top(file, root.value(), "the file");
  top.Known({"instance"});
  if (!top.status().ok()) return top.status();
  std::vector<InstancePrice> prices;
  std::set<std::array<std::string, 3>> listed;
  const Status status = ForEachRow(file, root.value(), "instance", [&](TomlRow& row) {
    prices.push_back({.provider = row.Text("provider"),
                      .instance = row.Text("instance"),
                      .region = row.Text("region"),
                      .gpu = row.Text("gpu"),
                      .cluster = row.OptionalText("cluster"),
                      .gpus = row.Count("gpus"),
                      .price_per_hour = row.Number("price_per_hour", 0, kMaxAnHour),
                      .currency = row.Currency("currency"),
                      .date = row.Date("date"),
                      .source = row.Text("source"),
                      .line = row.line()});
    row.Known({"provider", "instance", "region", "gpu", "cluster", "gpus", "price_per_hour",
               "currency", "date", "source"});
    const InstancePrice& price = prices.back();
    // Compares dates as strings. A month without a day sorts before each of its days, so it counts
    // as its first day.
    if (!latest.empty() && price.date > latest)
      row.Fail("date", "must not be in the future; write when the price was listed");
    if (!listed.insert({price.provider, price.region, price.instance}).second)
      row.Fail("instance", "is already listed in the same region; remove one of the two");
    return row.status();
  });
  if (!status.ok()) return status;
  return prices;
}

Result<std::vector<InstancePrice>> LoadSamplePrices() { return ReadPrices(PriceFiles().front()); }

std::int64_t InstancesFor(std::int64_t gpus, std::int64_t gpus_of_each) {
  return (gpus + gpus_of_each - 1) / gpus_of_each;
}

void MarkBest(std::vector<DeploymentOption>& options) {
  const auto comparable = [](const DeploymentOption& a, const DeploymentOption& b) {
    return a.instance.currency == b.instance.currency;
  };
  for (DeploymentOption& option : options) {
    option.cheapest = option.fastest = option.pareto = true;
    for (const DeploymentOption& other : options) {
      if (!comparable(option, other)) continue;
      if (other.money < option.money) option.cheapest = false;
      if (other.hours < option.hours) option.fastest = false;
      const bool no_worse = other.money <= option.money && other.hours <= option.hours;
      const bool better = other.money < option.money || other.hours < option.hours;
      if (no_worse && better) option.pareto = false;
    }
    // Breaks ties: the cheapest of the fastest, and the fastest of the cheapest.
    option.cheapest = option.cheapest && option.pareto;
    option.fastest = option.fastest && option.pareto;
  }
}

}  // namespace headroom
