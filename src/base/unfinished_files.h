// Files that are not what they shall be yet: gone, too, where a signal ends the program.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace headroom {

/// Holds the name of a file, or of a folder that is empty by then, that is to be removed if a
/// signal ends the program while this lives. Those that are held first go first. Beyond some
/// thousands at a time, names are not held.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

 private:
  void Forget();

  std::atomic<char*>* slot_ = nullptr;  ///< Where a signal finds the name; null: not held.
  char* name_ = nullptr;
};

/// Creates `{prefix}{process}-{number}.tmp`, open for writing and held by `held` from before it
/// exists: the number is drawn by lot, so what a signal removes is this file or none.
/// Returns its descriptor and sets `name`; returns -1, errno set and `name` empty, on failure.
int CreateUnfinished(const std::string& prefix, mode_t mode, std::string& name,
                     UnfinishedFile& held);

/// SIGINT, SIGTERM and SIGHUP remove the files that are held, and then end the program as they
/// would have; those that are ignored (nohup) stay so. For programs: a library leaves signals
/// alone.
void RemoveUnfinishedFilesAtSignals();

}  // namespace headroom
