#include "serve/live_session.h"

#include <sys/stat.h>

#include <chrono>
#include <new>
#include <utility>

namespace headroom {
namespace {

/// A file that did not change for so long is whole.
constexpr std::chrono::milliseconds kInterval(500);

}  // namespace

LiveSession::LiveSession(std::vector<std::string> files, std::vector<Stamp> read,
                         std::unique_ptr<TraceSession> first, Opener open)
    : files_(std::move(files)), open_(std::move(open)), state_{.session = std::move(first)} {
  thread_ = std::thread([this, read = std::move(read)]() mutable { Watch(std::move(read)); });
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
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  std::vector<Stamp> stamps;
  for (const std::string& file : files) {
    struct stat found {};
    Stamp& stamp = stamps.emplace_back();
    if (stat(file.c_str(), &found) != 0) continue;  // Gone: a state of its own.
    stamp = {.modified_ns = found.st_mtim.tv_sec * kNsPerSecond + found.st_mtim.tv_nsec,
             .bytes = found.st_size,
             .inode = found.st_ino};
  }
  return stamps;
}

void LiveSession::Watch(std::vector<Stamp> read) {
  std::vector<Stamp> before = read;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_.wait_for(lock, kInterval, [this] { return stopping_; })) {
    lock.unlock();
    std::vector<Stamp> now = StampsOf(files_);
    const bool is_whole = now == before;
    before = now;
    if (is_whole && now != read) {
      Reopen();
      read = std::move(now);
    }
    lock.lock();
  }
}

void LiveSession::Reopen() {
  const auto open = [this]() -> Result<std::unique_ptr<TraceSession>> {
    try {
      return open_();
    } catch (const std::bad_alloc&) {
      return Status::Internal("there is not enough memory to read the files beside those shown");
    }
  };
  Result<std::unique_ptr<TraceSession>> opened = open();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!opened.ok()) {
    state_.problem = opened.status().message();
    return;
  }
  state_.session = std::move(opened).value();
  state_.problem.clear();
  ++state_.generation;
}

}  // namespace headroom
