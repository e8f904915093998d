// CUDA_VISIBLE_DEVICES and AMD's equivalents: the GPUs that a program sees, and their order.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// A GPU that the program sees. In a list, the first is the program's "GPU 0".
struct VisibleDevice {
  std::size_t index = 0;  ///< Index among all GPUs of the machine.
  std::string mig = {};   ///< UUID of the MIG instance that the program sees; empty: the whole GPU.
};

/// Returns the index of the GPU that contains a MIG instance; nullopt if unknown.
using FindMigParent = std::function<std::optional<std::size_t>(const std::string& mig_uuid)>;

/// Resolves the variable as CUDA does. Entries are numbers, UUIDs ("GPU-8932f937...", or a unique
/// prefix) and MIG instances ("MIG-<uuid>", or "MIG-GPU-<uuid>/gi/ci").
///
/// The first entry that names no GPU ends the list. A GPU named twice counts once. If `variable` is
/// nullopt (not set), all GPUs are visible; if it is empty, none. `uuids` lists all GPUs of the
/// machine, with "" if a GPU does not report its UUID.
std::vector<VisibleDevice> ResolveVisible(std::optional<std::string_view> variable,
                                          const std::vector<std::string>& uuids,
                                          const FindMigParent& find_mig_parent);

}  // namespace headroom
