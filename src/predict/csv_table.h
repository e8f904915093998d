// A table of comma-separated values with a header line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headroom {

/// A table whose cells are strings as written in the file, without enclosing quotes.
struct CsvTable {
  std::string name;  ///< For messages.
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< Each row is as long as the header.
  std::vector<std::size_t> lines;              ///< Line of the file on which each row ends; from 1.

  std::optional<std::size_t> Column(std::string_view column) const;
  /// Returns "FILE, line N" for messages.
  std::string Place(std::size_t row) const;
};

/// Reads a file in the format of RFC 4180, plain or compressed with gzip or zstd. Fails with
/// kBadInput, and names file, line and fix, if:
/// - the file is not a table
/// - a row has more or fewer cells than the header
/// - a column occurs twice
/// - there are more than 16 million cells; each row counts as two additional cells
Result<CsvTable> ReadCsv(const std::string& path);

/// Parses text in the same format; `name` is for messages.
Result<CsvTable> ParseCsv(std::string_view text, const std::string& name);

/// Returns one line, with quotes around cells that require them.
std::string CsvLine(const std::vector<std::string>& cells);

/// Returns all bytes of a file, decompressed if it is gzip or zstd. Fails with kBadInput if there
/// are more than `most_bytes`.
Result<std::string> ReadWholeText(const std::string& path,
                                  std::size_t most_bytes = std::size_t{128} << 20);

}  // namespace headroom
