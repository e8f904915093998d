// What a trace tells of its collectives beside the kernels' times, by kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

struct CollectiveArguments {
  std::string_view name;                ///< "allreduce"; empty: not told.
  std::string_view group;               ///< Of ranks; empty: not told.
  std::optional<double> bytes;          ///< Of the whole tensor.
  std::optional<std::int64_t> members;  ///< Ranks of the group.
  std::string_view description;         ///< Of the group: "mesh_tp"; empty: not told.
  std::string_view ranks;               ///< Its members in words: "[0, 1]"; empty: not told.
};

class CollectiveRows {
 public:
  /// `store` is kept and must outlive the object.
  explicit CollectiveRows(const TraceStore& store);

  /// nullopt: nothing was recorded of this row of the GPU tasks.
  std::optional<CollectiveArguments> Of(std::size_t gpu_task) const;

 private:
  const TraceStore& store_;
  std::map<std::size_t, std::size_t> row_of_;  ///< Of the collectives, by GPU task.
};

}  // namespace headroom
