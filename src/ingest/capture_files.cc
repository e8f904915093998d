#include "ingest/capture_files.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace headroom {
namespace {

namespace fs = std::filesystem;

/// File sizes by file name.
using BatchSizes = std::map<std::string, std::int64_t>;

/// Returns nullopt if the file is not a list of captures.
std::optional<BatchSizes> ReadList(const std::string& path) {
  constexpr std::uintmax_t kLongest = 1 << 20;
  std::error_code unknown;
  if (!path.ends_with(".json") || fs::file_size(path, unknown) > kLongest || unknown)
    return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.find_first_not_of(" \t\r\n") == std::string::npos ||
      text[text.find_first_not_of(" \t\r\n")] != '[')
    return std::nullopt;
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array() || list.empty()) return std::nullopt;
  BatchSizes sizes;
  for (const nlohmann::json& entry : list) {
    if (!entry.is_object() || !entry.contains("file") || !entry["file"].is_string())
      return std::nullopt;
    if (!entry.contains("batch_size") || !entry["batch_size"].is_number_integer()) continue;
    sizes[fs::path(entry["file"].get<std::string>()).filename().string()] =
        entry["batch_size"].get<std::int64_t>();
  }
  return sizes;
}

}  // namespace

Result<std::vector<CaptureFile>> OpenCaptures(const std::vector<std::string>& paths,
                                              const OpenOptions& options) {
  BatchSizes sizes;
  std::vector<std::string> traces;
  for (const std::string& path : paths) {
    if (std::optional<BatchSizes> list = ReadList(path)) {
      sizes.merge(*list);
    } else {
      traces.push_back(path);
    }
  }
  if (traces.empty() && !paths.empty()) {
    return Status::BadInput(
        paths.front() +
        ": is a list of captures, not a trace; pass a trace that it lists, or the folder of "
        "these traces");
  }
  std::vector<CaptureFile> captures;
  for (const std::string& path : traces) {
    Result<std::unique_ptr<TraceStore>> store = OpenTrace(path, options);
    if (!store.ok()) return store.status();
    const auto size = sizes.find(fs::path(path).filename().string());
    captures.push_back(
        {.store = std::move(store).value(),
         .batch_size = size == sizes.end() ? std::nullopt : std::optional(size->second)});
  }
  return captures;
}

}  // namespace headroom
