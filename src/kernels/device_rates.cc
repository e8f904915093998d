#include "kernels/device_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>

namespace headroom {
namespace {

constexpr double kTera = 1e12, kPerNs = 1e-9;

/// Returns the float32 operations per second of the ordinary lanes at the boost clock. Uses lanes
/// and clock if both are known, because a data sheet's peak can be that of other units.
std::optional<double> LanePeak(const DeviceSpec& device) {
  constexpr double kMultiplyAndAdd = 2, kMega = 1e6;
  if (device.sm_count && device.fp32_lanes_per_sm && device.boost_clock_mhz) {
    return kMultiplyAndAdd * *device.sm_count * *device.fp32_lanes_per_sm *
           *device.boost_clock_mhz * kMega;
  }
  if (device.fp32_tflops) return *device.fp32_tflops * kTera;
  return std::nullopt;
}

/// Returns the joules per operation of a card that reaches both its power limit and its peak.
std::optional<double> PowerPerPeak(const DeviceSpec& device) {
  const std::optional<double> peak = LanePeak(device);
  if (!device.tdp_w || !peak) return std::nullopt;
  return *device.tdp_w / *peak;
}

/// Returns the share of the peak at which products of dense numbers use all of the card's power, by
/// the energy of an operation in its process. Returns nullopt for processes in which no card with
/// 128 lanes per multiprocessor was measured. Cards with fewer lanes were never limited.
///
/// Joules per operation of whole cards at their limit: 12.0 (A10), 13.2 (A6000) pJ in 8 nm and
/// 9.0 pJ (L40S at 300 W) in 4 nm (large products of gpu-modern/, PyTorch 2). Products of numbers
/// that are half zeros run 10 to 40 % faster.
std::optional<double> ShareOfEnergy(const DeviceSpec& device) {
  constexpr double kLanes = 128, kEightNm = 12.6e-12, kFourNm = 9.0e-12;
  const std::optional<double> power = PowerPerPeak(device);
  if (!power || !device.process_nm || device.vendor != "NVIDIA" ||
      device.fp32_lanes_per_sm.value_or(0) < kLanes)
    return std::nullopt;
  if (*device.process_nm == 8) return *power / kEightNm;
  if (*device.process_nm == 4) return *power / kFourNm;
  return std::nullopt;
}

/// Returns "12" for "12.0".
std::string_view MajorOf(const DeviceSpec& device) {
  return std::string_view(device.compute_capability).substr(0, device.compute_capability.find('.'));
}

/// Returns true if both major versions are known and differ.
bool OtherMajor(const DeviceSpec& a, const DeviceSpec& b) {
  return !MajorOf(a).empty() && !MajorOf(b).empty() && MajorOf(a) != MajorOf(b);
}

struct ArchitecturePower {
  double usual = 0;  ///< Geometric mean.
  double most = 0;
};

/// Returns the power per peak of an architecture's full-size cards.
std::optional<ArchitecturePower> PowerOfArchitecture(const DeviceSpec& device,
                                                     const DeviceCatalog& catalog) {
  // Counts a chip once if it is sold with different memory sizes.
  std::set<double> powers;
  for (const DeviceSpec& other : catalog.devices()) {
    const std::optional<double> power = PowerPerPeak(other);
    if (power && *other.tdp_w >= kFullSizeW && other.architecture == device.architecture &&
        other.fp32_lanes_per_sm == device.fp32_lanes_per_sm && !OtherMajor(other, device))
      powers.insert(*power);
  }
  if (powers.empty()) return std::nullopt;
  double sum = 0;
  for (const double power : powers) sum += std::log(power);
  return ArchitecturePower{.usual = std::exp(sum / static_cast<double>(powers.size())),
                           .most = *powers.rbegin()};
}

/// Returns 1 up to kSmallW and 0 from kFullSizeW, linear in the logarithm of the power between
/// them.
double Smallness(const DeviceSpec& device) {
  if (!device.tdp_w) return 0;
  return std::clamp(std::log(kFullSizeW / *device.tdp_w) / std::log(kFullSizeW / kSmallW), 0.0,
                    1.0);
}

/// Returns the share of the peak that products with the most efficient tile reach at the boost
/// clock.
double ReachOfProducts(const DeviceRates& rates, const KernelConstants& constants) {
  double best = 0;
  for (const auto* tiles : {&rates.library->single, &rates.library->batched}) {
    for (const std::size_t tile : *tiles) best = std::max(best, constants.tiles[tile].efficiency);
  }
  return rates.issue_share * std::min(1.0, best);
}

/// @param smallness  DeviceRates::smallness
double BandwidthShare(const DeviceSpec& device, double smallness,
                      const KernelConstants& constants) {
  if (device.delivered_bandwidth_share) return *device.delivered_bandwidth_share;
  if (device.vendor == "AMD") return constants.amd;
  if (device.memory_type.starts_with("HBM")) return constants.hbm;
  return std::pow(constants.gddr, 1 - smallness) * std::pow(constants.gddr_small, smallness);
}

/// Returns the clock of the multiprocessors in GHz. Derives it from the peak if the data sheet
/// lacks a clock.
double ClockGhz(const DeviceSpec& device, const DeviceRates& rates) {
  constexpr double kMhzPerGhz = 1e3, kMultiplyAndAdd = 2;
  if (device.boost_clock_mhz) return *device.boost_clock_mhz / kMhzPerGhz;
  return rates.flops_per_ns / (kMultiplyAndAdd * rates.processors * rates.lanes);
}

/// Returns the minimum of a figure over the devices with the same compute capability. The result
/// replaces a figure that the device lacks.
std::optional<double> LeastOfItsKind(const DeviceSpec& device, const DeviceCatalog& catalog,
                                     std::optional<double> DeviceSpec::*member) {
  std::optional<double> least;
  if (device.compute_capability.empty()) return least;
  for (const DeviceSpec& other : catalog.devices()) {
    const std::optional<double>& value = other.*member;
    if (value && other.compute_capability == device.compute_capability)
      least = std::min(*value, least.value_or(*value));
  }
  return least;
}

void AlsoGuessed(DeviceRates& rates, std::string_view what) {
  rates.guessed += (rates.guessed.empty() ? "" : ", ") + std::string(what);
}

}  // namespace

Result<DeviceRates> RatesOf(const DeviceSpec& device, const DeviceCatalog& catalog,
                            const KernelConstants& constants) {
  DeviceRates rates{.device = &device, .library = constants.LibraryOf(device.architecture)};
  if (rates.library == nullptr) {
    return Status::Usage(fmt::format(
        "{}: no kernel constants for architecture '{}'; its device file must name one of "
        "the architectures in data/kernels/constants.toml",
        device.name, device.architecture));
  }
  // Uses the float32 peak of the matrix units if the GPU has them, because its vendor's library
  // does.
  const std::optional<double> peak =
      device.fp32_matrix_tflops ? device.fp32_matrix_tflops : device.fp32_tflops;
  struct Needed {
    std::string_view key;
    const std::optional<double>& value;
  };
  for (const Needed& needed : {Needed{"sm_count", device.sm_count}, Needed{"fp32_tflops", peak},
                               Needed{"memory_bandwidth_gbs", device.memory_bandwidth_gbs}}) {
    if (!needed.value) {
      return Status::Usage(
          fmt::format("{}: its device file lacks {}, which every prediction "
                      "requires; add it (docs/devices.md)",
                      device.name, needed.key));
    }
  }
  constexpr double kUsualLanes = 64, kUsualThreads = 2048, kUsualRegisters = 65536;
  constexpr double kUsualL1 = 128 << 10, kUsualL2 = 4 << 20;
  const auto figure = [&](std::optional<double> DeviceSpec::*member, std::string_view key,
                          double usual) {
    if (device.*member) return *(device.*member);
    AlsoGuessed(rates, key);
    return LeastOfItsKind(device, catalog, member).value_or(usual);
  };
  rates.processors = *device.sm_count;
  rates.lanes = figure(&DeviceSpec::fp32_lanes_per_sm, "fp32_lanes_per_sm", kUsualLanes);
  rates.threads = figure(&DeviceSpec::max_threads_per_sm, "max_threads_per_sm", kUsualThreads);
  rates.registers = device.registers_per_sm.value_or(kUsualRegisters);
  rates.l1_bytes = figure(&DeviceSpec::l1_bytes, "l1_bytes", kUsualL1);
  rates.l2_bytes = figure(&DeviceSpec::l2_bytes, "l2_bytes", kUsualL2);
  if (device.l3_bytes) rates.l2_bytes = std::max(rates.l2_bytes, *device.l3_bytes);
  rates.flops_per_ns = *peak * kTera * kPerNs;
  constexpr double kLanesOfAllSlots = 128;
  if (device.vendor == "NVIDIA" && rates.lanes >= kLanesOfAllSlots && !rates.library->dual_issue)
    rates.issue_share = constants.issue_share;
  rates.smallness = Smallness(device);
  rates.bytes_per_ns = *device.memory_bandwidth_gbs *
                       // GB/s equals bytes per ns.
                       BandwidthShare(device, rates.smallness, constants);
  rates.cached_bytes_per_ns =
      constants.l2_bytes_a_clock * rates.processors * ClockGhz(device, rates);
  const bool known_memory =
      device.memory_type.starts_with("HBM") || device.memory_type.starts_with("GDDR");
  if (!known_memory && !device.delivered_bandwidth_share) AlsoGuessed(rates, "memory_type");
  if (!device.tdp_w) AlsoGuessed(rates, "tdp_w");
  const std::optional<double> power = PowerPerPeak(device);
  const std::optional<ArchitecturePower> full_size = PowerOfArchitecture(device, catalog);
  if (!constants.Validated(device.architecture)) {
    rates.error_scale =
        device.vendor == "NVIDIA" ? constants.extrapolated_nvidia : constants.extrapolated_amd;
  }
  rates.untried_convolutions = rates.library->untried_convolutions;
  // A consumer card's boost clock is its average under load, not its maximum as in data centres
  // (NVIDIA, "GeForce GTX 680" white paper, GPU Boost). Tensor cores alone draw less power than it
  // assumes.
  constexpr double kBeyondBoost = 1.08;
  const bool consumer = device.name.find("GeForce") != std::string::npos;
  if (power && full_size) {
    const double full = std::pow(*power / full_size->usual, constants.full_power);
    const double small = std::pow(*power / full_size->most, constants.low_power);
    // Blends logarithms, so that one watt more or less never causes a jump.
    const auto blend = [&](double of_full, double of_small) {
      return std::min(1.0,
                      std::pow(of_full, 1 - rates.smallness) * std::pow(of_small, rates.smallness));
    };
    rates.clock_share = blend(std::min(1.0, full), std::min(1.0, small));
    // At its power limit, a card computes at most at the rate that its products reach.
    const double reach = ReachOfProducts(rates, constants);
    rates.sustained_share = rates.clock_share * reach;
    // A full-size card has power to spare at that rate. It reaches its limit only if its lanes
    // never wait.
    rates.full_power_share = blend(rates.clock_share, rates.sustained_share);
  }
  if (const std::optional<double> share = ShareOfEnergy(device)) {
    rates.sustained_share = std::min(rates.sustained_share, *share);
    rates.full_power_share = std::min(rates.full_power_share, *share);
  }
  if (consumer) rates.clock_share *= kBeyondBoost;
  return rates;
}

double ResidualWeight(WorkClass work, const DeviceRates& from, const DeviceRates& to,
                      double evidence, const KernelConstants& constants) {
  const auto index = static_cast<std::size_t>(work);
  const double profile = 1 - evidence;
  if (from.library != to.library) return profile * constants.residual_other[index];
  const std::string& capability = from.device->compute_capability;
  // GPUs of the same compute capability deviate from the model in the same way. Carrying over only
  // a part of the deviation would make each of them faster or slower than the recorded GPU.
  const bool twins = !capability.empty() && capability == to.device->compute_capability;
  return profile * (twins ? 1 : constants.residual_same[index]);
}

Correction CorrectionOf(const KernelWork& work, const DeviceRates& rates) {
  return rates.correction ? rates.correction->At(work) : Correction();
}

ErrorRange RangeOf(WorkClass work, const DeviceRates& rates, double evidence,
                   const KernelConstants& constants) {
  const auto index = static_cast<std::size_t>(work);
  ErrorRange range = constants.errors[index]
                         .Towards(constants.low_power_errors[index], rates.smallness)
                         .Scaled(rates.error_scale);
  if (work == WorkClass::kConvolution && rates.untried_convolutions)
    range = range.Joined(constants.untried_convolution);
  // The sustained rate of a small card depends on its load in the minutes before, which a
  // measurement does not record.
  return range.Towards(constants.measured_errors[index], evidence * (1 - rates.smallness));
}

ErrorRange RangeOfStep(const DeviceRates& rates, double evidence,
                       const KernelConstants& constants) {
  const ErrorRange range =
      constants.step_error.Towards(constants.low_power_step_error, rates.smallness)
          .Scaled(rates.error_scale);
  const ErrorRange measured = range.Towards(constants.measured_step_error, evidence);
  return range.Joined(measured);  // On some GPUs, measurements did not reduce it.
}

}  // namespace headroom
