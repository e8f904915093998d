// A small file of /proc or /sys that is read repeatedly: opened once, then one pread() per read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace headroom {

/// Buffer that all files of a sampler share. Each read overwrites it.
using ReadBuffer = std::string;

class KernelFile {
 public:
  /// @param hold  keeps the descriptor open between reads; otherwise each read opens and closes the
  ///     file
  explicit KernelFile(std::string path, bool hold = true) : path_(std::move(path)), hold_(hold) {}
  KernelFile(KernelFile&& other) noexcept;
  KernelFile& operator=(KernelFile&&) = delete;
  ~KernelFile() { Close(); }

  struct Text {
    std::string_view text;  ///< Valid until the next read into the buffer.
    TimeNs at;              ///< Time in the middle of the read.
  };

  /// Returns the whole content; nullopt if it cannot be read.
  ///
  /// A permanent failure (no such file, no permission, the process has exited) ends all further
  /// attempts: see failed(). After a transient failure (out of descriptors or memory), the next
  /// read tries again.
  std::optional<Text> Read(ReadBuffer& buffer);

  bool failed() const { return failed_; }

 private:
  void Close();
  /// Records a failure with errno `error`.
  std::nullopt_t Failed(int error);

  std::string path_;
  int descriptor_ = -1;
  bool hold_;
  bool failed_ = false;
};

}  // namespace headroom
