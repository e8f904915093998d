// A session over files that may change, or be replaced by others, while the page shows them.
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
#include "serve/job_session.h"

namespace headroom {

class LiveSession {
 public:
  /// Opens all files: the job, and those to compare it with.
  using Opener =
      std::function<Result<std::unique_ptr<JobSession>>(const std::vector<std::string>& files)>;

  /// Identifies the state of a file.
  struct Stamp {
    std::int64_t modified_ns = 0, bytes = -1;
    std::uint64_t inode = 0;
    bool operator==(const Stamp&) const = default;
  };
  /// Returns the stamps of files, and of the files in folders and their direct subfolders.
  static std::vector<Stamp> StampsOf(const std::vector<std::string>& files);

  /// @param files  watched files
  /// @param read   their stamps before `first` was read
  LiveSession(std::vector<std::string> files, std::vector<Stamp> read,
              std::unique_ptr<JobSession> first, Opener open);
  ~LiveSession();
  LiveSession(const LiveSession&) = delete;
  LiveSession& operator=(const LiveSession&) = delete;

  struct State {
    std::shared_ptr<JobSession> session;
    std::int64_t generation = 0;  ///< Incremented each time the files are read again.
    std::string problem = {};     ///< Reason why the current files are unreadable; or empty.
  };
  /// Thread-safe. Callers may keep the session; a newer one does not invalidate it.
  State Now() const;

  /// Reads other files, and shows and watches them from now on. Fails as the opener does; then
  /// nothing changes. Thread-safe.
  Status Show(std::vector<std::string> files);

 private:
  void Watch();
  /// Reads files that have changed and are completely written.
  void Look();
  Result<std::unique_ptr<JobSession>> Open(const std::vector<std::string>& files) const;
  void Take(std::unique_ptr<JobSession> session);

  const Opener open_;
  std::mutex reading_;  ///< Held while files are read: one reading at a time.
  std::vector<std::string> files_;
  std::vector<Stamp> read_, seen_;  ///< Stamps at the last reading, and at the last check.
  mutable std::mutex mutex_;        ///< Guards all members below.
  State state_;
  bool stopping_ = false;
  std::condition_variable stop_;
  std::thread thread_;
};

}  // namespace headroom
