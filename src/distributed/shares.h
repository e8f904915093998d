// Which process reads which file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

/// By process, the files that it reads, in order. The largest file goes first, each to the process
/// with the fewest bytes so far (Graham's LPT rule: at most 4/3 of the best there is).
std::vector<std::vector<std::size_t>> ShareFiles(std::span<const std::int64_t> bytes,
                                                 int processes);

}  // namespace headroom
