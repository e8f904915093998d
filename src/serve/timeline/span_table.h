// Spans of time by row, whatever they are and wherever they are kept.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "base/time.h"

namespace headroom {

/// What a span is, as far as a drawing tells it apart. The page knows the numbers.
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
  kIdleForHost = 9,     ///< The next task was launched after the stream ran dry.
  kIdleForOthers = 10,  ///< The next task was launched before, and waits for other GPU work.
  kIdleUnknown = 11,
  kCounter = 12,
  kIdleOthersWork = 13,  ///< Another stream of the device works meanwhile: nothing is lost.
};

/// How a span of a forecast differs from the job as it is; added to its style.
inline constexpr std::uint32_t kStyleChanged = 0x100;
inline constexpr std::uint32_t kStyleInserted = 0x200;

/// Columns of equal length; what they point to outlives the table.
struct SpanTable {
  std::span<const TimeNs> start;
  std::span<const DurationNs> duration;  ///< At least 0.
  std::span<const StringId> name;
  std::span<const double> value = {};  ///< Of counters, which have one a span; else empty.
  std::vector<std::uint16_t> style;    ///< SpanStyle and what is added to it.
  const StringPool* names = nullptr;
  /// Where the numbers of its names begin among those of all tables that are shown together.
  std::uint32_t first_name = 0;

  TimeNs End(std::uint32_t row) const { return start[row] + duration[row]; }
  std::uint32_t NameNumber(std::uint32_t row) const { return first_name + name[row].index(); }
};

}  // namespace headroom
