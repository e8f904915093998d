// Listing of a folder of /proc or /sys.
#pragma once

#include <string>
#include <vector>

namespace headroom {

/// Names in a folder in the order of the alphabet, without "." and ".."; none where it cannot be
/// read.
std::vector<std::string> FolderEntries(const std::string& path);

}  // namespace headroom
