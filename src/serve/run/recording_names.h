// File names of the recordings of `headroom ui --run`.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/status.h"

namespace headroom {

/// Reserves `headroom-ui-N.pftrace` in the working directory, with N one more than the largest
/// there. Creates an empty file, so that no other `headroom ui` in the folder takes the name. The
/// recorder writes or replaces the file.
class ReservedRecording {
 public:
  /// Fails (kEnvironment) if the directory is not writable.
  static Result<ReservedRecording> Make();

  const std::string& path() const { return path_; }
  /// Returns true if the file is empty or missing.
  bool IsEmpty() const;
  /// Removes the file, and those of child processes, `path.<pid>`. Removes nothing if another file
  /// has replaced it.
  void Remove() const;

 private:
  ReservedRecording(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace headroom
