#include "capture/metrics/gpu/visible_devices.h"

#include <algorithm>

#include "base/text.h"
#include "capture/metrics/board/fields.h"

namespace headroom {
namespace {

/// Returns the only GPU whose UUID begins with `begin`; nullopt if none or several do.
std::optional<std::size_t> FindUuid(std::string_view begin, const std::vector<std::string>& uuids) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < uuids.size(); ++i) {
    if (!std::string_view(uuids[i]).starts_with(begin)) continue;
    if (found) return std::nullopt;
    found = i;
  }
  return found;
}

std::optional<VisibleDevice> Resolve(std::string_view entry, const std::vector<std::string>& uuids,
                                     const FindMigParent& find_mig_parent) {
  constexpr std::string_view kMig = "MIG-", kGpu = "GPU-";
  if (const auto number = ParseNumber(entry)) {
    if (*number >= uuids.size()) return std::nullopt;
    return VisibleDevice{.index = *number};
  }
  std::optional<std::size_t> index;
  if (entry.starts_with(kGpu) && entry.size() > kGpu.size()) {
    index = FindUuid(entry, uuids);
    if (index) return VisibleDevice{.index = *index};
  } else if (entry.starts_with("MIG-GPU-")) {
    index = FindUuid(entry.substr(kMig.size(), entry.find('/') - kMig.size()), uuids);
  } else if (entry.starts_with(kMig)) {
    index = find_mig_parent(std::string(entry));
  }
  if (!index) return std::nullopt;
  return VisibleDevice{.index = *index, .mig = std::string(entry)};
}

}  // namespace

std::vector<VisibleDevice> ResolveVisible(std::optional<std::string_view> variable,
                                          const std::vector<std::string>& uuids,
                                          const FindMigParent& find_mig_parent) {
  std::vector<VisibleDevice> visible;
  if (!variable) {
    for (std::size_t i = 0; i < uuids.size(); ++i) visible.push_back({.index = i});
    return visible;
  }
  std::string_view rest = *variable;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view entry = TrimBlanks(rest.substr(0, comma));
    if (more) rest.remove_prefix(comma + 1);
    const std::optional<VisibleDevice> device = Resolve(entry, uuids, find_mig_parent);
    if (!device) break;
    const bool known = std::any_of(visible.begin(), visible.end(), [&](const VisibleDevice& one) {
      return one.index == device->index && one.mig == device->mig;
    });
    if (!known) visible.push_back(*device);
  }
  return visible;
}

}  // namespace headroom
