// Lists a folder of /proc or /sys.
#pragma once

#include <string>
#include <vector>

namespace headroom {

/// Returns the names in a folder in alphabetical order, without "." and "..". Returns an empty list
/// if the folder cannot be read.
std::vector<std::string> FolderEntries(const std::string& path);

}  // namespace headroom
