// The files that `headroom ui --run` records into.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/status.h"

namespace headroom {

/// `headroom-ui-N.pftrace` in the working directory, N one more than the largest there: an empty
/// file that holds the name, so that no other `headroom ui` in the folder takes it. Written in
/// place, as by a recorder that may replace it.
class ReservedRecording {
 public:
  /// Fails (kEnvironment) where nothing can be written there.
  static Result<ReservedRecording> Make();

  const std::string& path() const { return path_; }
  /// Whether nothing was written into it, or it is no longer there.
  bool IsEmpty() const;
  /// Removes the file, and those of the further processes, `path.<pid>`; nothing where somebody has
  /// put another file in its place.
  void Remove() const;

 private:
  ReservedRecording(std::string path, dev_t device, ino_t inode)
      : path_(std::move(path)), device_(device), inode_(inode) {}

  std::string path_;
  dev_t device_;
  ino_t inode_;
};

}  // namespace headroom
