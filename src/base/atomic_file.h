// Files that are complete or absent: written under another name, then renamed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unfinished_files.h"

namespace headroom {

/// Writes all of `content` to a descriptor. Returns 0, or the errno of the failure (EPIPE
/// included).
int WriteAll(int descriptor, std::string_view content);

/// Returns kEnvironment with the path and the system's message for `error`, an errno.
Status CannotWrite(const std::string& path, int error);

/// An unfinished file next to its final place (`NAME.PID-N.tmp`). It is removed unless committed,
/// and also on signals except SIGKILL (unfinished_files.h). Failures are kEnvironment and name the
/// file and the cause.
class AtomicFile {
 public:
  /// Creates the temporary file and writes `content`. A target that is not a regular file (a pipe,
  /// /dev/null) has no temporary file; Commit() opens and writes it. An existing file keeps its
  /// permissions. A symbolic link to an existing file remains a link.
  ///
  /// @param mode  permissions of the file; nullopt: those of the existing file, else the default
  static Result<AtomicFile> Write(const std::string& path, std::string_view content,
                                  std::optional<int> mode = std::nullopt);
  /// Creates the temporary file without content, so that Append() can write it in pieces.
  static Result<AtomicFile> Create(const std::string& path, std::optional<int> mode = std::nullopt);
  /// Appends a piece. REQUIRES: Create() made the file, and it is not closed.
  Status Append(std::string_view piece);
  /// Flushes the file to disk and closes it. REQUIRES: as for Append().
  Status Close();

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Moves the file into place. REQUIRES: it is closed.
  Status Commit();
  /// Moves the file into place if nothing exists at its path. Otherwise returns false and changes
  /// nothing.
  Result<bool> CommitNew();
  /// Returns the path at which the complete file is readable between Close() and Commit(). Empty if
  /// the target is not a regular file, and after Commit().
  const std::string& temporary_path() const { return temporary_; }

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;      ///< Empty if the target is written in place, or after Commit().
  UnfinishedFile unfinished_;  ///< Held while the file has its temporary name.
  std::string content_;        ///< Content for a target that is not a regular file.
  int descriptor_ = -1;        ///< Open until Close().
  int mode_ = -1;              ///< Permissions; -1: default permissions.
};

}  // namespace headroom
