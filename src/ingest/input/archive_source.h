// The one file of an archive (.zip, .tar), or what xz or bzip2 compressed, through libarchive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/input/byte_source.h"

namespace headroom {

enum class ArchiveKind : std::uint8_t { kXz, kBzip2, kTar, kZip };

/// The first bytes that ArchiveKindOf() needs.
inline constexpr std::size_t kArchiveHeadBytes = 512;

/// What the first bytes of a stream are; none: none of these.
std::optional<ArchiveKind> ArchiveKindOf(std::string_view head);

/// Whether an archive may hold several files.
constexpr bool HoldsFiles(ArchiveKind kind) {
  return kind == ArchiveKind::kTar || kind == ArchiveKind::kZip;
}

/// Reads an archive to its end. Fails with kBadInput if it does not hold exactly one file: folders,
/// links and the files that macOS adds do not count. `path` is for messages.
///
/// REQUIRES: HoldsFiles(kind).
Status CheckHoldsOneFile(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                         const std::string& path, ExpansionLimit limit);

/// The first file of an archive. If `may_hold_more`, a second one makes the last Read() fail.
Result<std::unique_ptr<ByteSource>> OpenArchive(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                                                const std::string& path, ExpansionLimit limit,
                                                bool may_hold_more);

}  // namespace headroom
