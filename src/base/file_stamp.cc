#include "base/file_stamp.h"

#include <sys/stat.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec  // Its name there.
#endif

namespace headroom {

FileStamp StampOf(const std::string& file) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return {};
  if (!S_ISREG(found.st_mode)) return {.inode = found.st_ino};
  return {.modified_ns = found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec,
          .bytes = found.st_size,
          .inode = found.st_ino};
}

}  // namespace headroom
