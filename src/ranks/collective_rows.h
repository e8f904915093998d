// Looks up the recorded arguments of a collective kernel: its kind, process group and size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "store/trace_store.h"

namespace headroom {

struct CollectiveArguments {
  std::string_view name;                ///< Kind, such as "allreduce"; empty if not recorded.
  std::string_view group;               ///< Process group; empty if not recorded.
  std::optional<double> bytes;          ///< Size of the whole tensor; nullopt if unknown.
  std::optional<std::int64_t> members;  ///< Number of ranks in the group; nullopt if not recorded.
  /// The group's description, such as "mesh_tp"; empty if not recorded.
  std::string_view description;
  /// The group's ranks as a string, such as "[0, 1]"; empty if not recorded.
  std::string_view ranks;
};

class CollectiveRows {
 public:
  /// Keeps a reference to `store`, which must outlive the object.
  explicit CollectiveRows(const TraceStore& store);

  /// Returns nullopt if the store has no collective for this row of its GPU tasks.
  std::optional<CollectiveArguments> Of(std::size_t gpu_task) const;

 private:
  const TraceStore& store_;
  /// Rows of the table of collectives, keyed by row of the GPU task.
  std::map<std::size_t, std::size_t> row_of_;
};

}  // namespace headroom
