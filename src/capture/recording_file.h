// A file that grows by whole packets, and stays readable whatever ends its growth.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/private_file.h"
#include "base/status.h"

namespace headroom {

class RecordingFile {
 public:
  struct Limits {
    std::int64_t file_bytes;     ///< The file never grows beyond it.
    std::int64_t pending_bytes;  ///< What a full disk may keep waiting in memory.
  };

  /// Creates the file as a PrivateFile: for its owner alone, through no link. An existing file is
  /// refused, or with `replace` replaced by a new one.
  static Result<RecordingFile> Create(const std::string& path, bool replace, Limits limits);

  /// Takes packets for the next Flush(). From the first one on that exceeds a limit, none is taken
  /// any more. REQUIRES: whole packets.
  void Append(std::string packets);

  /// Writes what is pending: where the disk is full, the packets that fit. What was written of the
  /// next one is cut off again, and it and the rest stay pending.
  void Flush();

  /// Gives the descriptor back, once nothing is pending. Nothing can be written any more.
  void Close() { file_.reset(); }

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }  ///< In the file.
  std::int64_t pending_bytes() const { return static_cast<std::int64_t>(pending_.size()); }
  std::int64_t lost_bytes() const { return lost_bytes_; }
  /// Whether packets are taken at all.
  bool full() const { return lost_bytes_ > 0; }
  /// Why the last Flush() did not write everything; empty: it did.
  const std::string& trouble() const { return trouble_; }

 private:
  RecordingFile(std::string path, PrivateFile file, Limits limits)
      : path_(std::move(path)), file_(std::move(file)), limits_(limits) {}

  std::string path_;
  std::optional<PrivateFile> file_;
  Limits limits_;
  std::string pending_;
  std::int64_t bytes_ = 0, lost_bytes_ = 0;
  std::string trouble_;
};

}  // namespace headroom
