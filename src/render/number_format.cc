#include "render/number_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace headroom {
namespace {

/// Returns `value` / 10^`scale` with `decimals` digits after the point, from the integer; rounds
/// half away from zero.
std::string FixedPoint(std::uint64_t value, int scale, int decimals) {
  std::uint64_t divisor = 1;
  for (int i = decimals; i < scale; ++i) divisor *= 10;
  const std::uint64_t rounded =
      value / divisor + (value % divisor >= divisor - divisor / 2 ? 1 : 0);
  std::uint64_t one = 1;
  for (int i = 0; i < decimals; ++i) one *= 10;
  if (decimals == 0) return FormatCount(static_cast<std::int64_t>(rounded));
  return fmt::format("{}.{:0{}}", rounded / one, rounded % one, decimals);
}

/// Returns the digits after the point for three significant digits in total.
int DecimalsOf(double magnitude) { return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0; }

std::uint64_t Magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

/// Returns `value` with a decimal prefix and three digits.
std::string WithPrefix(double value, std::string_view unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return fmt::format("unknown {}", unit);
  std::size_t prefix = 0;
  while (std::fabs(value) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.0f} {}", value, unit);
  return fmt::format("{:.{}f} {}{}", value, DecimalsOf(std::fabs(value)), kPrefixes[prefix], unit);
}

/// A unit and its size in the smallest unit of its series.
struct Unit {
  double size;
  std::string_view name;
};

/// Uses the largest unit in which the value is at least one, else the smallest unit. Prints at
/// least three digits.
std::string InUnits(double value, std::span<const Unit> units) {
  constexpr double kRounding = 0.9995;  // Values that round to 1 of the next unit use that unit.
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::fabs(value) >= kRounding * units[unit + 1].size) ++unit;
  const double number = value / units[unit].size;
  const double magnitude = std::fabs(number);
  if (!std::isfinite(number)) return fmt::format("unknown {}", units[unit].name);
  if (number == 0) return fmt::format("0 {}", units[unit].name);
  if (magnitude < 0.01) return fmt::format("<0.01 {}", units[unit].name);
  if (magnitude >= 999.5 && magnitude < 1e15)
    return fmt::format("{} {}", FormatCount(std::llround(number)), units[unit].name);
  return fmt::format("{:.{}f} {}", number, DecimalsOf(magnitude), units[unit].name);
}

constexpr std::array<Unit, 3> kTimeUnits = {{{1e-3, "us"}, {1, "ms"}, {1e3, "s"}}};

/// Rounding of a value and its bounds, in the unit of the value.
struct Rounding {
  Unit unit;
  int decimals;
  std::string Number(double ms) const {
    const double number = ms == 0 ? 0 : ms / unit.size;  // Avoids "-0.0".
    if (decimals >= 0) return fmt::format("{:.{}f}", number, decimals);
    const double ten = std::pow(10, -decimals);
    return FormatCount(std::llround(number / ten) * std::llround(ten));
  }
};

Rounding RoundingOf(double ms, double low_ms, double high_ms) {
  constexpr double kWide = 0.1;
  const int digits = high_ms - low_ms > kWide * std::fabs(ms) ? 2 : 3;
  const double magnitude = std::fabs(ms);
  if (!(magnitude > 0)) return {kTimeUnits[0], 0};
  // Rounds first: 999.7 ms is 1.00 s.
  const double last = std::pow(10, std::floor(std::log10(magnitude)) + 1 - digits);
  const double rounded = std::round(magnitude / last) * last * (1 + 1e-9);
  Rounding rounding = {kTimeUnits[0], 0};
  for (const Unit& unit : kTimeUnits) {
    if (rounded >= unit.size) rounding.unit = unit;
  }
  const int whole = static_cast<int>(std::floor(std::log10(rounded / rounding.unit.size))) + 1;
  rounding.decimals = std::min(digits - whole, 2);
  return rounding;
}

}  // namespace

std::string FormatMs(DurationNs duration) {
  if (duration.ns() == 0) return "0 ms";
  const std::uint64_t ns = Magnitude(duration.ns());
  const char* sign = duration.ns() < 0 ? "-" : "";
  if (ns < 500) return duration.ns() < 0 ? ">-0.001 ms" : "<0.001 ms";
  constexpr std::uint64_t kTenSeconds = 9'999'500'000;
  if (ns >= kTenSeconds) return sign + InUnits(static_cast<double>(ns) / 1e6, kTimeUnits);
  const int decimals = ns < 999'500 ? 3 : DecimalsOf(static_cast<double>(ns) / 1e6);
  return fmt::format("{}{} ms", sign, FixedPoint(ns, 6, decimals));
}

std::string FormatMs(double ms) {
  constexpr double kNsPerMs = 1e6;
  return FormatMs(DurationNs(std::llround(ms * kNsPerMs)));
}

std::string FormatUs(DurationNs duration) {
  if (duration.ns() == 0) return "0 us";
  const std::uint64_t ns = Magnitude(duration.ns());
  const int decimals = ns < 10 ? 3 : DecimalsOf(static_cast<double>(ns) / 1e3);
  return fmt::format("{}{} us", duration.ns() < 0 ? "-" : "", FixedPoint(ns, 3, decimals));
}

std::string FormatTime(DurationNs duration) {
  return duration.ns() == 0 ? "0 ms" : InUnits(duration.ms(), kTimeUnits);
}

std::string FormatUncertainTime(double ms, double low_ms, double high_ms) {
  const Rounding rounding = RoundingOf(ms, low_ms, high_ms);
  return fmt::format("{} {}", rounding.Number(ms), rounding.unit.name);
}

std::string FormatTimeBetween(double ms, double low_ms, double high_ms) {
  const Rounding rounding = RoundingOf(ms, low_ms, high_ms);
  return fmt::format("{} {} ({}{}{})", rounding.Number(ms), rounding.unit.name,
                     rounding.Number(low_ms), low_ms < 0 ? " to " : "-", rounding.Number(high_ms));
}

std::string FormatPercent(double percent) {
  if (!std::isfinite(percent)) return "unknown";
  if (percent == 0) return "0 %";
  if (std::fabs(percent) < 0.05) return percent < 0 ? ">-0.1 %" : "<0.1 %";
  return fmt::format("{:.1f} %", percent);
}

std::string FormatNumber(double number) {
  if (!std::isfinite(number)) return "unknown";
  const double magnitude = std::fabs(number);
  if (magnitude < 999.5) {
    return fmt::format("{:.{}f}", number, magnitude < 0.9995 ? 3 : DecimalsOf(magnitude));
  }
  if (magnitude >= 1e15) return fmt::format("{:.3g}", number);
  const double unit = std::pow(10, std::floor(std::log10(magnitude)) - 2);
  return FormatCount(std::llround(std::round(number / unit) * unit));
}

std::string FormatCount(std::int64_t count) {
  std::string digits = fmt::format("{}", Magnitude(count));
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return fmt::format("{}{}", count < 0 ? "-" : "", digits);
}

std::string Plural(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", FormatCount(count), noun, count == 1 ? "" : "s");
}

std::string FormatBytes(double bytes) { return WithPrefix(bytes, "B"); }

std::string FormatDeviceMemory(double bytes) {
  // Memory sizes of GPU products, from the data sheets in data/devices/.
  static constexpr double kSizes[] = {2,  3,  4,  6,  8,  10,  11,  12,  16,  20,  24,  32, 40,
                                      48, 64, 80, 94, 96, 128, 141, 180, 186, 192, 256, 288};
  constexpr double kGiB = 1024.0 * 1024 * 1024;
  // A driver reserves up to 8 % (a T4 with ECC).
  constexpr double kMost = 1.09;
  const double gib = bytes / kGiB;
  const auto size = std::lower_bound(std::begin(kSizes), std::end(kSizes), gib - 0.005);
  if (size == std::end(kSizes) || *size > gib * kMost) return fmt::format("{:.1f} GiB", gib);
  return fmt::format("{:.0f} GB ({:.1f} GiB)", *size, gib);
}

std::string FormatFlops(double flops, std::string_view unit) { return WithPrefix(flops, unit); }

std::string FormatEnergy(double joules) {
  static constexpr std::array<Unit, 6> kUnits = {
      {{1e-6, "uJ"}, {1e-3, "mJ"}, {1, "J"}, {1e3, "kJ"}, {1e6, "MJ"}, {1e9, "GJ"}}};
  return joules == 0 ? "0 J" : InUnits(joules, kUnits);
}

std::string FormatMass(double kg) {
  static constexpr std::array<Unit, 5> kUnits = {
      {{1e-9, "ug"}, {1e-6, "mg"}, {1e-3, "g"}, {1, "kg"}, {1e3, "t"}}};
  return kg == 0 ? "0 g" : InUnits(kg, kUnits);
}

std::string FormatHours(double hours) {
  constexpr double kMinute = 1.0 / 60;
  static constexpr std::array<Unit, 4> kUnits = {
      {{kMinute / 60 / 1000, "ms"}, {kMinute / 60, "s"}, {kMinute, "min"}, {1, "h"}}};
  return hours == 0 ? "0 s" : InUnits(hours, kUnits);
}

std::string FormatFactor(double factor) {
  if (!std::isfinite(factor)) return "unknown";
  return factor < 999.5 ? fmt::format("{:.{}f}x", factor, DecimalsOf(factor))
                        : FormatCount(std::llround(factor)) + "x";
}

}  // namespace headroom
