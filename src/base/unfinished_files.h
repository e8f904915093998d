// Removes unfinished files, also when a signal ends the program.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

namespace headroom {

/// Holds the name of a file or empty folder that a signal must remove during this object's
/// lifetime. A signal removes a file before the folder that was registered after it. Ignores
/// further names while 4096 are registered.
class UnfinishedFile {
 public:
  UnfinishedFile() = default;
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(UnfinishedFile&& other) noexcept;
  UnfinishedFile& operator=(UnfinishedFile&& other) noexcept;
  ~UnfinishedFile();

 private:
  void Forget();

  /// Slot in which a signal finds the name; null if not held.
  std::atomic<char*>* slot_ = nullptr;
  char* name_ = nullptr;
};

/// Creates `{prefix}{process}-{number}.tmp` and opens it for writing. `held` holds the name before
/// the file exists. The number is random, so a signal removes only this file.
///
/// Returns its descriptor and sets `name`. On failure, returns -1, sets errno and empties `name`.
int CreateUnfinished(const std::string& prefix, mode_t mode, std::string& name,
                     UnfinishedFile& held);

/// Makes SIGINT, SIGTERM and SIGHUP remove the held files before they end the program. Ignored
/// signals (nohup) remain ignored. Only programs call this; a library must not change signal
/// handlers.
void RemoveUnfinishedFilesAtSignals();

}  // namespace headroom
