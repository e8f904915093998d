#include "predict/device_rates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace headroom {
namespace {

constexpr double kFullSizeW = 200;
constexpr double kTera = 1e12, kPerNs = 1e-9;

std::optional<double> PowerPerPeak(const DeviceSpec& device) {
  if (!device.tdp_w || !device.fp32_tflops) return std::nullopt;
  return *device.tdp_w / *device.fp32_tflops;
}

/// "12" of "12.0".
std::string_view MajorOf(const DeviceSpec& device) {
  return std::string_view(device.compute_capability).substr(0, device.compute_capability.find('.'));
}

/// Whether both are known, and differ.
bool OtherMajor(const DeviceSpec& a, const DeviceSpec& b) {
  return !MajorOf(a).empty() && !MajorOf(b).empty() && MajorOf(a) != MajorOf(b);
}

struct ArchitecturePower {
  double usual = 0;  ///< Geometric mean.
  double most = 0;
};

/// What an operation takes on an architecture's full-size cards: power a peak.
std::optional<ArchitecturePower> PowerOfArchitecture(const DeviceSpec& device,
                                                     const DeviceCatalog& catalog) {
  double sum = 0, most = 0;
  int count = 0;
  for (const DeviceSpec& other : catalog.devices()) {
    const std::optional<double> power = PowerPerPeak(other);
    if (!power || *other.tdp_w < kFullSizeW || other.architecture != device.architecture ||
        other.fp32_lanes_per_sm != device.fp32_lanes_per_sm || OtherMajor(other, device))
      continue;
    sum += std::log(*power);
    most = std::max(most, *power);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return ArchitecturePower{.usual = std::exp(sum / count), .most = most};
}

double BandwidthShare(const DeviceSpec& device, const KernelConstants& constants) {
  if (device.delivered_bandwidth_share) return *device.delivered_bandwidth_share;
  if (device.vendor == "AMD") return constants.amd;
  return device.memory_type.starts_with("HBM") ? constants.hbm : constants.gddr;
}

/// Of a figure that a device lacks: the least of those with its compute capability.
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
        "{}: kernels of the architecture '{}' are not known; its device file must name one of "
        "those in data/kernels/constants.toml",
        device.name, device.architecture));
  }
  // The peak of matrix units in full float32, where a vendor has them: its library uses them.
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
          fmt::format("{}: its device file does not give {}, without which nothing can be "
                      "predicted; add it (docs/devices.md)",
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
  rates.bytes_per_ns =
      *device.memory_bandwidth_gbs * BandwidthShare(device, constants);  // GB/s are bytes a ns.
  const bool known_memory =
      device.memory_type.starts_with("HBM") || device.memory_type.starts_with("GDDR");
  if (!known_memory && !device.delivered_bandwidth_share) AlsoGuessed(rates, "memory_type");
  const std::optional<double> power = PowerPerPeak(device);
  const std::optional<ArchitecturePower> full_size = PowerOfArchitecture(device, catalog);
  if (!constants.Validated(device.architecture)) {
    rates.error_scale =
        device.vendor == "NVIDIA" ? constants.extrapolated_nvidia : constants.extrapolated_amd;
  }
  rates.untried_convolutions = rates.library->untried_convolutions;
  rates.low_power = device.tdp_w && *device.tdp_w < kLowPowerW;
  if (power && full_size) {
    const double share = rates.low_power
                             ? std::pow(*power / full_size->most, constants.low_power)
                             : std::pow(*power / full_size->usual, constants.full_power);
    rates.sustained_share = std::min(1.0, share);
  }
  return rates;
}

double TensorCoreSustainedShare(const DeviceRates& rates) { return rates.sustained_share; }

double ResidualWeight(WorkClass work, const DeviceRates& from, const DeviceRates& to,
                      double evidence, const KernelConstants& constants) {
  const auto index = static_cast<std::size_t>(work);
  const double profile = 1 - evidence;
  if (from.library != to.library) return profile * constants.residual_other[index];
  const std::string& capability = from.device->compute_capability;
  const bool twins = !capability.empty() && capability == to.device->compute_capability;
  return profile * std::max(constants.residual_same[index], twins ? constants.residual_twin : 0);
}

Correction CorrectionOf(const KernelWork& work, const DeviceRates& rates) {
  return rates.correction ? rates.correction->At(work) : Correction();
}

ErrorRange RangeOf(WorkClass work, const DeviceRates& rates, double evidence,
                   const KernelConstants& constants) {
  const auto index = static_cast<std::size_t>(work);
  ErrorRange range = (rates.low_power ? constants.low_power_errors[index] : constants.errors[index])
                         .Scaled(rates.error_scale);
  if (work == WorkClass::kConvolution && rates.untried_convolutions)
    range = range.Joined(constants.untried_convolution);
  // What a small card sustains depends on its minutes before, in which it was not measured.
  if (rates.low_power) return range;
  return range.Towards(constants.measured_errors[index], evidence);
}

ErrorRange RangeOfStep(const DeviceRates& rates, double evidence,
                       const KernelConstants& constants) {
  const ErrorRange range = (rates.low_power ? constants.low_power_step_error : constants.step_error)
                               .Scaled(rates.error_scale);
  const ErrorRange measured = range.Towards(constants.measured_step_error, evidence);
  return range.Joined(measured);  // Steps did not get better by it on every GPU.
}

}  // namespace headroom
