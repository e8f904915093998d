// Names of the arguments that Kineto writes with its events. Other formats use the same names, so
// the readers and writers of all formats take them from here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom {

// clang-format off
// Arguments that a reader interprets, most of them with a column: X(kArgument, "name"). The last
// two belong to the events that name tracks.
#define HEADROOM_KINETO_ARGS(X) \
  X(kExternalId, "External id") \
  X(kCorrelation, "correlation") \
  X(kStream, "stream") \
  X(kDevice, "device") \
  X(kEventIndex, "Ev Idx") \
  X(kRecordFunction, "Record function id") \
  X(kSequence, "Sequence number") \
  X(kForwardThread, "Fwd thread id") \
  X(kGrid, "grid") \
  X(kBlock, "block") \
  X(kRegisters, "registers per thread") \
  X(kSharedMemory, "shared memory") \
  X(kOccupancy, "est. achieved occupancy %") \
  X(kBytes, "bytes") \
  X(kBandwidth, "memory bandwidth (GB/s)") \
  X(kGraphNode, "graph node id") \
  X(kPythonId, "Python id") \
  X(kPythonParentId, "Python parent id") \
  X(kSyncKind, "cuda_sync_kind") \
  X(kWaitOnStream, "wait_on_stream") \
  X(kWaitOnCorrelation, "wait_on_cuda_event_record_corr_id") \
  X(kCollectiveName, "Collective name") \
  X(kInElements, "In msg nelems") \
  X(kOutElements, "Out msg nelems") \
  X(kDtype, "dtype") \
  X(kGroupSize, "Group size") \
  X(kProcessGroup, "Process Group Name") \
  X(kAddress, "Addr") \
  X(kMemoryBytes, "Bytes") \
  X(kTotalAllocated, "Total Allocated") \
  X(kTotalReserved, "Total Reserved") \
  X(kDeviceType, "Device Type") \
  X(kDeviceId, "Device Id") \
  X(kName, "name") \
  X(kLabels, "labels")
// clang-format on

/// An argument that a reader interprets.
enum class KinetoArg : std::uint8_t {
  kOther,  ///< Any other argument.
#define X(argument, name) argument,
  HEADROOM_KINETO_ARGS(X)
#undef X
};

/// Indexed by KinetoArg.
#define X(argument, name) name,
inline constexpr std::string_view kKinetoArgNames[] = {"", HEADROOM_KINETO_ARGS(X)};
#undef X

constexpr std::string_view NameOf(KinetoArg arg) {
  return kKinetoArgNames[static_cast<std::size_t>(arg)];
}

// Arguments without a column, for TraceStore::Arg().
inline constexpr std::string_view kInputDimsArg = "Input Dims";
inline constexpr std::string_view kInputTypesArg = "Input type";
/// Written by older PyTorch versions.
inline constexpr std::string_view kOldInputTypesArg = "Input Types";
inline constexpr std::string_view kInputStridesArg = "Input Strides";
inline constexpr std::string_view kConcreteInputsArg = "Concrete Inputs";
inline constexpr std::string_view kGroupDescriptionArg = "Process Group Description";
inline constexpr std::string_view kGroupRanksArg = "Process Group Ranks";
inline constexpr std::string_view kSourceRankArg = "Src Rank";
inline constexpr std::string_view kDestinationRankArg = "Dst Rank";

}  // namespace headroom
