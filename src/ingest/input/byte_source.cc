#include "ingest/input/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ingest/input/archive_source.h"
#include "ingest/input/expansion_guard.h"

namespace headroom {
namespace {

constexpr std::size_t kCompressedBlockBytes = std::size_t{256} << 10;

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

bool Begins(std::span<const char> bytes, std::string_view magic) {
  return std::string_view(bytes.data(), bytes.size()).starts_with(magic);
}

/// Returns true for zstd's skippable frames: user data that decompresses to nothing.
bool IsSkippableFrame(std::span<const char> bytes) {
  return bytes.size() >= 4 && (bytes[0] & '\xf0') == '\x50' &&
         Begins(bytes.subspan(1), "\x2a\x4d\x18");
}

/// Reads the file without decompression.
class FileSource final : public ByteSource {
 public:
  FileSource(std::string path, int fd, std::int64_t size)
      : path_(std::move(path)), fd_(fd), size_(size) {}
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override { close(fd_); }

  Result<std::size_t> Read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t n = read(fd_, out.data() + filled, out.size() - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0)
        return Status::BadInput(
            fmt::format("{}: cannot read: {}; check the disk, or copy the file again", path_,
                        std::strerror(errno)));
      if (n == 0) break;
      filled += static_cast<std::size_t>(n);
      bytes_read_ += n;
    }
    return filled;
  }

  std::int64_t file_bytes_read() const override { return bytes_read_; }
  std::int64_t file_bytes() const override { return size_; }

 private:
  std::string path_;
  int fd_;
  std::int64_t size_;
  std::int64_t bytes_read_ = 0;
};

/// A layer whose first bytes can be inspected before they are read.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> below) : below_(std::move(below)) {}

  /// Returns the first bytes, fewer than requested if the source is shorter. Call it once, before
  /// Read().
  Result<std::string_view> Peek(std::size_t bytes) {
    head_.resize(bytes);
    const Result<std::size_t> n = below_->Read(std::span(head_));
    if (!n.ok()) return n.status();
    head_.resize(n.value());
    return std::string_view(head_);
  }

  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t from_head = std::min(out.size(), head_.size() - at_);
    std::memcpy(out.data(), head_.data() + at_, from_head);
    at_ += from_head;
    if (from_head == out.size()) return from_head;
    const Result<std::size_t> n = below_->Read(out.subspan(from_head));
    return n.ok() ? Result<std::size_t>(from_head + n.value()) : n;
  }
  std::string_view damage() const override { return below_->damage(); }
  bool has_trailing_bytes() const override { return below_->has_trailing_bytes(); }
  std::int64_t file_bytes_read() const override { return below_->file_bytes_read(); }
  std::int64_t file_bytes() const override { return below_->file_bytes(); }

 private:
  std::unique_ptr<ByteSource> below_;
  std::string head_;
  std::size_t at_ = 0;
};

/// The common part of both decompressors: the compressed source, the input block and the expansion
/// limit.
class InflatingSource : public ByteSource {
 public:
  InflatingSource(std::unique_ptr<ByteSource> file, std::string path, ExpansionLimit limit)
      : file_(std::move(file)), guard_(std::move(path), limit), block_(kCompressedBlockBytes) {}

  std::string_view damage() const override {
    return file_->damage().empty() ? damage_ : file_->damage();
  }
  bool has_trailing_bytes() const override {
    return has_trailing_bytes_ || file_->has_trailing_bytes();
  }
  std::int64_t file_bytes_read() const override { return file_->file_bytes_read(); }
  std::int64_t file_bytes() const override { return file_->file_bytes(); }

 protected:
  /// Returns the next compressed bytes; empty at the end of the file.
  Result<std::span<char>> NextBlock() { return BlockFrom({}); }

  /// Returns `rest`, the bytes left after a complete stream, followed by the next bytes of the
  /// file.
  Result<std::span<char>> BlockFrom(std::span<const char> rest) {
    assert(rest.size() <= block_.size());
    if (!rest.empty()) std::memmove(block_.data(), rest.data(), rest.size());
    const Result<std::size_t> n = file_->Read(std::span(block_).subspan(rest.size()));
    if (!n.ok()) return n.status();
    return std::span<char>(block_.data(), rest.size() + n.value());
  }

  /// Checks the bytes after the last complete stream. Zeros are padding, which tapes and some copy
  /// programs add. Other bytes set has_trailing_bytes_.
  Status CheckPadding(std::span<const char> rest) {
    for (;;) {
      if (std::any_of(rest.begin(), rest.end(), [](char c) { return c != 0; })) {
        has_trailing_bytes_ = true;
        return Status::Ok();
      }
      const Result<std::span<char>> block = NextBlock();
      if (!block.ok()) return block.status();
      if (block.value().empty()) return Status::Ok();
      rest = block.value();
    }
  }

  Status CheckExpansion(std::size_t produced) {
    return guard_.Add(produced, file_->file_bytes_read());
  }

  const std::string& path() const { return guard_.path(); }

  std::string_view damage_;
  bool has_trailing_bytes_ = false;

 private:
  std::unique_ptr<ByteSource> file_;
  ExpansionGuard guard_;
  std::vector<char> block_;
};

class GzipSource final : public InflatingSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> file, const std::string& path, ExpansionLimit limit)
      : InflatingSource(std::move(file), path, limit) {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  Result<std::size_t> Read(std::span<char> out) override {
    std::size_t filled = 0;
    while (filled < out.size() && !finished_) {
      bool file_ended = false;
      if (state_.avail_in == 0) {
        Result<std::span<char>> block = NextBlock();
        if (!block.ok()) return block.status();
        file_ended = block.value().empty();
        state_.next_in = reinterpret_cast<std::uint8_t*>(block.value().data());
        state_.avail_in = static_cast<std::uint32_t>(block.value().size());
      }
      if (between_members_) {
        // A file may contain several members in sequence. As in the gzip program, bytes that do not
        // begin with the magic number are not a member.
        std::span<const char> rest(reinterpret_cast<const char*>(state_.next_in), state_.avail_in);
        if (rest.size() < kGzipMagic.size()) {
          const Result<std::span<char>> block = BlockFrom(rest);
          if (!block.ok()) return block.status();
          rest = block.value();
          state_.next_in = reinterpret_cast<std::uint8_t*>(block.value().data());
          state_.avail_in = static_cast<std::uint32_t>(rest.size());
        }
        if (!Begins(rest, kGzipMagic)) {
          finished_ = true;
          if (Status status = CheckPadding(rest); !status.ok()) return status;
          break;
        }
        file_ended = false;
        isal_inflate_reset(&state_);
        state_.crc_flag = ISAL_GZIP;
        between_members_ = false;
      }
      const std::size_t room = std::min<std::size_t>(out.size() - filled, UINT32_MAX);
      state_.next_out = reinterpret_cast<std::uint8_t*>(out.data() + filled);
      state_.avail_out = static_cast<std::uint32_t>(room);
      const int error = isal_inflate(&state_);
      const std::size_t produced = room - state_.avail_out;
      filled += produced;
      if (error < 0) {
        damage_ = error == ISAL_INCORRECT_CHECKSUM ? "the gzip checksum does not match"
                                                   : "the gzip stream is damaged";
        finished_ = true;
      } else if (state_.block_state == ISAL_BLOCK_FINISH) {
        between_members_ = true;
      } else if (file_ended && produced == 0) {  // The decoder holds no more output.
        damage_ = "the gzip stream is truncated";
        finished_ = true;
      }
    }
    if (Status status = CheckExpansion(filled); !status.ok()) return status;
    return filled;
  }

 private:
  inflate_state state_;
  bool between_members_ = false;
  bool finished_ = false;
};

class ZstdSource final : public InflatingSource {
 public:
  ZstdSource(std::unique_ptr<ByteSource> file, const std::string& path, ExpansionLimit limit)
      : InflatingSource(std::move(file), path, limit), context_(ZSTD_createDCtx(), &ZSTD_freeDCtx) {
    if (context_ == nullptr) throw std::bad_alloc();
  }

  Result<std::size_t> Read(std::span<char> out) override {
    ZSTD_outBuffer to = {out.data(), out.size(), 0};
    while (to.pos < to.size && !finished_) {
      if (from_.pos == from_.size) {
        Result<std::span<char>> block = NextBlock();
        if (!block.ok()) return block.status();
        if (block.value().empty()) {
          // The decoder may still hold output.
          const std::size_t before = to.pos;
          const std::size_t hint = ZSTD_decompressStream(context_.get(), &to, &from_);
          if (to.pos > before && !ZSTD_isError(hint)) continue;
          finished_ = true;
          if (!between_frames_) damage_ = "the zstd stream is truncated";
          break;
        }
        from_ = {block.value().data(), block.value().size(), 0};
      }
      if (between_frames_) {
        std::span<const char> rest(static_cast<const char*>(from_.src) + from_.pos,
                                   from_.size - from_.pos);
        if (rest.size() < kZstdMagic.size()) {
          const Result<std::span<char>> block = BlockFrom(rest);
          if (!block.ok()) return block.status();
          rest = block.value();
          from_ = {rest.data(), rest.size(), 0};
        }
        if (!Begins(rest, kZstdMagic) && !IsSkippableFrame(rest)) {
          finished_ = true;
          if (Status status = CheckPadding(rest); !status.ok()) return status;
          break;
        }
        between_frames_ = false;
      }
      const std::size_t hint = ZSTD_decompressStream(context_.get(), &to, &from_);
      if (ZSTD_isError(hint)) {
        if (Status status = Refusal(ZSTD_getErrorCode(hint)); !status.ok()) return status;
        damage_ = "the zstd stream is damaged";
        finished_ = true;
      } else {
        between_frames_ = hint == 0;
      }
    }
    if (Status status = CheckExpansion(to.pos); !status.ok()) return status;
    return to.pos;
  }

 private:
  /// Fails for errors that are not damage: the file is complete, but its compression is not
  /// supported.
  Status Refusal(ZSTD_ErrorCode error) const {
    const char* why = nullptr;
    if (error == ZSTD_error_frameParameter_windowTooLarge) {
      why = "requires a window above 128 MiB to decompress; compress it again without --long";
    } else if (error == ZSTD_error_dictionary_wrong) {
      why = "was compressed with a dictionary; compress it again without one";
    } else if (error == ZSTD_error_memory_allocation) {
      throw std::bad_alloc();
    }
    return why == nullptr ? Status::Ok() : Status::BadInput(fmt::format("{}: {}", path(), why));
  }

  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  ZSTD_inBuffer from_ = {nullptr, 0, 0};
  bool between_frames_ = false;
  bool finished_ = false;
};

/// Opens the file without decompression. Sets `is_file` to false for a pipe.
Result<std::unique_ptr<ByteSource>> OpenFile(const std::string& path, bool& is_file) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return Status::BadInput(
        fmt::format("{}: cannot open: {}; check its {}", path, std::strerror(errno),
                    errno == EACCES || errno == EPERM ? "permissions" : "path"));
  }
  struct stat info = {};
  if (fstat(fd, &info) != 0) {
    const int error = errno;
    close(fd);
    return Status::BadInput(
        fmt::format("{}: cannot inspect: {}; check the disk, or copy the file again", path,
                    std::strerror(error)));
  }
  auto file = std::make_unique<FileSource>(path, fd, info.st_size);
  if (S_ISDIR(info.st_mode)) {
    return Status::BadInput(
        fmt::format("{}: is a directory; name the trace files in it, e.g. {}/*.json.gz", path,
                    path.ends_with('/') ? path.substr(0, path.size() - 1) : path));
  }
  is_file = S_ISREG(info.st_mode);
  return {std::move(file)};
}

/// Real files have at most two layers, such as .tar.gz or a .json.gz in a .zip.
constexpr int kMaxLayers = 4;

/// Opens the file and its layers of compression. If an archive was not checked before, reads it to
/// its end, increments `checked` and returns an empty pointer. The caller must then open the file
/// again.
Result<std::unique_ptr<ByteSource>> OpenLayers(const std::string& path, ExpansionLimit limit,
                                               int& checked) {
  bool is_file = false;
  Result<std::unique_ptr<ByteSource>> opened = OpenFile(path, is_file);
  if (!opened.ok()) return opened;
  std::unique_ptr<ByteSource> source = std::move(opened).value();
  int archives = 0;
  for (int layer = 0;; ++layer) {
    auto peeked = std::make_unique<PeekedSource>(std::move(source));
    const Result<std::string_view> head = peeked->Peek(kArchiveHeadBytes);
    if (!head.ok()) return head.status();
    if (layer == 0 && head.value().empty()) {
      return Status::BadInput(
          fmt::format("{}: is empty: the program ended before the profiler wrote it, or a "
                      "download failed; record the trace again, or download it again",
                      path));
    }
    const bool is_gzip = head.value().starts_with(kGzipMagic);
    const bool is_zstd = head.value().starts_with(kZstdMagic);
    const std::optional<ArchiveKind> kind = ArchiveKindOf(head.value());
    source = std::move(peeked);
    if (!is_gzip && !is_zstd && !kind) return {std::move(source)};
    if (layer == kMaxLayers) {
      return Status::BadInput(
          fmt::format("{}: has more than {} layers of compression; unpack it and name the trace",
                      path, kMaxLayers));
    }
    if (is_gzip) {
      source = std::make_unique<GzipSource>(std::move(source), path, limit);
    } else if (is_zstd) {
      source = std::make_unique<ZstdSource>(std::move(source), path, limit);
    } else {
      const bool holds_files = HoldsFiles(*kind);
      if (holds_files && is_file && archives++ == checked) {
        ++checked;
        if (Status status = CheckHoldsOneFile(std::move(source), *kind, path, limit); !status.ok())
          return status;
        return {std::unique_ptr<ByteSource>()};
      }
      Result<std::unique_ptr<ByteSource>> archive =
          OpenArchive(std::move(source), *kind, path, limit, holds_files && !is_file);
      if (!archive.ok()) return archive;
      source = std::move(archive).value();
    }
  }
}

}  // namespace

Status ExpansionGuard::Add(std::size_t unpacked, std::int64_t file_bytes_read) {
  unpacked_ += static_cast<std::int64_t>(unpacked);
  return limit_.CheckUnpacked(path_, unpacked_, file_bytes_read);
}

Result<std::unique_ptr<ByteSource>> OpenByteSource(const std::string& path, ExpansionLimit limit) {
  for (int checked = 0;;) {
    Result<std::unique_ptr<ByteSource>> source = OpenLayers(path, limit, checked);
    if (!source.ok() || source.value() != nullptr) return source;
  }
}

}  // namespace headroom
