// A file that only its owner can read, written in pieces: recordings and logs, which may hold
// private data.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace headroom {

class PrivateFile {
 public:
  /// Creates `path` with mode 0600. Never follows a symbolic link in the last part of the path.
  /// Fails with kUsage if a file or link exists there, unless `replace`. With `replace`, removes
  /// the file or link first, but reuses an empty file with that mode and the same owner. Opens a
  /// pipe or a device (/dev/null) without replacing it. Other failures are kEnvironment.
  static Result<PrivateFile> Create(const std::string& path, bool replace);

  PrivateFile(PrivateFile&& other) noexcept;
  PrivateFile& operator=(PrivateFile&&) = delete;
  ~PrivateFile();

  int descriptor() const { return descriptor_; }
  /// Appends `content`. When this returns, the kernel has the data. Failures are kEnvironment and
  /// name the file.
  Status Append(std::string_view content);

 private:
  PrivateFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
};

}  // namespace headroom
