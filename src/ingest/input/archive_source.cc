#include "ingest/input/archive_source.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <cassert>
#include <cerrno>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "ingest/input/expansion_guard.h"

namespace headroom {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{256} << 10;
constexpr std::string_view kDamage = "the archive is truncated or damaged";

/// Prepares text of an archive for a message: one short line without control characters.
std::string Plain(std::string_view text) {
  constexpr std::size_t kMax = 80;
  std::string plain(text.substr(0, kMax));
  for (char& c : plain) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return text.size() > kMax ? plain + "..." : plain;
}

/// Reads one archive.
class Archive {
 public:
  Archive(std::unique_ptr<ByteSource> bytes, ArchiveKind kind, const std::string& path,
          ExpansionLimit limit)
      : bytes_(std::move(bytes)),
        guard_(path, limit),
        block_(kBlockBytes),
        archive_(archive_read_new(), &archive_read_free) {
    if (archive_ == nullptr) throw std::bad_alloc();
    switch (kind) {
      case ArchiveKind::kXz:
        archive_read_support_filter_xz(archive_.get());
        break;
      case ArchiveKind::kBzip2:
        archive_read_support_filter_bzip2(archive_.get());
        break;
      case ArchiveKind::kTar:
        archive_read_support_format_tar(archive_.get());
        break;
      case ArchiveKind::kZip:
        archive_read_support_format_zip_streamable(archive_.get());
        break;
    }
    if (!HoldsFiles(kind)) archive_read_support_format_raw(archive_.get());
    Note(archive_read_open(archive_.get(), this, nullptr, &Archive::NextBlock, nullptr));
  }

  enum class Next : std::uint8_t { kFile, kEnd, kDamage };

  /// Moves to the next regular file.
  Result<Next> NextFile() {
    while (!failed_) {
      const int outcome = archive_read_next_header(archive_.get(), &entry_);
      if (outcome == ARCHIVE_RETRY) continue;
      if (outcome == ARCHIVE_EOF) return Next::kEnd;
      Note(outcome);
      if (!status_.ok()) return status_;
      if (!failed_ && IsFile()) return Next::kFile;
    }
    return Next::kDamage;
  }

  /// Reads up to out.size() bytes. Fewer bytes mean that the file ended; damaged() is then true if
  /// it ended early.
  Result<std::size_t> Read(std::span<char> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !failed_) {
      const la_ssize_t n =
          archive_read_data(archive_.get(), out.data() + filled, out.size() - filled);
      if (n == 0) break;
      if (n == ARCHIVE_RETRY) continue;
      if (n < 0) {
        if (!any_read_ && filled == 0 && archive_entry_is_encrypted(entry_) != 0) {
          return Status::BadInput(
              fmt::format("{}: is encrypted; unpack it and name the trace", guard_.path()));
        }
        Note(static_cast<int>(n));
        failed_ = true;
        break;
      }
      filled += static_cast<std::size_t>(n);
    }
    if (!status_.ok()) return status_;
    any_read_ = any_read_ || filled > 0;
    if (Status status = guard_.Add(filled, bytes_->file_bytes_read()); !status.ok()) return status;
    return filled;
  }

  /// Skips the rest of the current file.
  Status Skip() {
    if (archive_entry_size_is_set(entry_) != 0) {
      Note(archive_read_data_skip(archive_.get()));
      return status_;
    }
    // The archive states the size after the content, so the file must be unpacked to find its end.
    std::vector<char> scratch(kBlockBytes);
    for (std::size_t n = scratch.size(); n == scratch.size();) {
      const Result<std::size_t> got = Read(scratch);
      if (!got.ok()) return got.status();
      n = got.value();
    }
    return Status::Ok();
  }

  /// Returns the name of the file that NextFile() found.
  std::string Name() const {
    const char* name = archive_entry_pathname_utf8(entry_);
    if (name == nullptr) name = archive_entry_pathname(entry_);
    return name == nullptr || *name == '\0' ? "(unnamed)" : Plain(name);
  }
  bool damaged() const { return failed_; }
  const std::string& path() const { return guard_.path(); }
  const ByteSource& bytes() const { return *bytes_; }

 private:
  static la_ssize_t NextBlock(archive*, void* self, const void** block) {
    auto& reading = *static_cast<Archive*>(self);
    *block = reading.block_.data();
    try {
      const Result<std::size_t> n = reading.bytes_->Read(reading.block_);
      if (n.ok()) return static_cast<la_ssize_t>(n.value());
      reading.status_ = n.status();
    } catch (const std::bad_alloc&) {  // Exceptions must not pass through C code.
      reading.out_of_memory_ = true;
    }
    return -1;
  }

  void Note(int outcome) {
    if (out_of_memory_ || (outcome < ARCHIVE_WARN && archive_errno(archive_.get()) == ENOMEM))
      throw std::bad_alloc();
    if (outcome < ARCHIVE_WARN) failed_ = true;
  }

  bool IsFile() const {
    if (archive_entry_filetype(entry_) != AE_IFREG) return false;
    if (archive_entry_hardlink(entry_) != nullptr) return false;
    const char* name = archive_entry_pathname(entry_);
    const std::string_view text = name == nullptr ? "" : name;
    const std::string_view base = text.substr(text.rfind('/') + 1);
    return !text.ends_with('/') && !text.starts_with("__MACOSX/") && !base.starts_with("._") &&
           !base.starts_with("README") && !base.starts_with("LICENSE") && !base.ends_with(".md");
  }

  std::unique_ptr<ByteSource> bytes_;
  ExpansionGuard guard_;
  std::vector<char> block_;
  Status status_;  ///< First error of the source.
  bool out_of_memory_ = false;
  bool failed_ = false;
  bool any_read_ = false;
  archive_entry* entry_ = nullptr;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
};

class ArchiveSource final : public ByteSource {
 public:
  ArchiveSource(std::unique_ptr<Archive> archive, bool may_hold_more)
      : archive_(std::move(archive)), may_hold_more_(may_hold_more) {}

  Result<std::size_t> Read(std::span<char> out) override {
    if (ended_) return std::size_t{0};
    const std::string first = may_hold_more_ ? archive_->Name() : std::string();
    Result<std::size_t> n = archive_->Read(out);
    if (!n.ok() || n.value() == out.size()) return n;
    ended_ = true;
    if (!may_hold_more_) return n;
    const Result<Archive::Next> next = archive_->NextFile();
    if (!next.ok()) return next.status();
    if (next.value() != Archive::Next::kFile) return n;
    return Status::BadInput(
        fmt::format("{}: contains several files, including {} and {}; unpack it and name the trace",
                    archive_->path(), first, archive_->Name()));
  }
  std::string_view damage() const override {
    const std::string_view below = archive_->bytes().damage();
    return !below.empty() || !archive_->damaged() ? below : kDamage;
  }
  std::int64_t file_bytes_read() const override { return archive_->bytes().file_bytes_read(); }
  std::int64_t file_bytes() const override { return archive_->bytes().file_bytes(); }

 private:
  std::unique_ptr<Archive> archive_;
  bool may_hold_more_;
  bool ended_ = false;
};

Status NoFile(const std::string& path, Archive::Next why) {
  return Status::BadInput(
      why == Archive::Next::kDamage
          ? fmt::format("{}: {}; copy the file again", path, kDamage)
          : fmt::format("{}: is an archive without files; name an archive that contains a trace",
                        path));
}

}  // namespace

namespace {

/// Returns true if a block is the header of a file in a tar archive, which contains its checksum.
bool IsTarHeader(std::string_view block) {
  constexpr std::size_t kMagicAt = 257, kSumAt = 148, kSumBytes = 8;
  if (block.size() < kArchiveHeadBytes || !block.substr(kMagicAt).starts_with("ustar"))
    return false;
  std::uint32_t sum = 0, told = 0;
  for (std::size_t i = 0; i < kArchiveHeadBytes; ++i) {
    const bool in_sum = i >= kSumAt && i < kSumAt + kSumBytes;
    sum += in_sum ? std::uint32_t{' '} : static_cast<unsigned char>(block[i]);
    if (in_sum && block[i] >= '0' && block[i] <= '7')
      told = told * 8 + static_cast<std::uint32_t>(block[i] - '0');
  }
  return sum == told;
}

}  // namespace

std::optional<ArchiveKind> ArchiveKindOf(std::string_view head) {
  using namespace std::string_view_literals;
  if (head.starts_with("\xfd\x37zXZ\0"sv)) return ArchiveKind::kXz;
  if (head.starts_with("BZh"sv) && head.substr(0, 10).ends_with("1AY&SY"sv))
    return ArchiveKind::kBzip2;
  if (head.starts_with("PK\x03\x04"sv) || head.starts_with("PK\x05\x06"sv))
    return ArchiveKind::kZip;
  if (IsTarHeader(head)) return ArchiveKind::kTar;
  return std::nullopt;
}

Status CheckHoldsOneFile(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                         const std::string& path, ExpansionLimit limit) {
  assert(HoldsFiles(kind));
  Archive archive(std::move(bytes), kind, path, limit);
  constexpr std::size_t kMaxNames = 5;
  std::size_t files = 0;
  std::string names;
  for (;;) {
    const Result<Archive::Next> next = archive.NextFile();
    if (!next.ok()) return next.status();
    if (next.value() != Archive::Next::kFile) {
      if (files == 0) return NoFile(path, next.value());
      break;
    }
    if (files++ < kMaxNames) names += (names.empty() ? "" : ", ") + archive.Name();
    if (Status status = archive.Skip(); !status.ok()) return status;
  }
  if (files == 1) return Status::Ok();
  if (files > kMaxNames) names += fmt::format(" and {} more", files - kMaxNames);
  return Status::BadInput(
      fmt::format("{}: contains {} files: {}; unpack it and name the trace", path, files, names));
}

Result<std::unique_ptr<ByteSource>> OpenArchive(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                                                const std::string& path, ExpansionLimit limit,
                                                bool may_hold_more) {
  auto archive = std::make_unique<Archive>(std::move(bytes), kind, path, limit);
  const Result<Archive::Next> next = archive->NextFile();
  if (!next.ok()) return next.status();
  if (next.value() != Archive::Next::kFile) return NoFile(path, next.value());
  return {std::make_unique<ArchiveSource>(std::move(archive), may_hold_more)};
}

}  // namespace headroom
