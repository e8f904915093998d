// Spans by row, independent of their kind and storage.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "base/time.h"

namespace headroom {

/// Kind of a span for drawing. The page uses the same numbers.
enum class SpanStyle : std::uint8_t {
  kPythonFrame = 0,
  kAnnotation = 1,
  kOperator = 2,
  kApiCall = 3,
  kOverhead = 4,
  kOther = 5,
  kCompute = 6,
  kCommunication = 7,
  kCopy = 8,
  kIdleForHost = 9,     ///< The stream was empty before the next task's launch.
  kIdleForOthers = 10,  ///< The next task was launched earlier, but waits for other GPU work.
  kIdleUnknown = 11,
  kCounter = 12,
  kIdleOthersWork =
      13,  ///< Another stream of the device works meanwhile, so the idle time costs nothing.
};

/// Marks how a forecast's span differs from the recorded job; added to its style.
inline constexpr std::uint32_t kStyleChanged = 0x100;
inline constexpr std::uint32_t kStyleInserted = 0x200;

/// Columns of equal length; the referenced data must outlive the table.
struct SpanTable {
  std::span<const TimeNs> start;
  std::span<const DurationNs> duration;  ///< At least 0.
  std::span<const StringId> name;
  std::span<const double> value = {};  ///< Values of a counter, one per span; else empty.
  std::vector<std::uint16_t> style;    ///< SpanStyle with added flags.
  const StringPool* names = nullptr;
  /// First number of this table's names in the numbering over all shown tables.
  std::uint32_t first_name = 0;

  TimeNs End(std::uint32_t row) const { return start[row] + duration[row]; }
  std::uint32_t NameNumber(std::uint32_t row) const { return first_name + name[row].index(); }
};

}  // namespace headroom
