#include "capture/metrics/board/folder.h"

#include <dirent.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace headroom {

std::vector<std::string> FolderEntries(const std::string& path) {
  std::vector<std::string> names;
  const auto close = [](DIR* folder) { closedir(folder); };
  const std::unique_ptr<DIR, decltype(close)> folder(opendir(path.c_str()), close);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace headroom
