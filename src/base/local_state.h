// Where a program keeps what it learned on this machine, after the XDG Base Directory
// Specification, and how such files are read and written: by several programs at once, and never
// through what somebody else has put in their place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/unique_descriptor.h"

namespace headroom {

/// `$XDG_STATE_HOME/headroom/NAME`, or `~/.local/state/headroom/NAME`; nullopt where neither
/// variable is set to an absolute path. The folder may not exist.
std::optional<std::string> LocalStatePath(std::string_view name);

/// The text of a file of LocalStatePath(); nullopt where there is none, and where its folder cannot
/// be entered: a container run as another user has HOME of somebody else, and nothing was ever
/// learned there. A file that is there and cannot be read, or is no file, is kBadInput, with what
/// does without it.
Result<std::optional<std::string>> ReadLocalState(const std::string& path);

/// Appends `lines` to a file of LocalStatePath(), whole or not at all, even if others append at
/// the same time. Only the owner can read the files and folders it creates. Fails with
/// kEnvironment if the path is not a regular file or cannot be written.
Status AppendToLocalState(const std::string& path, std::string_view lines);

/// Replaces a file of LocalStatePath(), or makes it; the same holds as for AppendToLocalState().
Status ReplaceLocalState(const std::string& path, std::string_view content);

/// Keeps others who take the lock of the same file out as long as it lives.
class LocalStateLock {
 public:
  /// Fails (kUsage) with `taken` where somebody holds it, else as AppendToLocalState().
  static Result<LocalStateLock> Take(const std::string& path, const std::string& taken);

 private:
  explicit LocalStateLock(UniqueDescriptor locked) : locked_(std::move(locked)) {}
  UniqueDescriptor locked_;
};

/// Fails with kBadInput if `path` exists but is not a regular file: a reader would block on a pipe,
/// and a link may lead elsewhere. Call this before opening any file that Headroom named.
Status CheckStateFile(const std::string& path);

}  // namespace headroom
