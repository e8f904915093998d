// The names that the events and stats of one plane refer to by id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/string_pool.h"
#include "ingest/input/row_budget.h"
#include "store/tables.h"

namespace headroom::xplane {

/// Stats with a special meaning for the reader. Their names are in plane_texts.cc.
enum class StatKey : std::uint8_t {
  kOther,
  kCorrelation,
  kKernelDetails,
  kCopyDetails,
  kHloOp,
  kTfOp,
  kStep,
  kRoot,
  kGraphNode,
  kOccupancy,
  kProduces,
  kProducesKind,
  kConsumes,
  kConsumesKind,
  kAllocationBytes,
  kAddress,
  kAllocatedBytes,
  kReservedBytes,
  kAllocator,
  kProfileStart,
  kCoreCount,
  kMemoryBytes,
  kComputeMajor,
  kComputeMinor,
  kDeviceType,
};

/// Metadata to which events refer by one id.
struct EventText {
  StringId name;      ///< None if the plane has no metadata with this id.
  StringId category;  ///< For host events.
  HostEventKind host_kind = HostEventKind::kOther;
  GpuTaskKind gpu_kind = GpuTaskKind::kKernel;
  std::int8_t allocates = 0;  ///< 1 for an allocation, -1 for a free, else 0.
  /// The metadata message if it contains stats for all its events; otherwise empty.
  std::string_view stats;
};

/// Metadata to which stats refer by one id.
struct StatText {
  std::string_view name;  ///< View of the plane's text.
  StatKey key = StatKey::kOther;
  bool known = false;
};

/// A map with a dense part for small ids, because a file may choose any id. The size of the plane
/// bounds the dense part, because a hostile file may contain a plane in every 20 bytes.
template <typename Value>
class NumberMap {
 public:
  Value& operator[](std::uint64_t number) {
    if (number >= dense_limit_) return sparse_[number];
    if (number >= dense_.size()) dense_.resize(static_cast<std::size_t>(number) + 1);
    return dense_[static_cast<std::size_t>(number)];
  }
  /// Returns null if the map has no such id.
  const Value* Find(std::uint64_t number) const {
    if (number < dense_.size()) return &dense_[static_cast<std::size_t>(number)];
    if (number < dense_limit_) return nullptr;
    const auto it = sparse_.find(number);
    return it == sparse_.end() ? nullptr : &it->second;
  }
  /// Clears the map for a plane of `text_bytes` bytes.
  void Begin(std::size_t text_bytes) {
    constexpr std::size_t kLargest = 1 << 16;
    dense_.clear();
    sparse_.clear();
    dense_limit_ = std::min(text_bytes, kLargest);
  }

 private:
  std::uint64_t dense_limit_ = 0;
  std::vector<Value> dense_;
  std::map<std::uint64_t, Value> sparse_;
};

/// Names of one plane. Ids are local to a plane.
class PlaneTexts {
 public:
  /// Reads the metadata of a plane, which follows its lines, within the limits of `rows`. Returns
  /// false if any metadata is damaged.
  ///
  /// @param of_device  true for a device plane, where AMD kernel names have the suffix of their
  /// descriptor
  bool Read(std::string_view plane, bool of_device, StringPool& strings, RowBudget& rows);

  const EventText* Event(std::uint64_t id) const {
    const EventText* const found = events_.Find(id);
    return found != nullptr && found->name.valid() ? found : nullptr;
  }
  const StatText* Stat(std::uint64_t id) const {
    const StatText* const found = stats_.Find(id);
    return found != nullptr && found->known ? found : nullptr;
  }

 private:
  bool ReadEvent(std::string_view text, bool of_device, StringPool& strings);
  bool ReadStat(std::string_view text);

  NumberMap<EventText> events_;
  NumberMap<StatText> stats_;
};

}  // namespace headroom::xplane
