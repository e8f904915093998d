#include "predict/csv_table.h"

#include <csv.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

#include "ingest/input/byte_source.h"

namespace headroom {
namespace {

/// kMaxCells: maximum size of a table, in cells. kCellsOfRow: overhead of a row, in cells. A cell
/// takes many times the memory of its text.
constexpr std::size_t kMaxCells = std::size_t{1} << 24, kCellsOfRow = 2;

/// State of libcsv's callbacks.
struct Filling {
  CsvTable* table = nullptr;
  std::vector<std::string> cells = {};
  std::size_t line = 1;  ///< Line at the end of the text read so far.
  std::size_t wrong_line = 0, wrong_cells = 0;
  std::size_t stored = 0;  ///< Cells, plus kCellsOfRow per row; exceeds kMaxCells only slightly.
};

void TakeCell(void* text, std::size_t length, void* data) {
  auto* filling = static_cast<Filling*>(data);
  if (filling->stored > kMaxCells) return;
  ++filling->stored;
  filling->cells.emplace_back(static_cast<const char*>(text), length);
  filling->line += static_cast<std::size_t>(
      std::count(filling->cells.back().begin(), filling->cells.back().end(), '\n'));
}

void TakeRow(int end, void* data) {
  auto* filling = static_cast<Filling*>(data);
  if (filling->stored > kMaxCells) return;
  filling->stored += kCellsOfRow;
  CsvTable& table = *filling->table;
  const bool blank = filling->cells.size() == 1 && filling->cells.front().empty();
  if (!filling->cells.empty() && !blank) {
    if (table.header.empty()) {
      table.header = std::move(filling->cells);
    } else if (filling->cells.size() == table.header.size()) {
      table.rows.push_back(std::move(filling->cells));
      table.lines.push_back(filling->line);
    } else if (filling->wrong_line == 0) {
      filling->wrong_line = filling->line;
      filling->wrong_cells = filling->cells.size();
    }
  }
  filling->cells.clear();
  // libcsv reports each character of "\r\n", so only '\n' counts.
  if (end == '\n') ++filling->line;
}

}  // namespace

std::optional<std::size_t> CsvTable::Column(std::string_view column) const {
  const auto found = std::find(header.begin(), header.end(), column);
  if (found == header.end()) return std::nullopt;
  return static_cast<std::size_t>(found - header.begin());
}

std::string CsvTable::Place(std::size_t row) const {
  return fmt::format("{}, line {}", name, lines[row]);
}

Result<CsvTable> ParseCsv(std::string_view text, const std::string& name) {
  CsvTable table;
  table.name = name;
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL) != 0)
    return Status::Environment("cannot initialize the CSV parser");
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> freed(&parser, csv_free);
  // Cells keep their leading and trailing blanks.
  csv_set_space_func(&parser, [](unsigned char) { return 0; });
  Filling filling{.table = &table};
  const std::size_t read =
      csv_parse(&parser, text.data(), text.size(), TakeCell, TakeRow, &filling);
  if (read != text.size() || csv_fini(&parser, TakeCell, TakeRow, &filling) != 0) {
    return Status::BadInput(fmt::format(
        "{}, line {}: a quote is not closed, or text follows a closing quote; write a cell with "
        "quotes as \"say \"\"so\"\"\"",
        name, filling.line));
  }
  if (filling.stored > kMaxCells) {
    return Status::BadInput(
        fmt::format("{}: more than {} million cells (each row counts as two additional cells); "
                    "split the table",
                    name, kMaxCells / 1'000'000));
  }
  if (table.header.empty())
    return Status::BadInput(
        fmt::format("{}: no header line; add one with the column names above the rows", name));
  if (filling.wrong_line > 0) {
    return Status::BadInput(
        fmt::format("{}, line {}: {} cells, but the header names {} columns; correct the line",
                    name, filling.wrong_line, filling.wrong_cells, table.header.size()));
  }
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    if (*table.Column(table.header[i]) != i)
      return Status::BadInput(
          fmt::format("{}: column '{}' occurs twice; rename or remove one", name, table.header[i]));
  }
  return table;
}

Result<std::string> ReadWholeText(const std::string& path, std::size_t most_bytes) {
  // OpenByteSource() also refuses directories and empty files, but its messages are about traces.
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown))
    return Status::BadInput(fmt::format("{}: is a directory; name a file in it", path));
  if (std::filesystem::is_regular_file(path, unknown) && std::filesystem::is_empty(path, unknown))
    return Status::BadInput(fmt::format("{}: is empty; copy or write it again", path));
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, ExpansionLimit());
  if (!source.ok()) return source.status();
  std::string text;
  constexpr std::size_t kChunk = std::size_t{1} << 20;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kChunk);
    const Result<std::size_t> read = source.value()->Read(std::span(text.data() + before, kChunk));
    if (!read.ok()) return read.status();
    text.resize(before + read.value());
    if (read.value() == 0) break;
    if (text.size() > most_bytes)
      return Status::BadInput(
          fmt::format("{}: more than {} MiB of text; split the file", path, most_bytes >> 20));
  }
  if (!source.value()->damage().empty())
    return Status::BadInput(fmt::format("{}: {}", path, source.value()->damage()));
  // Only decompression shows that a compressed file is empty.
  if (text.empty())
    return Status::BadInput(fmt::format("{}: is empty; copy or write it again", path));
  // Spreadsheets begin UTF-8 files with this mark.
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

Result<CsvTable> ReadCsv(const std::string& path) {
  const Result<std::string> text = ReadWholeText(path);
  if (!text.ok()) return text.status();
  return ParseCsv(text.value(), path);
}

std::string CsvLine(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (!line.empty() || &cell != &cells.front()) line += ',';
    if (cell.find_first_of(",\"\n\r") == std::string::npos) {
      line += cell;
      continue;
    }
    line += '"';
    for (const char c : cell) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + '\n';
}

}  // namespace headroom
