// Field numbers of the public Perfetto trace format that Headroom writes or reads.
// perfetto_trace.proto in this folder declares them for other tools.
#pragma once

#include <cstdint>

namespace headroom::perfetto {

/// Fields of the whole file: `Trace`.
enum class TraceField : std::uint32_t { kPacket = 1 };

enum class PacketField : std::uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kIncrementalStateCleared = 41,  ///< Older form of the sequence flags.
  kPreviousPacketDropped = 42,
  kProcessDescriptor = 43,  ///< Per sequence; replaced by track descriptors.
  kThreadDescriptor = 44,   ///< Per sequence; replaced by track descriptors.
  kCompressedPackets = 50,
  kGpuRenderStageEvent = 53,
  kTimestampClockId = 58,
  kDefaults = 59,
  kTrackDescriptor = 60,
  kZstdCompressedPackets = 133,
};

/// Bits of PacketField::kSequenceFlags.
enum SequenceFlag : std::uint32_t {
  kIncrementalStateCleared = 1,
  kNeedsIncrementalState = 2,
};

enum class ClockSnapshotField : std::uint32_t { kClock = 1, kPrimaryTraceClock = 2 };
enum class ClockField : std::uint32_t {
  kId = 1,
  kTimestamp = 2,
  kIsIncremental = 3,
  kUnitNs = 4,
};

/// Clocks of the operating system. Ids from 64 to 127 belong to one sequence.
enum class Clock : std::uint32_t {
  kRealtime = 1,
  kRealtimeCoarse = 2,
  kMonotonic = 3,
  kMonotonicCoarse = 4,
  kMonotonicRaw = 5,
  kBoottime = 6,
};

enum class DefaultsField : std::uint32_t { kTrackEvent = 11, kTimestampClockId = 58 };
enum class TrackEventDefaultsField : std::uint32_t {
  kTrack = 11,
  kExtraCounterTracks = 31,
  kExtraDoubleCounterTracks = 45,
};

enum class TrackDescriptorField : std::uint32_t {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8,
  kStaticName = 10,
};
enum class ProcessDescriptorField : std::uint32_t { kPid = 1, kName = 6, kLabels = 8 };
enum class ThreadDescriptorField : std::uint32_t {
  kPid = 1,
  kTid = 2,
  kName = 5,
  kReferenceTimestampUs = 6,
};
enum class CounterDescriptorField : std::uint32_t {
  kType = 1,
  kUnit = 3,
  kUnitMultiplier = 4,
  kIsIncremental = 5,
  kUnitName = 6,
};
enum class CounterUnit : std::uint32_t { kTimeNs = 1, kCount = 2, kBytes = 3 };
enum class CounterType : std::uint32_t { kThreadTimeNs = 1, kThreadInstructions = 2 };

enum class TrackEventField : std::uint32_t {
  kTimestampDeltaUs = 1,
  kCategoryIids = 3,
  kDebugAnnotations = 4,
  kLegacyEvent = 6,
  kType = 9,
  kNameIid = 10,
  kTrack = 11,
  kExtraCounterValues = 12,
  kTimestampAbsoluteUs = 16,
  kCategories = 22,
  kName = 23,
  kCounterValue = 30,
  kExtraCounterTracks = 31,
  kDoubleCounterValue = 44,
  kFlowIds = 47,
  kTerminatingFlowIds = 48,
  kExtraDoubleCounterTracks = 45,
  kExtraDoubleCounterValues = 46,
};
enum class TrackEventType : std::uint32_t {
  kSliceBegin = 1,
  kSliceEnd = 2,
  kInstant = 3,
  kCounter = 4
};

enum class LegacyEventField : std::uint32_t {
  kNameIid = 1,
  kPhase = 2,
  kDurationUs = 3,
  kUnscopedId = 6,
  kBindToEnclosing = 12,
  kPid = 18,
  kTid = 19,
};

enum class DebugAnnotationField : std::uint32_t {
  kNameIid = 1,
  kBool = 2,
  kUint = 3,
  kInt = 4,
  kDouble = 5,
  kString = 6,
  kPointer = 7,
  kLegacyJson = 9,
  kName = 10,
  kDictEntries = 11,
  kArrayValues = 12,
  kStringIid = 17,
};

enum class InternedDataField : std::uint32_t {
  kCategories = 1,
  kEventNames = 2,
  kDebugAnnotationNames = 3,
  kGpuSpecifications = 24,
  kDebugAnnotationStrings = 29,
};
/// All kinds of interned text share these first two fields.
enum class InternedField : std::uint32_t { kIid = 1, kText = 2 };

enum class RenderStageField : std::uint32_t {
  kEventId = 1,
  kDuration = 2,
  kQueueId = 3,
  kStageId = 4,
  kExtraData = 6,
  kSpecifications = 7,
  kGpuId = 11,
  kQueueIid = 13,
  kStageIid = 14,
  kName = 17,
  kNameIid = 20,
};
enum class ExtraDataField : std::uint32_t { kName = 1, kValue = 2 };
enum class SpecificationsField : std::uint32_t { kQueue = 2, kStage = 3 };
enum class DescriptionField : std::uint32_t { kName = 1 };

}  // namespace headroom::perfetto
