#include "base/unfinished_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

namespace headroom {
namespace {

constexpr std::size_t kMaxFiles = 4096;
// The file's object or the signal handler, whichever takes the name out of its slot, owns it.
std::array<std::atomic<char*>, kMaxFiles> unfinished;
static_assert(std::atomic<char*>::is_always_lock_free, "a signal handler must not lock");

extern "C" void RemoveAndEnd(int signal) {
  for (std::atomic<char*>& slot : unfinished) {
    const char* const name = slot.exchange(nullptr);
    if (name != nullptr && unlink(name) != 0) rmdir(name);
  }
  // SA_RESETHAND has restored the default action, so this signal ends the program after the return.
  std::raise(signal);
}

}  // namespace

UnfinishedFile::UnfinishedFile(const std::string& path) : name_(strdup(path.c_str())) {
  for (std::atomic<char*>& slot : unfinished) {
    char* none = nullptr;
    if (name_ == nullptr || !slot.compare_exchange_strong(none, name_)) continue;
    slot_ = &slot;
    return;
  }
  std::free(std::exchange(name_, nullptr));
}

UnfinishedFile::UnfinishedFile(UnfinishedFile&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), name_(std::exchange(other.name_, nullptr)) {}

UnfinishedFile& UnfinishedFile::operator=(UnfinishedFile&& other) noexcept {
  if (this == &other) return *this;
  Forget();
  slot_ = std::exchange(other.slot_, nullptr);
  name_ = std::exchange(other.name_, nullptr);
  return *this;
}

UnfinishedFile::~UnfinishedFile() { Forget(); }

void UnfinishedFile::Forget() {
  if (slot_ == nullptr) return;
  char* name = name_;
  if (slot_->compare_exchange_strong(name, nullptr)) std::free(name_);
  slot_ = nullptr;
}

int CreateUnfinished(const std::string& prefix, mode_t mode, std::string& name,
                     UnfinishedFile& held) {
  std::random_device lot;
  int error = EEXIST;
  for (int tries = 0; tries < 3 && error == EEXIST; ++tries) {
    const std::uint64_t number = std::uint64_t{lot()} << 32 | lot();
    name = fmt::format("{}{}-{}.tmp", prefix, getpid(), number);
    held = UnfinishedFile(name);
    const int descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor >= 0) return descriptor;
    error = errno;
    held = UnfinishedFile();
  }
  name.clear();
  errno = error;
  return -1;
}

void RemoveUnfinishedFilesAtSignals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = RemoveAndEnd;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace headroom
