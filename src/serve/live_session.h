// The session of files that may be written anew, or give way to others, while one looks at them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "serve/trace_session.h"

namespace headroom {

class LiveSession {
 public:
  /// Opens all files: the job, and what it is compared with.
  using Opener =
      std::function<Result<std::unique_ptr<TraceSession>>(const std::vector<std::string>& files)>;

  /// What tells one state of a file from another.
  struct Stamp {
    std::int64_t modified_ns = 0, bytes = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  static std::vector<Stamp> StampsOf(const std::vector<std::string>& files);

  /// @param files  that are watched
  /// @param read   their stamps before `first` was read from them
  LiveSession(std::vector<std::string> files, std::vector<Stamp> read,
              std::unique_ptr<TraceSession> first, Opener open);
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  struct State {
    std::shared_ptr<TraceSession> session;
    std::int64_t generation = 0;  ///< One more for each time that files were read again.
    std::string problem = {};     ///< Why the files as they are now cannot be read; or empty.
  };
  /// From any thread. A session lives as long as somebody holds it.
  State Now() const;

  /// Reads other files, and shows and watches them from here on. Fails as the opener does; then
  /// all stays as it is. From any thread.
  Status Show(std::vector<std::string> files);

 private:
  void Watch();
  /// Reads files that have changed and are no longer being written.
  void Look();
  Result<std::unique_ptr<TraceSession>> Open(const std::vector<std::string>& files) const;
  void Take(std::unique_ptr<TraceSession> session);

  const Opener open_;
  std::mutex reading_;  ///< Of the files, while they are read: one reading at a time.
  std::vector<std::string> files_;
  std::vector<Stamp> read_, seen_;  ///< When they were read, and at the last look.
  mutable std::mutex mutex_;        ///< Of all below.
  State state_;
  bool stopping_ = false;
  std::condition_variable stop_;
  std::thread thread_;
};

}  // namespace headroom
