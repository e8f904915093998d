#include "answers/predict/job_plan.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/read_file.h"
#include "base/text.h"
#include "network/topology.h"
#include "render/number_format.h"

namespace headroom {
namespace {

/// The GPU whose CO2 is compared with everyday things.
struct ShownGpu {
  const PredictedTarget* target = nullptr;  ///< Null if no GPU's CO2 is known.
  std::string why;
};

/// Chooses the recorded GPU, else the cheapest if all prices have one currency, else the fastest.
/// Considers only GPUs that the job fits or may fit.
ShownGpu ChooseShown(std::span<const PredictedTarget> targets, const PredictReport& report) {
  const PredictedTarget *cheapest = nullptr, *fastest = nullptr;
  bool comparable = true;
  const std::size_t group = targets.front().group;
  for (const PredictedTarget& target : targets) {
    if (!target.co2_kg || target.fits == false) continue;
    if (group < report.baselines.size() && report.baselines[group].gpu == target.gpu)
      return {&target, "as recorded"};
    if (target.money) {
      comparable = comparable && (cheapest == nullptr || cheapest->currency == target.currency);
      if (cheapest == nullptr || *target.money < *cheapest->money) cheapest = &target;
    }
    if (fastest == nullptr || target.step.mid < fastest->step.mid) fastest = &target;
  }
  const bool by_money = cheapest != nullptr && comparable;
  const PredictedTarget* shown = by_money ? cheapest : fastest;
  if (shown == nullptr) return {};
  return {shown, fmt::format("the {}{}", by_money ? "cheapest" : "fastest",
                             shown->fits == true ? " that fits" : "")};
}

constexpr double kGramsPerKg = 1e3, kMsPerHour = 3.6e6;

/// Returns tomorrow's date in UTC, such as "2024-05-31". A listing from a time zone ahead of UTC
/// may have this date already.
std::string Tomorrow() {
  const auto now = std::chrono::system_clock::now() + std::chrono::days(1);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

/// Returns the name of a machine in a cluster file: "azure-nd96asr-v4" for "azure",
/// "Standard_ND96asr_v4".
std::string ClusterNameOf(const InstancePrice& price) {
  constexpr std::string_view kOfAzure = "standard-";
  std::string instance = LowerCase(price.instance);
  std::replace_if(
      instance.begin(), instance.end(), [](char c) { return c == ' ' || c == '_'; }, '-');
  if (instance.starts_with(kOfAzure)) instance.erase(0, kOfAzure.size());
  return LowerCase(price.provider) + "-" + instance;
}

}  // namespace

Status JobPlanQuestion::Check() const {
  const bool of_a_job =
      !region.empty() || !pue.empty() || !carbon_path.empty() || max_hours || max_money;
  for (const auto& [flag, limit] :
       {std::pair("--max-hours", max_hours), std::pair("--max-money", max_money)}) {
    if (limit && !(*limit > 0 && std::isfinite(*limit)))
      return Status::Usage(fmt::format("{} {}: must be a number above 0", flag, *limit));
  }
  if (!of_a_job || total_steps) return Status::Ok();
  return Status::Usage(
      "--max-hours, --max-money, --region, --pue and --carbon describe a whole job: give its "
      "length with --total-steps N");
}

Status JobPlan::LoadCarbon() {
  Result<CarbonData> built_in = CarbonData::LoadBuiltIn();
  if (!built_in.ok()) return built_in.status();
  carbon_ = std::move(built_in).value();
  if (!question_.carbon_path.empty()) {
    const Result<std::string> text = ReadRequiredFile("--carbon", question_.carbon_path);
    if (!text.ok()) return text.status();
    if (Status status = carbon_.Read({question_.carbon_path, text.value()}); !status.ok())
      return status;
  }
  const std::string code = question_.region.empty() ? carbon_.default_region() : question_.region;
  grid_ = carbon_.FindRegion(code);
  if (grid_ == nullptr) {
    const std::vector<std::string_view> near = NearNames(code, carbon_.RegionCodes());
    return Status::Usage(
        fmt::format("--region {}: no such grid{}{}. Use a country code (DE), a cloud region "
                    "(gcp:europe-west3) or WORLD; --carbon FILE adds a grid (docs/predict.md)",
                    code, near.empty() ? "" : "; near codes: ", fmt::join(near, ", ")));
  }
  const std::string pue = question_.pue.empty() ? carbon_.default_pue() : question_.pue;
  constexpr double kMaxPue = 10;
  double number = 0;
  const auto [end, error] = std::from_chars(pue.data(), pue.data() + pue.size(), number);
  if (error == std::errc() && end == pue.data() + pue.size()) {
    if (!(number >= 1 && number <= kMaxPue))
      return Status::Usage(fmt::format("--pue {}: must be from 1 to {}", pue, kMaxPue));
    pue_value_ = number;
    return Status::Ok();
  }
  const PueEntry* entry = carbon_.FindPue(pue);
  if (entry == nullptr) {
    return Status::Usage(fmt::format("--pue {}: neither a number from 1 to {} nor one of {}", pue,
                                     kMaxPue, fmt::join(carbon_.PueCodes(), ", ")));
  }
  pue_value_ = entry->value;
  return Status::Ok();
}

Status JobPlan::LoadPrices(const DeviceCatalog& devices) {
  if (question_.prices_path.empty()) {
    Result<std::vector<InstancePrice>> sample = LoadSamplePrices();
    if (!sample.ok()) return sample.status();
    prices_ = std::move(sample).value();
    prices_from_ = "built-in sample of dated listings; yours: --prices FILE";
  } else {
    const Result<std::string> text = ReadRequiredFile("--prices", question_.prices_path);
    if (!text.ok()) return text.status();
    Result<std::vector<InstancePrice>> read =
        ReadPrices({question_.prices_path, text.value()}, Tomorrow());
    if (!read.ok()) return read.status();
    prices_ = std::move(read).value();
    if (prices_.empty()) {
      return Status::BadInput(
          fmt::format("{}: lists no instance; add [[instance]] blocks (docs/predict.md)",
                      question_.prices_path));
    }
    prices_from_ = question_.prices_path;
  }
  const auto is_chosen = [&, provider = LowerCase(question_.provider)](const InstancePrice& price) {
    return provider.empty() || LowerCase(price.provider) == provider;
  };
  if (std::none_of(prices_.begin(), prices_.end(), is_chosen)) {
    std::vector<std::string_view> providers;
    providers.reserve(prices_.size());
    for (const InstancePrice& price : prices_) providers.push_back(price.provider);
    std::sort(providers.begin(), providers.end());
    providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
    return Status::Usage(fmt::format("--provider {}: not in the price list, which has {}",
                                     question_.provider, fmt::join(providers, ", ")));
  }
  std::erase_if(prices_, std::not_fn(is_chosen));
  const bool one_currency = std::all_of(
      prices_.begin(), prices_.end(),
      [&](const InstancePrice& price) { return price.currency == prices_.front().currency; });
  if (question_.max_money && !one_currency) {
    return Status::Usage(
        "--max-money is an amount in one currency, but the price list has several; remove the "
        "instances in other currencies, or choose a provider with --provider");
  }
  for (const InstancePrice& price : prices_) {
    const DeviceSpec* device = devices.Find(price.gpu);
    if (device == nullptr) {
      return Refuse(price, fmt::format("has an unknown GPU '{}'", price.gpu));
    }
    gpu_of_price_.push_back(device->short_name);
  }
  return has_length() ? FindMachines() : Status::Ok();
}

Status JobPlan::Refuse(const InstancePrice& price, std::string_view why) const {
  return Status::BadInput(fmt::format("{}, line {}: instance {} {}", question_.prices_path,
                                      price.line, price.instance, why));
}

Status JobPlan::FindMachines() {
  const Result<std::vector<Topology>> clusters = LoadBuiltInTopologies();
  if (!clusters.ok()) return clusters.status();
  const auto named = [&](const std::string& name) {
    return std::find_if(clusters.value().begin(), clusters.value().end(),
                        [&](const Topology& cluster) { return cluster.name == name; });
  };
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const InstancePrice& price = prices_[i];
    auto cluster = named(price.cluster);
    if (!price.cluster.empty() && cluster == clusters.value().end()) {
      std::vector<std::string_view> names;
      for (const Topology& known : clusters.value()) names.push_back(known.name);
      return Refuse(price, fmt::format("names an unknown cluster '{}'; the known ones are {}",
                                       price.cluster, fmt::join(names, ", ")));
    }
    if (price.gpus == 1) continue;
    if (price.cluster.empty()) cluster = named(ClusterNameOf(price));
    if (cluster != clusters.value().end() && cluster->gpus_per_node < price.gpus) {
      if (!price.cluster.empty()) {
        return Refuse(
            price, fmt::format("has {} GPUs, but a machine of {} has {}; correct gpus or cluster",
                               price.gpus, cluster->name, cluster->gpus_per_node));
      }
      cluster = clusters.value().end();  // The instance only shares the name of this cluster.
    }
    PlannedMachine machine{.price = i, .gpu = gpu_of_price_[i], .gpus = price.gpus, .topology = {}};
    if (cluster != clusters.value().end()) {
      machine.topology = *cluster;
    } else {
      // No data leaves the machine, so its latency and bandwidth to other machines do not matter.
      constexpr double kGbps = 100;
      machine.topology = FlatTopology(kGbps, DurationNs(0), price.gpus);
      machine.topology.description = fmt::format("{} GPUs behind PCIe 4.0", price.gpus);
    }
    machines_.push_back(std::move(machine));
  }
  return Status::Ok();
}

JobPlan::Place JobPlan::PlaceOf(const InstancePrice& price) const {
  // The user's --region and --pue take precedence over the grid and PUE of the instance's location.
  const GridRegion* there = carbon_.FindRegion(price.provider + ":" + price.region);
  if (there == nullptr) there = carbon_.FindRegion(price.region);
  const PueEntry* overhead = carbon_.FindPue(price.provider);
  Place place{.grid = question_.region.empty() && there != nullptr ? there : grid_,
              .pue = question_.pue.empty() && overhead != nullptr ? overhead->value : pue_value_};
  const bool unknown = question_.region.empty() && there == nullptr;
  place.text =
      fmt::format("{}{} ({:.0f} g per kWh, {}), PUE {:.2f}", place.grid->name,
                  unknown ? fmt::format(", because the grid of '{}' is unknown", price.region) : "",
                  place.grid->g_co2_per_kwh, place.grid->year, place.pue);
  return place;
}

Status JobPlan::Load(const DeviceCatalog& devices) {
  if (Status status = has_length() ? LoadCarbon() : Status::Ok(); !status.ok()) return status;
  return LoadPrices(devices);
}

void JobPlan::AddMoneyPerSample(PredictedTarget& target) const {
  if (!target.samples || target.fits == false) return;
  // With N GPUs a job processes N times the samples, so N cancels out.
  constexpr double kMillion = 1e6;
  const double hours =
      kMillion / static_cast<double>(*target.samples) * target.step.mid / kMsPerHour;
  for (std::size_t i = 0; i < prices_.size(); ++i) {
    const InstancePrice& price = prices_[i];
    if (gpu_of_price_[i] != target.gpu) continue;
    if (!target.currency.empty() && target.currency != price.currency) continue;
    const double money = hours * price.price_per_hour / static_cast<double>(price.gpus);
    target.money_per_million_samples =
        std::min(target.money_per_million_samples.value_or(money), money);
    target.currency = price.currency;
  }
}

void JobPlan::Make(PredictReport& report) const {
  report.prices = prices_from_;
  for (PredictedTarget& target : report.targets) AddMoneyPerSample(target);
  if (!question_.total_steps) return;
  report.total_steps = static_cast<double>(*question_.total_steps);
  report.carbon =
      fmt::format("{} ({:.0f} g per kWh, {}, {}: {}), PUE {:.2f}", grid_->name,
                  grid_->g_co2_per_kwh, grid_->basis, grid_->year, grid_->source, pue_value_);
  for (std::size_t begin = 0, end = 0; begin < report.targets.size(); begin = end) {
    while (end < report.targets.size() && report.targets[end].group == report.targets[begin].group)
      ++end;
    AddOptions(begin, end, report);
    AddEquivalents(begin, end, report);
  }
}

std::optional<PlannedOption> JobPlan::OptionOn(std::size_t price, const PredictedTarget& target,
                                               PredictReport& report) const {
  const InstancePrice& instance = prices_[price];
  PlannedOption planned{.workload = target.workload, .option = {.instance = instance}};
  DeploymentOption& option = planned.option;
  option.hours = *target.hours;
  option.instances = InstancesFor(target.gpus, instance.gpus);
  std::optional<double> joules;  // Per step.
  double steps = *report.total_steps;
  if (target.energy) joules = target.energy->joules;
  if (target.gpus == 1 && instance.gpus > 1) {
    const auto on = std::find_if(target.machines.begin(), target.machines.end(),
                                 [&](const MachineStep& step) { return step.price == price; });
    if (on == target.machines.end()) return std::nullopt;
    if (!on->no_answer.empty()) {
      const std::string what = target.workload.empty()
                                   ? target.gpu
                                   : fmt::format("{} on {}", target.workload, target.gpu);
      std::vector<std::string>& of_reason = report.not_scaled_out[on->no_answer];
      if (std::find(of_reason.begin(), of_reason.end(), what) == of_reason.end())
        of_reason.push_back(what);
      return std::nullopt;
    }
    steps = std::ceil(steps / static_cast<double>(on->gpus));
    option.scaled_out = true;
    option.hours = on->step.mid * steps / kMsPerHour;
    joules = on->joules;
    planned.scaled_out = *on;
  }
  option.money = option.hours * instance.price_per_hour * static_cast<double>(option.instances);
  if (option.hours > question_.max_hours.value_or(option.hours) ||
      option.money > question_.max_money.value_or(option.money)) {
    ++report.options_over_limits;
    return std::nullopt;
  }
  Place place = PlaceOf(instance);
  if (joules) planned.co2_kg = Co2Kg(*joules * steps, *place.grid, place.pue);
  planned.carbon = std::move(place.text);
  return planned;
}

void JobPlan::AddOptions(std::size_t begin, std::size_t end, PredictReport& report) const {
  std::vector<PlannedOption> planned;
  for (std::size_t i = begin; i < end; ++i) {
    PredictedTarget& target = report.targets[i];
    target.hours = target.step.mid * *report.total_steps / kMsPerHour;
    if (target.energy)
      target.co2_kg = Co2Kg(target.energy->joules * *report.total_steps, *grid_, pue_value_);
    for (std::size_t price = 0; price < prices_.size(); ++price) {
      if (!target.fits.value_or(true) || gpu_of_price_[price] != target.gpu) continue;
      std::optional<PlannedOption> on = OptionOn(price, target, report);
      if (!on) continue;
      const DeploymentOption& option = on->option;
      // Prices in several currencies are not comparable, so only those in the first currency count.
      const bool comparable =
          target.currency.empty() || target.currency == option.instance.currency;
      if (!option.scaled_out && comparable && (!target.money || option.money < *target.money)) {
        target.money = option.money;
        target.currency = option.instance.currency;
      }
      planned.push_back(std::move(*on));
    }
  }
  std::vector<DeploymentOption> options;
  options.reserve(planned.size());
  for (const PlannedOption& one : planned) options.push_back(one.option);
  MarkBest(options);
  for (std::size_t i = 0; i < planned.size(); ++i) planned[i].option = options[i];
  std::stable_sort(planned.begin(), planned.end(),
                   [](const PlannedOption& a, const PlannedOption& b) {
                     return std::pair(a.option.instance.currency, a.option.money) <
                            std::pair(b.option.instance.currency, b.option.money);
                   });
  report.options.insert(report.options.end(), std::make_move_iterator(planned.begin()),
                        std::make_move_iterator(planned.end()));
}

void JobPlan::AddEquivalents(std::size_t begin, std::size_t end, PredictReport& report) const {
  const std::span<const PredictedTarget> targets(&report.targets[begin], end - begin);
  const ShownGpu shown = ChooseShown(targets, report);
  if (shown.target == nullptr) return;
  const std::string& job = shown.target->workload;
  struct Counted {
    double times = 0;
    std::string_view name;
  };
  // Chooses the equivalent with the smallest count of at least 0.5: "a thousandth of a day" means
  // little to people.
  constexpr double kMin = 0.5;
  std::optional<Counted> best;
  for (const Equivalent& equivalent : carbon_.equivalents()) {
    const double grams =
        equivalent.g_co2.value_or(equivalent.kwh.value_or(0) * grid_->g_co2_per_kwh);
    if (grams <= 0) continue;
    const double times = *shown.target->co2_kg * kGramsPerKg / grams;
    if (times >= kMin && (!best || times < best->times)) best = {times, equivalent.name};
  }
  if (!best) return;
  report.equivalents.push_back(fmt::format(
      "{}{}on {} ({}): {} times a {}", job, job.empty() ? "" : ", ", shown.target->gpu, shown.why,
      best->times < 10 ? fmt::format("{:.1f}", best->times)
                       : FormatCount(std::llround(best->times)),
      best->name));
}

}  // namespace headroom
