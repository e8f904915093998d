// A file that only its owner may read, written bit by bit: recordings and logs, which may hold what
// is nobody else's business.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

class PrivateFile {
 public:
  /// Creates `path` with mode 0600. Never follows a symbolic link in its last part. Fails (kUsage)
  /// where something is there already, unless `replace`; then a file or a link there is removed
  /// first, but for an empty one with that mode and owner, which is taken. What is no file (a pipe,
  /// /dev/null) is opened itself. Other failures are kEnvironment.
  static Result<PrivateFile> Create(const std::string& path, bool replace);

  PrivateFile(PrivateFile&& other) noexcept;
  PrivateFile& operator=(PrivateFile&&) = delete;
  ~PrivateFile();

  int descriptor() const { return descriptor_; }
  /// Appends; what returned is with the kernel. Failures are kEnvironment and name the file.
  Status Append(std::string_view content);

 private:
  PrivateFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace headroom
