#include "serve/live_session.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <new>
#include <system_error>
#include <utility>

#ifdef __APPLE__
#define st_mtim st_mtimespec  // Its name there.
#endif

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// A file that has not changed for this long is complete.
constexpr std::chrono::milliseconds kInterval(500);

/// Returns a message about the first path that is now a pipe or device: reading it could block, and
/// the program could not exit. Empty if every path is a file, a folder, or missing.
std::string NoFileAmong(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    struct stat found {};
    if (stat(path.c_str(), &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode))
      return path + ": is a pipe or a device now; put a regular file back";
  }
  return {};
}

/// Returns the files of a folder and of its direct subfolders, sorted.
std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  fs::recursive_directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::recursive_directory_iterator(); entry.increment(failed)) {
    if (entry.depth() > 0) entry.disable_recursion_pending();
    files.push_back(entry->path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

LiveSession::Stamp StampOf(const std::string& file) {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return {};
  // A pipe can be read only once, and its times do not show changes.
  if (!S_ISREG(found.st_mode)) return {.inode = found.st_ino};
  return {.modified_ns = found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec,
          .bytes = found.st_size,
          .inode = found.st_ino};
}

}  // namespace

LiveSession::LiveSession(std::vector<std::string> files, std::vector<Stamp> read,
                         std::unique_ptr<JobSession> first, Opener open)
    : open_(std::move(open)),
      files_(std::move(files)),
      read_(std::move(read)),
      seen_(read_),
      state_{.session = std::move(first)} {
  thread_ = std::thread([this] { Watch(); });
}

LiveSession::~LiveSession() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

LiveSession::State LiveSession::Now() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return state_;
}

std::vector<LiveSession::Stamp> LiveSession::StampsOf(const std::vector<std::string>& files) {
  std::vector<Stamp> stamps;
  for (const std::string& file : files) {
    stamps.push_back(StampOf(file));
    std::error_code failed;
    if (!fs::is_directory(file, failed)) continue;
    for (const std::string& inside : FilesIn(file)) stamps.push_back(StampOf(inside));
  }
  return stamps;
}

void LiveSession::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void LiveSession::Look() {
  const std::lock_guard<std::mutex> reading(reading_);
  std::vector<Stamp> now = StampsOf(files_);
  const bool is_whole = now == seen_;
  seen_ = now;
  if (!is_whole || now == read_) return;
  read_ = std::move(now);
  if (const std::string problem = NoFileAmong(files_); !problem.empty()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_.problem = problem;
    return;
  }
  Result<std::unique_ptr<JobSession>> opened = Open(files_);
  if (opened.ok()) {
    Take(std::move(opened).value());
    return;
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.problem = opened.status().message();
}

Status LiveSession::Show(std::vector<std::string> files) {
  const std::lock_guard<std::mutex> reading(reading_);
  std::vector<Stamp> now = StampsOf(files);
  Result<std::unique_ptr<JobSession>> opened = Open(files);
  if (!opened.ok()) return opened.status();
  files_ = std::move(files);
  read_ = seen_ = std::move(now);
  Take(std::move(opened).value());
  return Status::Ok();
}

Result<std::unique_ptr<JobSession>> LiveSession::Open(const std::vector<std::string>& files) const {
  try {
    return open_(files);
  } catch (const std::bad_alloc&) {
    return Status::Environment(
        "not enough memory to read the new files while the current ones are shown");
  }
}

void LiveSession::Take(std::unique_ptr<JobSession> session) {
  const std::lock_guard<std::mutex> lock(mutex_);
  state_.session = std::move(session);
  state_.problem.clear();
  ++state_.generation;
}

}  // namespace headroom
