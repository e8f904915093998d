// A table of comma-separated values with a header line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace headroom {

/// All cells are text as written, without their quotes.
struct CsvTable {
  std::string name;  ///< For messages.
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;  ///< Each as long as the header.
  std::vector<std::size_t> lines;              ///< Of the file, where each row ends; from 1.

  std::optional<std::size_t> Column(std::string_view column) const;
  /// "FILE, line N", for messages.
  std::string Place(std::size_t row) const;
};

/// Reads a file as RFC 4180 has it, also gzip or zstd. BadInput names file, line and remedy: what
/// is not a table, rows of another length than the header, columns that are there twice, more than
/// 16 million cells, where each row counts as two more.
Result<CsvTable> ReadCsv(const std::string& path);

/// The same of text; `name` is for messages.
Result<CsvTable> ParseCsv(std::string_view text, const std::string& name);

/// One line, with quotes where a cell needs them.
std::string CsvLine(const std::vector<std::string>& cells);

/// Whole bytes of a file, also gzip or zstd. BadInput where there are more than `most_bytes`.
Result<std::string> ReadWholeText(const std::string& path,
                                  std::size_t most_bytes = std::size_t{128} << 20);

}  // namespace headroom
