#include "answers/query/query_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "render/json_writer.h"

namespace headroom {
namespace {

/// Maximum width of a string in a table, in columns of the terminal.
constexpr std::size_t kWidestText = 64;

std::string HexOf(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

/// Six digits suffice for people. Programs get all digits.
std::string ShortNumber(double value) { return fmt::format("{:.6g}", value); }

std::string JsonOf(const QueryValue& value, bool large_integers_as_text) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    constexpr std::int64_t kMaxExact = std::int64_t{1} << 53;
    const bool is_large = *number > kMaxExact || *number < -kMaxExact;
    std::string text = std::to_string(*number);
    return is_large && large_integers_as_text ? JsonString(text) : text;
  }
  if (const auto* real = std::get_if<double>(&value))
    return std::isfinite(*real) ? fmt::format("{}", *real) : "null";
  if (const auto* text = std::get_if<std::string_view>(&value)) return JsonString(*text);
  if (const auto* bytes = std::get_if<QueryBytes>(&value)) return JsonString(HexOf(bytes->bytes));
  return "null";
}

std::string CsvOf(const QueryValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* real = std::get_if<double>(&value)) return fmt::format("{}", *real);
  if (const auto* text = std::get_if<std::string_view>(&value)) return CsvField(*text);
  if (const auto* bytes = std::get_if<QueryBytes>(&value)) return HexOf(bytes->bytes);
  return "";
}

}  // namespace

void QueryOutput::Begin(std::span<const std::string> columns) {
  began_ = true;
  columns_.assign(columns.begin(), columns.end());
}

bool QueryOutput::Add(std::span<const QueryValue> row) {
  if (options_.most_rows() > 0 && rows_ == options_.most_rows()) {
    cut_ = true;
    return false;
  }
  if (options_.format == QueryFormat::kTable) {
    std::vector<Cell> cells;
    for (const QueryValue& value : row) {
      Cell cell;
      if (const auto* number = std::get_if<std::int64_t>(&value)) {
        cell.text = std::to_string(*number);
      } else if (const auto* real = std::get_if<double>(&value)) {
        cell.text = ShortNumber(*real);
      } else if (const auto* text = std::get_if<std::string_view>(&value)) {
        cell = {CutMiddle(Printable(*text, options_.charset), kWidestText, options_.charset), true};
      } else if (const auto* bytes = std::get_if<QueryBytes>(&value)) {
        cell = {CutMiddle(HexOf(bytes->bytes), kWidestText, options_.charset), true};
      } else {
        cell.text = "NULL";
      }
      bytes_ += static_cast<std::int64_t>(sizeof(Cell) + cell.text.size());
      cells.push_back(std::move(cell));
    }
    table_.push_back(std::move(cells));
  } else {
    const bool json = options_.format == QueryFormat::kJson;
    if (json) rows_text_ += rows_ == 0 ? "\n    [" : ",\n    [";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) rows_text_ += json ? ", " : ",";
      rows_text_ += json ? JsonOf(row[i], options_.large_integers_as_text) : CsvOf(row[i]);
    }
    rows_text_ += json ? "]" : "\r\n";
    bytes_ = static_cast<std::int64_t>(rows_text_.size());
  }
  ++rows_;
  too_large_ = options_.most_bytes > 0 && bytes_ > options_.most_bytes;
  return !too_large_;
}

Status QueryOutput::status() const {
  if (!too_large_) return Status::Ok();
  return Status::Environment(
      fmt::format("the result is larger than {} MB; ask for fewer rows (LIMIT), or raise the limit "
                  "with --memory-mb N (0: no limit)",
                  options_.most_bytes >> 20));
}

std::string QueryOutput::Table() const {
  const std::size_t width = columns_.size();
  std::vector<std::string> names;
  std::vector<std::size_t> widths;
  std::vector<bool> right(width, true);
  for (std::size_t c = 0; c < width; ++c) {
    names.push_back(
        CutMiddle(Printable(columns_[c], options_.charset), kWidestText, options_.charset));
    widths.push_back(DisplayWidth(names[c]));
    for (const std::vector<Cell>& row : table_) {
      widths[c] = std::max(widths[c], DisplayWidth(row[c].text));
      if (row[c].is_text) right[c] = false;
    }
    if (table_.empty()) right[c] = false;
  }
  std::string out;
  const auto add_line = [&](const auto& text_of) {
    std::string line;
    for (std::size_t c = 0; c < width; ++c) {
      const std::string& text = text_of(c);
      const std::string pad(widths[c] - DisplayWidth(text), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? pad + text : text + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  };
  add_line([&](std::size_t c) -> const std::string& { return names[c]; });
  std::vector<std::string> rule;
  rule.reserve(width);
  for (const std::size_t w : widths) rule.emplace_back(w, '-');
  add_line([&](std::size_t c) -> const std::string& { return rule[c]; });
  for (const std::vector<Cell>& row : table_)
    add_line([&](std::size_t c) -> const std::string& { return row[c].text; });
  return out;
}

std::string QueryOutput::Text(std::string_view sql) const {
  if (options_.format == QueryFormat::kTable) return Table();
  std::string head;
  const bool json = options_.format == QueryFormat::kJson;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) head += json ? ", " : ",";
    head += json ? JsonString(columns_[c]) : CsvField(columns_[c]);
  }
  if (!json) return head + "\r\n" + rows_text_;
  return fmt::format(
      "{{\n  \"schema\": \"headroom.query/1\",\n  \"sql\": {},\n  \"columns\": [{}],\n  \"rows\": "
      "[{}{}],\n  \"cut\": {}\n}}\n",
      JsonString(sql), head, rows_text_, rows_text_.empty() ? "" : "\n  ", cut_);
}

}  // namespace headroom
