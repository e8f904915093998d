// Output file that grows by whole packets, so that it is readable after any interruption.
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
    std::int64_t file_bytes;  ///< Largest size of the file.
    /// Largest number of bytes that wait in memory while the disk is full.
    std::int64_t pending_bytes;
  };

  /// Creates the file as a PrivateFile: readable by its owner only, never through a link. Fails if
  /// the file exists, unless `replace` is set.
  static Result<RecordingFile> Create(const std::string& path, bool replace, Limits limits);

  /// Queues packets for the next Flush(). After the first packet beyond a limit, accepts no more
  /// packets. REQUIRES: whole packets.
  void Append(std::string packets);

  /// Writes the pending packets. On a full disk, writes the packets that fit, removes an incomplete
  /// last packet, and keeps the rest pending.
  void Flush();

  /// Closes the file. Nothing can be written afterwards. REQUIRES: no packets are pending.
  void Close() { file_.reset(); }

  const std::string& path() const { return path_; }
  std::int64_t bytes() const { return bytes_; }  ///< Size of the file.
  std::int64_t pending_bytes() const { return static_cast<std::int64_t>(pending_.size()); }
  std::int64_t lost_bytes() const { return lost_bytes_; }
  /// Returns true if no more packets are accepted.
  bool full() const { return lost_bytes_ > 0; }
  /// Reason why the last Flush() did not write everything; empty if it did.
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
