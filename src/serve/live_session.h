// A session over files that may change, or be replaced by others, while the page shows them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file_stamp.h"
#include "base/status.h"
#include "serve/job_session.h"

namespace headroom {

class LiveSession {
 public:
  struct FileReader {
    /// Opens all files: the job, and those to compare it with.
    std::function<Result<std::unique_ptr<JobSession>>(const std::vector<std::string>& files)> open;
    /// Returns the files that `open` would read: those of folders in place of the folders.
    std::function<std::vector<std::string>(const std::vector<std::string>& files)> list;
  };
  /// Stamps of the files that would be read, by path.
  using Stamps = std::map<std::string, FileStamp>;
  static Stamps StampsOf(const std::vector<std::string>& listed);

  /// @param files  watched files and folders
  /// @param read   stamps of the files that `list` returned, from before `first` was read
  LiveSession(std::vector<std::string> files, Stamps read, std::unique_ptr<JobSession> first,
              FileReader reader);
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

  const FileReader reader_;
  std::mutex reading_mutex_;  ///< Held while files are read: one reading at a time.
  std::vector<std::string> files_;
  Stamps read_, seen_;        ///< Stamps at the last reading, and at the last check.
  mutable std::mutex mutex_;  ///< Guards all members below.
  State state_;
  bool stopping_ = false;
  std::condition_variable stop_;
  std::thread thread_;
};

}  // namespace headroom
