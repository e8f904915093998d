// Field numbers and enumerators of the public Chakra execution trace (MLCommons, et_def.proto), as
// far as Headroom writes it; the same, for other tools, is chakra_trace.proto beside this file.
#pragma once

#include <cstdint>

namespace headroom::chakra {

/// `GlobalMetadata`, the first message of a file.
enum class MetadataField : std::uint32_t { kVersion = 1, kAttr = 2 };

/// `Node`, every further message.
enum class NodeField : std::uint32_t {
  kId = 1,
  kName = 2,
  kType = 3,
  kCtrlDeps = 4,
  kDataDeps = 5,
  kStartTimeMicros = 6,
  kDurationMicros = 7,
  kInputs = 8,
  kAttr = 10,
};

/// `IOInfo`: what goes into an operator, as text.
enum class IoField : std::uint32_t { kValues = 1, kShapes = 2, kTypes = 3 };

/// `AttributeProto`: a name and one value.
enum class AttrField : std::uint32_t {
  kName = 1,
  kInt32 = 7,
  kInt64 = 9,
  kUint64 = 13,
  kBool = 27,
  kString = 29,
};

enum class NodeType : std::uint8_t {
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
  kBarrier = 9,
};

}  // namespace headroom::chakra
