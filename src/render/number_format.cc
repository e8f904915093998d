#include "render/number_format.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace headroom {
namespace {

/// `value` / 10^`scale` with `decimals` digits after the point, from the integer; half away from
/// zero.
std::string FixedPoint(std::uint64_t value, int scale, int decimals) {
  std::uint64_t divisor = 1;
  for (int i = decimals; i < scale; ++i) divisor *= 10;
  const std::uint64_t rounded =
      value / divisor + (value % divisor >= divisor - divisor / 2 ? 1 : 0);
  std::uint64_t one = 1;
  for (int i = 0; i < decimals; ++i) one *= 10;
  if (decimals == 0) return fmt::format("{}", rounded);
  return fmt::format("{}.{:0{}}", rounded / one, rounded % one, decimals);
}

std::uint64_t Magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

/// `value` with a prefix to 1000, to four digits.
std::string WithPrefix(double value, std::string_view unit) {
  static constexpr const char* kPrefixes[] = {"", "k", "M", "G", "T", "P", "E"};
  if (!std::isfinite(value)) return fmt::format("unknown {}", unit);
  std::size_t prefix = 0;
  while (std::fabs(value) >= 999.95 && prefix + 1 < std::size(kPrefixes)) {
    value /= 1000;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.0f} {}", value, unit);
  return fmt::format("{:.{}f} {}{}", value, std::fabs(value) < 99.995 ? 2 : 1, kPrefixes[prefix],
                     unit);
}

/// A unit, and how many of the smallest one of its row it is.
struct Unit {
  double size;
  std::string_view name;
};

/// In the largest unit of which there is at least one, else in the smallest; at least three digits.
std::string InUnits(double value, std::span<const Unit> units) {
  constexpr double kRounding = 0.9995;  // What is rounded up to one of the next unit is one of it.
  std::size_t unit = 0;
  while (unit + 1 < units.size() && std::fabs(value) >= kRounding * units[unit + 1].size) ++unit;
  const double number = value / units[unit].size;
  const double magnitude = std::fabs(number);
  if (!std::isfinite(number)) return fmt::format("unknown {}", units[unit].name);
  if (number == 0) return fmt::format("0 {}", units[unit].name);
  if (magnitude < 0.01) return fmt::format("<0.01 {}", units[unit].name);
  if (magnitude >= 999.5 && magnitude < 1e15)
    return fmt::format("{} {}", FormatCount(std::llround(number)), units[unit].name);
  const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", number, decimals, units[unit].name);
}

}  // namespace

std::string FormatMs(DurationNs duration) {
  if (duration.ns() == 0) return "0 ms";
  const std::uint64_t ns = Magnitude(duration.ns());
  const char* sign = duration.ns() < 0 ? "-" : "";
  if (ns < 500) return duration.ns() < 0 ? ">-0.001 ms" : "<0.001 ms";
  const int decimals = ns < 999'500 ? 3 : ns < 999'995'000 ? 2 : 1;
  return fmt::format("{}{} ms", sign, FixedPoint(ns, 6, decimals));
}

std::string FormatUs(DurationNs duration) {
  if (duration.ns() == 0) return "0 us";
  const std::uint64_t ns = Magnitude(duration.ns());
  const int decimals = ns < 10 ? 3 : ns < 99'995 ? 2 : 1;
  return fmt::format("{}{} us", duration.ns() < 0 ? "-" : "", FixedPoint(ns, 3, decimals));
}

std::string FormatPercent(double percent) {
  if (!std::isfinite(percent)) return "unknown";
  if (percent == 0) return "0 %";
  if (std::fabs(percent) < 0.05) return percent < 0 ? ">-0.1 %" : "<0.1 %";
  return fmt::format("{:.1f} %", percent);
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
  return fmt::format("{:.2f}x", factor);
}

}  // namespace headroom
