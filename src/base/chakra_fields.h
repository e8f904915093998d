// Field numbers and enumerators of the public Chakra execution trace (MLCommons, et_def.proto) that
// Headroom reads and writes. src/export/chakra_trace.proto declares the written part for other
// tools. This file also names the additional attributes in Headroom's traces (docs/export.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace headroom::chakra {

/// `GlobalMetadata`, the first message of a file.
enum class MetadataField : std::uint32_t { kVersion = 1, kAttr = 2 };

/// `Node`: each message after the first.
enum class NodeField : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kCtrlDeps = 4,
  kDataDeps = 5,
  kStartTimeMicros = 6,
  kDurationMicros = 7,
  kInputs = 8,
  kOutputs = 9,
  kAttr = 10,
  kStorage = 11,
};

/// `IOInfo`: inputs or outputs of an operator, as text.
enum class IoField : std::uint32_t { kValues = 1, kShapes = 2, kTypes = 3 };

/// `AttributeProto`: a name and one value.
enum class AttrField : std::uint32_t {
  kName = 1,
  kDoc = 2,
  kDouble = 3,
  kDoubleList = 4,
  kFloat = 5,
  kInt32 = 7,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint64 = 13,
  kSint32 = 15,
  kSint64 = 17,
  kFixed32 = 19,
  kFixed64 = 21,
  kSfixed32 = 23,
  kSfixed64 = 25,
  kBool = 27,
  kString = 29,
  kStringList = 30,
  kBytes = 31,
  kBytesList = 32,
};

/// `Int64List`, `DoubleList`, `StringList`.
enum class ListField : std::uint32_t { kValues = 1 };

enum class NodeType : std::uint8_t {
  kInvalid = 0,
  kMetadata = 1,
  kMemLoad = 2,
  kMemStore = 3,
  kComp = 4,
  kCommSend = 5,
  kCommRecv = 6,
  kCommColl = 7,
};

/// `CollectiveCommType`: the value of a collective's attribute `comm_type`.
enum class CommType : std::uint8_t {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
};

/// Value of the metadata attribute `schema` in Headroom's traces.
inline constexpr std::string_view kOwnSchema = "headroom.chakra/1";
/// Name of the node that lists groups of ranks, as in PyTorch's execution traces.
inline constexpr std::string_view kGroupsNode = "process_group:init";
/// Prefixes of metadata attributes in Headroom's traces. A software name or an issue code follows.
inline constexpr std::string_view kVersionPrefix = "version:";
inline constexpr std::string_view kDamagePrefix = "damage:";

/// A column and the attribute that holds its value in Headroom's traces, if the names differ.
struct Renamed {
  std::string_view column, attribute;
};
/// Renamed columns of a host event. Its first node holds them as attributes, because the node's own
/// time may cover only a part of the event.
inline constexpr std::array<Renamed, 3> kHostEventNames = {{
    {"start", "event_start_ns"},
    {"duration", "event_duration_ns"},
    {"thread", "tid"},
}};
inline constexpr std::array<Renamed, 2> kTaskNames = {{
    {"start", "start_ns"},
    {"duration", "duration_ns"},
}};
inline constexpr std::array<Renamed, 1> kCollectiveNames = {{{"name", "collective"}}};

/// Returns the attribute name of a column's value.
template <std::size_t N>
constexpr std::string_view AttributeOf(const std::array<Renamed, N>& names,
                                       std::string_view column) {
  for (const Renamed& name : names) {
    if (name.column == column) return name.attribute;
  }
  return column;
}

}  // namespace headroom::chakra
