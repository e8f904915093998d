#include "distributed/shares.h"

#include <algorithm>
#include <numeric>

namespace headroom {

std::vector<std::vector<std::size_t>> ShareFiles(std::span<const std::int64_t> bytes,
                                                 int processes) {
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::vector<std::vector<std::size_t>> shares(static_cast<std::size_t>(processes));
  std::vector<std::int64_t> load(shares.size());
  for (const std::size_t file : order) {
    const auto least =
        static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
    shares[least].push_back(file);
    load[least] += std::max<std::int64_t>(bytes[file], 1);  // Opening a file takes time, too.
  }
  for (std::vector<std::size_t>& share : shares) std::sort(share.begin(), share.end());
  return shares;
}

}  // namespace headroom
