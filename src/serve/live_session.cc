#include "serve/live_session.h"

#include <sys/stat.h>

#include <chrono>
#include <new>
#include <utility>

namespace headroom {
namespace {

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

}  // namespace

LiveSession::LiveSession(std::vector<std::string> files, Stamps read,
                         std::unique_ptr<JobSession> first, FileReader reader)
    : reader_(std::move(reader)),
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

LiveSession::Stamps LiveSession::StampsOf(const std::vector<std::string>& listed) {
  Stamps stamps;
  for (const std::string& file : listed) stamps.emplace(file, StampOf(file));
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
  const std::lock_guard<std::mutex> reading(reading_mutex_);
  Stamps now = StampsOf(reader_.list(files_));
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
  const std::lock_guard<std::mutex> reading(reading_mutex_);
  Stamps now = StampsOf(reader_.list(files));
  Result<std::unique_ptr<JobSession>> opened = Open(files);
  if (!opened.ok()) return opened.status();
  files_ = std::move(files);
  read_ = seen_ = std::move(now);
  Take(std::move(opened).value());
  return Status::Ok();
}

Result<std::unique_ptr<JobSession>> LiveSession::Open(const std::vector<std::string>& files) const {
  try {
    return reader_.open(files);
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
