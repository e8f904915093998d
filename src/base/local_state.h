// Files with Headroom's measurements on this machine, in the folder of the XDG Base Directory
// Specification. Several programs can use them at the same time. Access never follows a link that
// another user put in a file's place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/unique_descriptor.h"

namespace headroom {

/// Returns `$XDG_STATE_HOME/headroom/NAME`, or `$HOME/.local/state/headroom/NAME`; nullopt if
/// neither variable is an absolute path. The folder may not exist.
std::optional<std::string> LocalStatePath(std::string_view name);

/// Returns the text of a file of LocalStatePath(), or nullopt if it does not exist or its folder is
/// inaccessible. The folder is inaccessible in a container that runs as another user but keeps
/// HOME; such a user has no state. Fails with kBadInput if the file exists but is unreadable or not
/// a regular file. The message names the option that ignores the file.
Result<std::optional<std::string>> ReadLocalState(const std::string& path);

/// Appends `lines` to a file of LocalStatePath(), whole or not at all, even if others append at
/// the same time. Only the owner can read the files and folders it creates. Fails with
/// kEnvironment if the path is not a regular file or cannot be written.
Status AppendToLocalState(const std::string& path, std::string_view lines);

/// Creates or replaces a file of LocalStatePath(), with the guarantees of AppendToLocalState().
Status ReplaceLocalState(const std::string& path, std::string_view content);

/// Holds an exclusive lock on a file during this object's lifetime.
class LocalStateLock {
 public:
  /// Fails with kUsage and the message `taken` if another process holds the lock. Other failures
  /// are those of AppendToLocalState().
  static Result<LocalStateLock> Take(const std::string& path, const std::string& taken);

 private:
  explicit LocalStateLock(UniqueDescriptor locked) : locked_(std::move(locked)) {}
  UniqueDescriptor locked_;
};

/// Fails with kBadInput if `path` exists but is not a regular file, because a pipe would block a
/// reader and a link may lead elsewhere. Call this before opening a file whose name Headroom chose.
Status CheckStateFile(const std::string& path);

}  // namespace headroom
