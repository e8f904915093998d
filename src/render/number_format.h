// Figures as people read them: one spelling for the analyses, which quote figures in findings, and
// for the report, whose sections must show the same text. A space stands between number and unit.
// Independent of the locale.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace headroom {

/// For columns: milliseconds, seconds from ten on. Three significant digits, at most three
/// decimals: "12.3 ms", "0.123 ms", "1,234 ms", "13.3 s"; "0 ms" only where it is zero, "<0.001 ms"
/// below half a microsecond. Rounded half away from zero.
std::string FormatMs(DurationNs duration);
std::string FormatMs(double ms);

/// For columns: always microseconds. "12.3 us", "1,234 us", "0.005 us" below 10 ns; "0 us" only
/// where it is zero.
std::string FormatUs(DurationNs duration);

/// For sentences: "371 us", "6.77 ms", "13.3 s": three significant digits, with the unit that suits
/// the value.
std::string FormatTime(DurationNs duration);

/// "15 ms (12-18)": a value between two bounds, all in milliseconds and in one unit. Two
/// significant digits if the bounds are more than 10 % of the value apart, else three.
std::string FormatTimeBetween(double ms, double low_ms, double high_ms);
/// "15 ms": the same without the bounds.
std::string FormatUncertainTime(double ms, double low_ms, double high_ms);

/// "31.2 %"; "<0.1 %" where rounding would hide that there is something, "0 %" where there is
/// nothing.
std::string FormatPercent(double percent);

/// "159", "12.3", "4,320", "0.612": three significant digits, at most three decimals.
std::string FormatNumber(double number);

/// "12,345".
std::string FormatCount(std::int64_t count);

/// "1 event", "12,345 events".
std::string Plural(std::int64_t count, std::string_view noun);

/// "512 B", "1.15 MB", "150 GB": decimal units.
std::string FormatBytes(double bytes);

/// "141 GB (139.8 GiB)": the memory of a GPU, by the label of the product, whose GB are GiB, and
/// what the driver reports of it. Only the GiB if no product has about as much.
std::string FormatDeviceMemory(double bytes);

/// "989 TFLOP": a number of operations. With a `unit` of "FLOP/s", a rate.
std::string FormatFlops(double flops, std::string_view unit = "FLOP");

/// "46.8 J", "1.72 kJ", "371 uJ": three digits. "0 J" only where it is zero.
std::string FormatEnergy(double joules);

/// "4.05 kg", "12.3 g", "9.53 mg", "1.20 t": three digits. "0 g" only where it is zero.
std::string FormatMass(double kg);

/// "45.2 s", "12.3 min", "5.25 h", "1,234 h": of whole jobs.
std::string FormatHours(double hours);

/// "1.35x", "27.2x", "1,340x".
std::string FormatFactor(double factor);

}  // namespace headroom
