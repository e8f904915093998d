#include "report/job_plan.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "analysis/format.h"
#include "base/read_file.h"
#include "base/text.h"

namespace headroom {
namespace {

/// The GPU whose CO2 is put into things that people grasp.
struct ShownGpu {
  const PredictedTarget* target = nullptr;  ///< None: of no GPU is the CO2 known.
  std::string why;
};

/// The recorded one, else the cheapest, if all prices are in one currency, else the fastest; of
/// those that the job fits, or may fit.
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

constexpr double kGramsPerKg = 1e3;

/// "2024-05-31", by the world's clock: where a price was listed, it may be a day later than here.
std::string Tomorrow() {
  const auto now = std::chrono::system_clock::now() + std::chrono::days(1);
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(now)));
}

}  // namespace

Status JobPlanQuestion::Check() const {
  const bool of_a_job = !prices_path.empty() || !provider.empty() || !region.empty() ||
                        !pue.empty() || !carbon_path.empty();
  if (!of_a_job || total_steps) return Status::Ok();
  return Status::Usage(
      "--prices, --provider, --region, --pue and --carbon are about a whole job: say its length "
      "with --total-steps N");
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
    return Status::Usage(fmt::format(
        "--region {}: no such grid{}{}. A code is that of a country (DE), of a cloud's region "
        "(gcp:europe-west3) or WORLD; --carbon FILE adds one (docs/predict.md)",
        code, near.empty() ? "" : "; near codes: ", fmt::join(near, ", ")));
  }
  const std::string pue = question_.pue.empty() ? carbon_.default_pue() : question_.pue;
  constexpr double kMostPue = 10;
  double number = 0;
  const auto [end, error] = std::from_chars(pue.data(), pue.data() + pue.size(), number);
  if (error == std::errc() && end == pue.data() + pue.size()) {
    if (!(number >= 1 && number <= kMostPue))
      return Status::Usage(fmt::format("--pue {}: must be from 1 to {}", pue, kMostPue));
    pue_value_ = number;
    return Status::Ok();
  }
  const PueEntry* entry = carbon_.FindPue(pue);
  if (entry == nullptr) {
    return Status::Usage(fmt::format("--pue {}: neither a number from 1 to {} nor one of {}", pue,
                                     kMostPue, fmt::join(carbon_.PueCodes(), ", ")));
  }
  pue_value_ = entry->value;
  return Status::Ok();
}

Status JobPlan::LoadPrices(const DeviceCatalog& devices, PredictReport& report) {
  if (question_.prices_path.empty()) {
    Result<std::vector<InstancePrice>> sample = LoadSamplePrices();
    if (!sample.ok()) return sample.status();
    prices_ = std::move(sample).value();
    report.prices =
        "a sample that ships, each with the day at which it was listed; give your own with "
        "--prices";
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
    report.prices = question_.prices_path;
  }
  const bool known = question_.provider.empty() ||
                     std::any_of(prices_.begin(), prices_.end(), [&](const InstancePrice& price) {
                       return price.provider == question_.provider;
                     });
  if (!known) {
    std::vector<std::string_view> providers;
    providers.reserve(prices_.size());
    for (const InstancePrice& price : prices_) providers.push_back(price.provider);
    std::sort(providers.begin(), providers.end());
    providers.erase(std::unique(providers.begin(), providers.end()), providers.end());
    return Status::Usage(fmt::format("--provider {}: the list of prices has {}", question_.provider,
                                     fmt::join(providers, ", ")));
  }
  std::erase_if(prices_, [&](const InstancePrice& price) {
    return !question_.provider.empty() && price.provider != question_.provider;
  });
  for (const InstancePrice& price : prices_) {
    if (devices.Find(price.gpu) == nullptr) {
      return Status::BadInput(fmt::format("{}: instance {} has a GPU '{}' that is not known",
                                          question_.prices_path, price.instance, price.gpu));
    }
  }
  return Status::Ok();
}

JobPlan::Place JobPlan::PlaceOf(const InstancePrice& price) const {
  // What the user says holds; else the grid and the overhead of the place itself, where known.
  const GridRegion* there = carbon_.FindRegion(price.provider + ":" + price.region);
  if (there == nullptr) there = carbon_.FindRegion(price.region);
  const PueEntry* overhead = carbon_.FindPue(price.provider);
  Place place{.grid = question_.region.empty() && there != nullptr ? there : grid_,
              .pue = question_.pue.empty() && overhead != nullptr ? overhead->value : pue_value_};
  const bool unknown = question_.region.empty() && there == nullptr;
  place.text =
      fmt::format("{}{} ({:.0f} g a kWh, {}), times {:.2f}", place.grid->name,
                  unknown ? fmt::format(", as no grid of '{}' is known", price.region) : "",
                  place.grid->g_co2_per_kwh, place.grid->year, place.pue);
  return place;
}

Status JobPlan::Make(const DeviceCatalog& devices, PredictReport& report) {
  if (!question_.total_steps) return Status::Ok();
  report.total_steps = static_cast<double>(*question_.total_steps);
  if (Status status = LoadCarbon(); !status.ok()) return status;
  report.carbon =
      fmt::format("{} ({:.0f} g a kWh, {}, {}: {}), times {:.2f} for the data centre", grid_->name,
                  grid_->g_co2_per_kwh, grid_->basis, grid_->year, grid_->source, pue_value_);
  if (Status status = LoadPrices(devices, report); !status.ok()) return status;
  for (std::size_t begin = 0, end = 0; begin < report.targets.size(); begin = end) {
    while (end < report.targets.size() && report.targets[end].group == report.targets[begin].group)
      ++end;
    AddOptions(devices, begin, end, report);
    AddEquivalents(begin, end, report);
  }
  return Status::Ok();
}

void JobPlan::AddOptions(const DeviceCatalog& devices, std::size_t begin, std::size_t end,
                         PredictReport& report) const {
  constexpr double kMsPerHour = 3.6e6;
  std::vector<DeploymentOption> options;
  struct Carbon {
    std::optional<double> kg;
    std::string text;
  };
  std::vector<Carbon> carbon;  // Of each option.
  for (std::size_t i = begin; i < end; ++i) {
    PredictedTarget& target = report.targets[i];
    target.hours = target.step.mid * *report.total_steps / kMsPerHour;
    if (target.energy)
      target.co2_kg = Co2Kg(target.energy->joules * *report.total_steps, *grid_, pue_value_);
    for (const InstancePrice& price : prices_) {
      const std::int64_t instances = InstancesFor(target.gpus, price.gpus);
      if (instances == 0 || !target.fits.value_or(true) ||
          devices.Find(price.gpu)->short_name != target.gpu)
        continue;
      const double money = *target.hours * price.price_per_hour * static_cast<double>(instances);
      // Of several currencies, in that of the first: they cannot be compared.
      const bool comparable = target.currency.empty() || target.currency == price.currency;
      if (comparable && (!target.money || money < *target.money)) {
        target.money = money;
        target.currency = price.currency;
      }
      options.push_back(
          {.instance = price, .instances = instances, .hours = *target.hours, .money = money});
      Place place = PlaceOf(price);
      Carbon& of_option = carbon.emplace_back();
      if (target.energy)
        of_option.kg = Co2Kg(target.energy->joules * *report.total_steps, *place.grid, place.pue);
      of_option.text = std::move(place.text);
    }
  }
  MarkBest(options);
  const auto first = static_cast<std::ptrdiff_t>(report.options.size());
  for (std::size_t i = 0; i < options.size(); ++i)
    report.options.push_back(
        {report.targets[begin].workload, options[i], carbon[i].kg, carbon[i].text});
  std::stable_sort(report.options.begin() + first, report.options.end(),
                   [](const PlannedOption& a, const PlannedOption& b) {
                     return std::pair(a.option.instance.currency, a.option.money) <
                            std::pair(b.option.instance.currency, b.option.money);
                   });
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
  // Of those that can be grasped, the fewest; a thousandth of a day tells nobody anything.
  constexpr double kLeast = 0.5;
  std::optional<Counted> best;
  for (const Equivalent& equivalent : carbon_.equivalents()) {
    const double grams =
        equivalent.g_co2.value_or(equivalent.kwh.value_or(0) * grid_->g_co2_per_kwh);
    if (grams <= 0) continue;
    const double times = *shown.target->co2_kg * kGramsPerKg / grams;
    if (times >= kLeast && (!best || times < best->times)) best = {times, equivalent.name};
  }
  if (!best) return;
  report.equivalents.push_back(fmt::format(
      "{}{}on {} ({}): {} times a {}", job, job.empty() ? "" : ", ", shown.target->gpu, shown.why,
      best->times < 10 ? fmt::format("{:.1f}", best->times)
                       : FormatCount(std::llround(best->times)),
      best->name));
}

}  // namespace headroom
