// Reads, through libarchive, the only file of an archive (.zip, .tar) or the content of an xz or
// bzip2 file.
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

/// Number of first bytes that ArchiveKindOf() requires.
inline constexpr std::size_t kArchiveHeadBytes = 512;

/// Returns the archive kind that the first bytes of a stream show, or nullopt.
std::optional<ArchiveKind> ArchiveKindOf(std::string_view head);

/// Returns true if an archive of this kind may contain several files.
constexpr bool HoldsFiles(ArchiveKind kind) {
  return kind == ArchiveKind::kTar || kind == ArchiveKind::kZip;
}

/// Reads an archive to its end. Fails with kBadInput if it does not contain exactly one file. Does
/// not count folders, links, files that macOS adds, README*, LICENSE* and *.md files. `path`
/// appears in messages.
///
/// Requires HoldsFiles(kind).
Status CheckHoldsOneFile(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                         const std::string& path, ExpansionLimit limit);

/// Opens the first file of an archive. If `may_hold_more` is true and the archive has a second
/// file, the last Read() fails.
Result<std::unique_ptr<ByteSource>> OpenArchive(std::unique_ptr<ByteSource> bytes, ArchiveKind kind,
                                                const std::string& path, ExpansionLimit limit,
                                                bool may_hold_more);

}  // namespace headroom
