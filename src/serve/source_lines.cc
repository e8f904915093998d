#include "serve/source_lines.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/unique_descriptor.h"
#include "render/escape.h"
#include "render/json_writer.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLinesBefore = 2, kLinesAfter = 30;

/// Returns true for .py and .pyx files without `..` in their path. A trace can name any file, so
/// others are never read.
bool IsPython(const fs::path& path) {
  if (path.extension() != ".py" && path.extension() != ".pyx") return false;
  return std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool Exists(const fs::path& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

/// Returns nullopt if the file is unreadable, too large, or no text.
std::optional<std::string> ReadText(const fs::path& path) {
  constexpr std::size_t kMaxBytes = 4'000'000;
  // O_NONBLOCK: the file could have become a pipe.
  const UniqueDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat found {};
  if (!file.is_open() || fstat(file.number(), &found) != 0 || !S_ISREG(found.st_mode) ||
      static_cast<std::size_t>(found.st_size) > kMaxBytes)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(found.st_size), '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t part = read(file.number(), text.data() + length, text.size() - length);
    if (part <= 0) break;
    length += static_cast<std::size_t>(part);
  }
  text.resize(length);
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

/// Returns an empty path if there is no such file.
fs::path Find(const fs::path& file, const std::string& trace_path) {
  if (!IsPython(file)) return {};
  if (file.is_absolute()) return Exists(file) ? file : fs::path();
  if (Exists(file)) return file;
  std::error_code failed;
  fs::path folder = fs::absolute(trace_path, failed).parent_path();
  for (; !failed && !folder.empty(); folder = folder.parent_path()) {
    if (Exists(folder / file)) return folder / file;
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

/// Returns true if the function's name is on this line or the next few, which may hold decorators.
/// Names such as <module> and <lambda> are in no source.
bool HasFunction(const std::vector<std::string_view>& lines, const SourceLocation& at) {
  constexpr std::size_t kMaxDecoratorLines = 12;
  const auto first = static_cast<std::size_t>(at.line - 1);
  if (first >= lines.size()) return false;
  if (at.function.starts_with('<')) return true;
  const std::size_t last = std::min(lines.size(), first + kMaxDecoratorLines);
  return std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(first),
                     lines.begin() + static_cast<std::ptrdiff_t>(last), [&](std::string_view line) {
                       return line.find(at.function) != std::string_view::npos;
                     });
}

/// Replaces tabs with spaces up to the next multiple of 8 columns, as Python counts them.
std::string WithoutTabs(std::string_view line) {
  constexpr std::size_t kTab = 8;
  std::string text;
  for (const char c : line)
    text.append(c == '\t' ? kTab - text.size() % kTab : 1, c == '\t' ? ' ' : c);
  return text;
}

}  // namespace

std::optional<SourceLocation> ParseLocation(const std::string& text) {
  const std::size_t close = text.find("): ");
  if (close == std::string::npos) return std::nullopt;
  const std::size_t open = text.rfind('(', close);
  if (open == std::string::npos || open == 0) return std::nullopt;
  SourceLocation location = {.file = text.substr(0, open), .function = text.substr(close + 3)};
  const char* const end = text.data() + close;
  const auto [rest, error] = std::from_chars(text.data() + open + 1, end, location.line);
  if (error != std::errc() || rest != end || location.line < 1) return std::nullopt;
  return location;
}

Result<std::string> SourceJson(const std::string& location, const std::string& trace_path) {
  const std::optional<SourceLocation> at = ParseLocation(location);
  if (!at)
    return Status::NoAnswer(fmt::format("{}: is not a place such as model.py(42): forward",
                                        Printable(location, Charset::kUtf8)));
  const fs::path path = Find(at->file, trace_path);
  if (path.empty()) {
    return Status::NoAnswer(fmt::format(
        "{}: the file is not on this machine; run headroom ui in the folder of the program",
        Printable(at->file, Charset::kUtf8)));
  }
  const std::optional<std::string> text = ReadText(path);
  if (!text) {
    return Status::NoAnswer(
        fmt::format("{}: cannot show this file: it is unreadable, binary, or larger than 4 MB",
                    Printable(path.string(), Charset::kUtf8)));
  }
  const std::vector<std::string_view> lines = LinesOf(*text);
  const auto count = static_cast<std::int64_t>(lines.size());
  if (!HasFunction(lines, *at)) {
    return Status::NoAnswer(
        fmt::format("{}: {} is not at line {}: the file has changed since, or it is another one; "
                    "check out the recorded version",
                    Printable(path.string(), Charset::kUtf8),
                    Printable(at->function, Charset::kUtf8), at->line));
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
    json.String(Printable(WithoutTabs(lines[static_cast<std::size_t>(line - 1)]), Charset::kUtf8));
  json.EndArray();
  json.EndObject();
  return std::move(json).Take();
}

}  // namespace headroom
