// Files that are whole or not there: written under another name, then renamed.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

/// Writes all of `content` to a descriptor. Returns 0 or the errno of the failure (EPIPE included).
int WriteAll(int descriptor, std::string_view content);

/// A file in the making beside its final place (`NAME.PID-N.tmp`); removed unless committed, except
/// where the process is killed. Failures are kInternal and name the file and the cause.
class AtomicFile {
 public:
  /// Creates the temporary file and writes `content`. What is not a regular file (a pipe,
  /// /dev/null) is opened itself and written by Commit(). An existing file keeps its permissions, a
  /// symbolic link to an existing file stays one.
  static Result<AtomicFile> Write(const std::string& path, std::string content);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Puts the file in its place.
  Status Commit();

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;  ///< Empty: written in place, or committed.
  std::string content_;    ///< Of what is not a regular file.
};

}  // namespace headroom
