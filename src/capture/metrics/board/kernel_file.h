// A small file of /proc or /sys that is read over and over: opened once, then one pread() a read.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"

namespace headroom {

/// Memory that all files of a sampler read into, one after the other.
using ReadBuffer = std::string;

class KernelFile {
 public:
  /// `hold`: keep the descriptor open between reads; else each read opens and closes.
  explicit KernelFile(std::string path, bool hold = true) : path_(std::move(path)), hold_(hold) {}
  KernelFile(KernelFile&& other) noexcept;
  KernelFile& operator=(KernelFile&&) = delete;
  ~KernelFile() { Close(); }

  struct Text {
    std::string_view text;  ///< Until the next read into the buffer.
    TimeNs at;              ///< In the middle of the read.
  };

  /// The whole content; nullopt where it cannot be read. After a failure that will not pass (no
  /// such file, no permission, the process is gone) it is not tried again: see failed(). Others
  /// (out of descriptors or memory) leave the next read to try.
  std::optional<Text> Read(ReadBuffer& buffer);

  bool failed() const { return failed_; }

 private:
  void Close();
  /// Notes a failure of errno `error`.
  std::nullopt_t Failed(int error);

  std::string path_;
  int descriptor_ = -1;
  bool hold_;
  bool failed_ = false;
};

}  // namespace headroom
