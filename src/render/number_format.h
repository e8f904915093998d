// Formats figures for people. Findings of the analyses and sections of the report use the same
// functions, so both show the same text. A space separates number and unit. The locale has no
// effect.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace headroom {

/// Formats a time for a column: in milliseconds up to ten seconds, then in seconds. Has three
/// significant digits, and at most three decimals: "12.3 ms", "0.123 ms", "1,234 ms", "13.3 s". "0
/// ms" means exactly zero; times below half a microsecond are "<0.001 ms". Rounds half away from
/// zero.
std::string FormatMs(DurationNs duration);
std::string FormatMs(double ms);

/// Formats a time for a column, always in microseconds: "12.3 us", "1,234 us"; "0.005 us" below 10
/// ns. "0 us" means exactly zero.
std::string FormatUs(DurationNs duration);

/// Formats a time for a sentence, in a suitable unit with three significant digits: "371 us", "6.77
/// ms", "13.3 s".
std::string FormatTime(DurationNs duration);

/// Returns "15 ms (12-18)": a value between two bounds, all given in milliseconds and shown in one
/// unit. Has two significant digits if the bounds differ by more than 10 % of the value, else
/// three.
std::string FormatTimeBetween(double ms, double low_ms, double high_ms);
/// Returns "15 ms": the value as FormatTimeBetween() shows it, without the bounds.
std::string FormatUncertainTime(double ms, double low_ms, double high_ms);

/// Returns "31.2 %"; "<0.1 %" for a nonzero value that would round to zero; "0 %" for zero.
std::string FormatPercent(double percent);

/// Returns "159", "12.3", "4,320" or "0.612": three significant digits, at most three decimals.
std::string FormatNumber(double number);

/// Returns, for example, "12,345".
std::string FormatCount(std::int64_t count);

/// Returns, for example, "1 event" or "12,345 events".
std::string Plural(std::int64_t count, std::string_view noun);

/// Returns, for example, "512 B", "1.15 MB" or "150 GB": decimal units.
std::string FormatBytes(double bytes);

/// Returns "141 GB (139.8 GiB)" for a GPU's memory: the size on the product's label, in whose GB
/// are GiB, and the size that the driver reports. Returns only the GiB if no product has a similar
/// size.
std::string FormatDeviceMemory(double bytes);

/// Returns a number of operations, such as "989 TFLOP"; with the `unit` "FLOP/s", a rate.
std::string FormatFlops(double flops, std::string_view unit = "FLOP");

/// Returns "46.8 J", "1.72 kJ" or "371 uJ": three digits. "0 J" only for zero.
std::string FormatEnergy(double joules);

/// Returns "4.05 kg", "12.3 g", "9.53 mg" or "1.20 t": three digits. "0 g" only for zero.
std::string FormatMass(double kg);

/// Returns the time of whole jobs: "45.2 s", "12.3 min", "5.25 h", "1,234 h".
std::string FormatHours(double hours);

/// Returns, for example, "1.35x", "27.2x" or "1,340x".
std::string FormatFactor(double factor);

}  // namespace headroom
