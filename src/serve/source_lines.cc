#include "serve/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/read_file.h"
#include "render/escape.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLinesBefore = 2, kLinesAfter = 30;

bool IsReadable(const fs::path& path) {
  constexpr std::uintmax_t kMaxBytes = 4'000'000;
  std::error_code failed;
  return fs::is_regular_file(path, failed) && !failed && fs::file_size(path, failed) <= kMaxBytes &&
         !failed;
}

/// Returns an empty path if the file is nowhere.
fs::path Find(const fs::path& file, const std::string& trace_path) {
  if (file.is_absolute()) return IsReadable(file) ? file : fs::path();
  if (IsReadable(file)) return file;
  std::error_code failed;
  fs::path folder = fs::absolute(trace_path, failed).parent_path();
  for (; !failed && !folder.empty(); folder = folder.parent_path()) {
    if (IsReadable(folder / file)) return folder / file;
    if (folder == folder.root_path()) break;
  }
  return {};
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::optional<SourceLocation> ParseLocation(const std::string& text) {
  const std::size_t close = text.find("): ");
  if (close == std::string::npos) return std::nullopt;
  const std::size_t open = text.rfind('(', close);
  if (open == std::string::npos || open == 0) return std::nullopt;
  SourceLocation location = {.file = text.substr(0, open)};
  const char* const end = text.data() + close;
  const auto [rest, error] = std::from_chars(text.data() + open + 1, end, location.line);
  if (error != std::errc() || rest != end || location.line < 1) return std::nullopt;
  return location;
}

Result<std::string> SourceJson(const std::string& location, const std::string& trace_path) {
  const std::optional<SourceLocation> at = ParseLocation(location);
  if (!at)
    return Status::NoAnswer(
        fmt::format("{}: names no line of a file", Printable(location, Charset::kUtf8)));
  const fs::path path = Find(at->file, trace_path);
  if (path.empty()) {
    return Status::NoAnswer(fmt::format(
        "{}: the file is not on this machine; run headroom ui in the folder of the program",
        Printable(at->file, Charset::kUtf8)));
  }
  const Result<std::optional<std::string>> read = ReadFile(path.string());
  if (!read.ok()) return read.status();
  const std::string text = read.value().value_or("");
  const std::vector<std::string_view> lines = LinesOf(text);
  const auto count = static_cast<std::int64_t>(lines.size());
  if (at->line > count || text.find('\0') != std::string::npos) {
    return Status::NoAnswer(fmt::format("{}: has no line {} now; it is not the file that ran",
                                        Printable(path.string(), Charset::kUtf8), at->line));
  }
  const std::int64_t first = std::max<std::int64_t>(1, at->line - kLinesBefore);
  const std::int64_t last = std::min(count, at->line + kLinesAfter);
  JsonWriter json;
  json.BeginObject(JsonWriter::Layout::kLines);
  json.Key("schema").String("headroom.source/1");
  json.Key("path").String(Printable(path.string(), Charset::kUtf8));
  json.Key("line").Integer(at->line);
  json.Key("first_line").Integer(first);
  json.Key("lines").BeginArray(JsonWriter::Layout::kLines);
  for (std::int64_t line = first; line <= last; ++line)
    json.String(Printable(lines[static_cast<std::size_t>(line - 1)], Charset::kUtf8));
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
