// Files that are whole or not there: written under another name, then renamed.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unfinished_files.h"

namespace headroom {

/// Writes all of `content` to a descriptor. Returns 0 or the errno of the failure (EPIPE included).
int WriteAll(int descriptor, std::string_view content);

/// kEnvironment, with the path and what `error`, an errno, means.
Status CannotWrite(const std::string& path, int error);

/// A file in the making beside its final place (`NAME.PID-N.tmp`); removed unless committed, by
/// signals, too (unfinished_files.h), but for SIGKILL. Failures are kEnvironment and name the file
/// and the cause.
class AtomicFile {
 public:
  /// Creates the temporary file and writes `content`. What is not a regular file (a pipe,
  /// /dev/null) is opened itself and written by Commit(). An existing file keeps its permissions, a
  /// symbolic link to an existing file stays one.
  ///
  /// @param mode  permissions of the file, also of one that is there; absent: those of any new one
  static Result<AtomicFile> Write(const std::string& path, std::string_view content,
                                  std::optional<int> mode = std::nullopt);
  /// The same, still empty, to be written in pieces.
  static Result<AtomicFile> Create(const std::string& path, std::optional<int> mode = std::nullopt);
  /// REQUIRES: made by Create(), and not closed.
  Status Append(std::string_view piece);
  /// All of it has reached the disk. REQUIRES: as Append().
  Status Close();

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Puts the file in its place. REQUIRES: it is closed.
  Status Commit();
  /// The same where nothing is in that place yet. Else returns false, and nothing is changed.
  Result<bool> CommitNew();
  /// Where it can be read before that: once it is closed, whole. Empty for what is not a regular
  /// file, and once it is in its place.
  const std::string& temporary_path() const { return temporary_; }

 private:
  AtomicFile() = default;

  std::string path_;
  std::string temporary_;      ///< Empty: written in place, or committed.
  UnfinishedFile unfinished_;  ///< As long as it has its temporary name.
  std::string content_;        ///< Of what is not a regular file.
  int descriptor_ = -1;        ///< Until it is closed.
  int mode_ = -1;              ///< Permissions; -1: those of any new file.
};

}  // namespace headroom
