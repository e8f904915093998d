#include "base/platform.h"

#include <fcntl.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach-o/dyld.h>
#else
#include <sys/prctl.h>
#endif

#include <climits>
#include <filesystem>
#include <system_error>

namespace headroom {

#ifdef __APPLE__

bool OpenPipe(std::array<int, 2>& ends) {
  if (pipe(ends.data()) != 0) return false;
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  return true;
}

void EndWithParent(int) {}

std::string ProgramPath() {
  std::array<char, PATH_MAX> path{};
  std::uint32_t size = path.size();
  if (_NSGetExecutablePath(path.data(), &size) != 0) return "";
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path.data(), error);
  return error ? path.data() : resolved.string();
}

std::string ProgramToStart() { return ProgramPath(); }

#else

bool OpenPipe(std::array<int, 2>& ends) { return pipe2(ends.data(), O_CLOEXEC) == 0; }

void EndWithParent(int signal) { prctl(PR_SET_PDEATHSIG, signal); }

std::string ProgramPath() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::string ProgramToStart() { return "/proc/self/exe"; }

#endif

}  // namespace headroom
