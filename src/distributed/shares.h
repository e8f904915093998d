// Assigns files to processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

/// Returns the files of each process, in order. Assigns the largest file first, each to the process
/// with the fewest bytes so far (Graham's LPT rule: at most 4/3 of the optimum).
std::vector<std::vector<std::size_t>> ShareFiles(std::span<const std::int64_t> bytes,
                                                 int processes);

}  // namespace headroom
