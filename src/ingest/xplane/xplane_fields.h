// Field numbers of the public XPlane format (tsl/profiler/protobuf/xplane.proto) that Headroom
// reads. tests/oracle/xplane.py reads the same fields independently.
#pragma once

#include <cstdint>

namespace headroom::xplane {

/// Fields of the whole file: `XSpace`.
enum class SpaceField : std::uint32_t { kPlane = 1, kError = 2, kWarning = 3, kHostname = 4 };

enum class PlaneField : std::uint32_t {
  kId = 1,
  kName = 2,
  kLine = 3,
  kEventMetadata = 4,  ///< A map: entries of MapField.
  kStatMetadata = 5,   ///< Also a map of MapField entries.
  kStat = 6,
};

enum class MapField : std::uint32_t { kKey = 1, kValue = 2 };

enum class EventMetadataField : std::uint32_t { kName = 2, kDisplayName = 4, kStat = 5 };

enum class StatMetadataField : std::uint32_t { kName = 2 };

enum class LineField : std::uint32_t { kId = 1, kName = 2, kTimestampNs = 3, kEvent = 4 };

enum class EventField : std::uint32_t {
  kMetadataId = 1,
  kOffsetPs = 2,
  kDurationPs = 3,
  kStat = 4,
  kOccurrences = 5,  ///< Present instead of kOffsetPs: a sum of many events, without a time.
};

enum class StatField : std::uint32_t {
  kMetadataId = 1,
  kDouble = 2,
  kUnsigned = 3,
  kSigned = 4,
  kText = 5,
  kBytes = 6,
  kReference = 7,  ///< The id of a stat's metadata, whose name is the value.
};

}  // namespace headroom::xplane
