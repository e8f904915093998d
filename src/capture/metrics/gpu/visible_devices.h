// CUDA_VISIBLE_DEVICES and its AMD kin: which GPUs a program sees, and in which order.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A GPU as the program numbers it: the first is its "GPU 0".
struct VisibleDevice {
  std::size_t index = 0;  ///< Among all GPUs of the machine.
  std::string mig = {};   ///< UUID of the part of it (MIG) that the program sees; empty: the whole.
};

/// The GPU that a part of one (MIG) belongs to.
using FindMigParent = std::function<std::optional<std::size_t>(const std::string& mig_uuid)>;

/// Reads the variable as CUDA does: numbers, UUIDs ("GPU-8932f937...", or as many of its characters
/// as tell it from others) and parts of GPUs ("MIG-<uuid>", or "MIG-GPU-<uuid>/gi/ci"). The first
/// entry that names no GPU ends the list; a GPU named twice counts once. nullopt: the variable is
/// not set, all are visible; set and empty: none. `uuids` are those of all GPUs of the machine, ""
/// for one that does not tell.
std::vector<VisibleDevice> ResolveVisible(std::optional<std::string_view> variable,
                                          const std::vector<std::string>& uuids,
                                          const FindMigParent& find_mig_parent);

}  // namespace headroom
