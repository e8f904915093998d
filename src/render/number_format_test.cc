#include "render/number_format.h"

#include <gtest/gtest.h>

#include <limits>

namespace headroom {
namespace number_format_test {

TEST(Plural, OneIsSingular) {
  EXPECT_EQ(Plural(1, "GPU task"), "1 GPU task");
  EXPECT_EQ(Plural(0, "step"), "0 steps");
  EXPECT_EQ(Plural(12'345, "event"), "12,345 events");
}

TEST(Format, MillisecondsKeepThreeDigitsAndNeverHideSomethingAsZero) {
  const struct {
    std::int64_t ns;
    const char* text;
  } kCases[] = {
      {0, "0 ms"},
      {1, "<0.001 ms"},
      {499, "<0.001 ms"},
      {500, "0.001 ms"},
      {1'499, "0.001 ms"},
      {1'500, "0.002 ms"},
      {999'499, "0.999 ms"},
      {999'500, "1.00 ms"},
      {12'344'999, "12.3 ms"},
      {12'345'000, "12.3 ms"},
      {999'994'999, "1,000 ms"},
      {999'995'000, "1,000 ms"},
      {1'234'567'890, "1,235 ms"},
      {-12'345'000, "-12.3 ms"},
      {9'999'499'999, "9,999 ms"},
      {9'999'500'000, "10.0 s"},
      {-1, ">-0.001 ms"},
      {std::numeric_limits<std::int64_t>::max(), "9,223,372,037 s"},
      {std::numeric_limits<std::int64_t>::min(), "-9,223,372,037 s"},
  };
  for (const auto& c : kCases) EXPECT_EQ(FormatMs(DurationNs(c.ns)), c.text) << c.ns;
}

TEST(Format, Microseconds) {
  const struct {
    std::int64_t ns;
    const char* text;
  } kCases[] = {
      {0, "0 us"},        {1, "0.001 us"},     {9, "0.009 us"},      {10, "0.01 us"},
      {14, "0.01 us"},    {15, "0.02 us"},     {12'344, "12.3 us"},  {99'994, "100 us"},
      {99'995, "100 us"}, {123'450, "123 us"}, {-1'000, "-1.00 us"},
  };
  for (const auto& c : kCases) EXPECT_EQ(FormatUs(DurationNs(c.ns)), c.text) << c.ns;
}

TEST(Format, TimesScaleAndNarrowIntervalsKeepThreeDigits) {
  EXPECT_EQ(FormatTime(DurationNs(371'400)), "371 us");
  EXPECT_EQ(FormatTime(DurationNs(13'345'000'000)), "13.3 s");
  EXPECT_EQ(FormatTimeBetween(79.64, 78.83, 80.44), "79.6 ms (78.8-80.4)");
  EXPECT_EQ(FormatTimeBetween(50.2, 41.4, 59.1), "50 ms (41-59)");
  EXPECT_EQ(FormatTimeBetween(0.862, 0.70, 1.02), "860 us (700-1,020)");
  EXPECT_EQ(FormatTimeBetween(999.7, 999.6, 999.8), "1.00 s (1.00-1.00)");
  EXPECT_EQ(FormatTimeBetween(99.6, 50, 140), "100 ms (50-140)");
  EXPECT_EQ(FormatTimeBetween(3, -1, 7), "3.0 ms (-1.0 to 7.0)");
  EXPECT_EQ(FormatTimeBetween(0, 0, 0), "0 us (0-0)");
  EXPECT_EQ(FormatNumber(4318), "4,320");
  EXPECT_EQ(FormatFactor(27.2), "27.2x");
  EXPECT_EQ(FormatFactor(1338), "1,338x");
}

TEST(Format, DeviceMemoryIsThatOfTheLabel) {
  EXPECT_EQ(FormatDeviceMemory(150'109'880'320), "141 GB (139.8 GiB)");
  EXPECT_EQ(FormatDeviceMemory(85'017'493'504), "80 GB (79.2 GiB)");
  EXPECT_EQ(FormatDeviceMemory(206'141'652'992), "192 GB (192.0 GiB)");
  EXPECT_EQ(FormatDeviceMemory(15'828'320'256), "16 GB (14.7 GiB)");
  EXPECT_EQ(FormatDeviceMemory(68'702'699'520), "64 GB (64.0 GiB)");
  EXPECT_EQ(FormatDeviceMemory(1'000'000'000'000), "931.3 GiB");
}

TEST(Format, Percent) {
  EXPECT_EQ(FormatPercent(31.25), "31.2 %");
  EXPECT_EQ(FormatPercent(100), "100.0 %");
  EXPECT_EQ(FormatPercent(0), "0 %");
  EXPECT_EQ(FormatPercent(0.049), "<0.1 %");
  EXPECT_EQ(FormatPercent(std::numeric_limits<double>::quiet_NaN()), "unknown");
}

TEST(Format, EnergyMassAndHoursHaveThreeDigitsAndNoExponent) {
  EXPECT_EQ(FormatEnergy(0), "0 J");
  EXPECT_EQ(FormatEnergy(1e-12), "<0.01 uJ");
  EXPECT_EQ(FormatEnergy(0.000371), "371 uJ");
  EXPECT_EQ(FormatEnergy(0.9996), "1.00 J");
  EXPECT_EQ(FormatEnergy(46.84), "46.8 J");
  EXPECT_EQ(FormatEnergy(120), "120 J");
  EXPECT_EQ(FormatEnergy(1718), "1.72 kJ");
  EXPECT_EQ(FormatEnergy(1.5e13), "15,000 GJ");
  EXPECT_EQ(FormatMass(0), "0 g");
  EXPECT_EQ(FormatMass(9.53e-06), "9.53 mg");
  EXPECT_EQ(FormatMass(4.05), "4.05 kg");
  EXPECT_EQ(FormatMass(1720), "1.72 t");
  EXPECT_EQ(FormatHours(0), "0 s");
  EXPECT_EQ(FormatHours(1e-6), "3.60 ms");
  EXPECT_EQ(FormatHours(0.0003), "1.08 s");
  EXPECT_EQ(FormatHours(0.999999), "1.00 h");
  EXPECT_EQ(FormatHours(0.75), "45.0 min");
  EXPECT_EQ(FormatHours(1234.4), "1,234 h");
}

TEST(Format, CountsBytesRatesAndFactors) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'000), "1,000");
  EXPECT_EQ(FormatCount(-1'234'567), "-1,234,567");
  EXPECT_EQ(FormatBytes(512), "512 B");
  EXPECT_EQ(FormatBytes(1'152'765), "1.15 MB");
  EXPECT_EQ(FormatBytes(999'960), "1.00 MB");
  EXPECT_EQ(FormatBytes(150'109'880'320), "150 GB");
  EXPECT_EQ(FormatFlops(989.4e12, "FLOP/s"), "989 TFLOP/s");
  EXPECT_EQ(FormatFactor(1.349), "1.35x");
}

}  // namespace number_format_test
}  // namespace headroom
