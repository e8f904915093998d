// Arguments of collectives that a trace records in addition to the kernels' times, by kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

struct CollectiveArguments {
  std::string_view name;                ///< "allreduce"; empty if not recorded.
  std::string_view group;               ///< Process group; empty if not recorded.
  std::optional<double> bytes;          ///< Size of the whole tensor.
  std::optional<std::int64_t> members;  ///< Number of ranks in the group.
  /// The group's description, such as "mesh_tp"; empty if not recorded.
  std::string_view description;
  std::string_view ranks;  ///< The group's ranks as text, such as "[0, 1]"; empty if not recorded.
};

class CollectiveRows {
 public:
  /// Keeps a reference to `store`, which must outlive the object.
  explicit CollectiveRows(const TraceStore& store);

  /// Returns nullopt if the store has no collective for this row of the GPU tasks.
  std::optional<CollectiveArguments> Of(std::size_t gpu_task) const;

 private:
  const TraceStore& store_;
  std::map<std::size_t, std::size_t> row_of_;  ///< Rows of the collectives, by GPU task.
};

}  // namespace headroom
