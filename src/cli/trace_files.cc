#include "cli/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/ranks.h"
#include "report/escape.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kCompressions = {".gz", ".zst", ".zstd",
                                                           ".xz", ".bz2", ".zip"};
constexpr std::array<std::string_view, 5> kFormats = {".json", ".pftrace", ".pb", ".perfetto-trace",
                                                      ".et"};

/// run.pftrace.4711: what `headroom record` names the file of a further process.
bool IsOfAFurtherProcess(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot + 1 < name.size() &&
         name.find_first_not_of("0123456789", dot + 1) == std::string_view::npos &&
         name.substr(0, dot).ends_with(".pftrace");
}

bool LooksLikeATrace(std::string_view name) {
  if (IsOfAFurtherProcess(name)) return true;
  for (const std::string_view ending : kCompressions) {
    if (name.ends_with(ending)) name.remove_suffix(ending.size());
  }
  return std::any_of(kFormats.begin(), kFormats.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

Status AddFolder(const std::string& folder, TraceFiles& files) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code unknown;
    if (name.starts_with('.') || !entry->is_regular_file(unknown)) continue;
    if (LooksLikeATrace(name)) {
      found.push_back(entry->path().string());
    } else {
      files.skipped.push_back(entry->path().string());
    }
  }
  if (error) {
    return Status::BadInput(fmt::format("{}: cannot read the folder: {}; check its rights",
                                        Printable(folder, Charset::kAscii), error.message()));
  }
  if (found.empty()) {
    return Status::BadInput(fmt::format(
        "{}: the folder holds no trace (.json, .pftrace, .pb, .perfetto-trace, .et, plain, "
        ".gz, .zst, .xz, .bz2 or .zip); name the files",
        Printable(folder, Charset::kAscii)));
  }
  std::sort(found.begin(), found.end());
  files.paths.insert(files.paths.end(), found.begin(), found.end());
  files.of_folder.resize(files.paths.size(), true);
  return Status::Ok();
}

}  // namespace

Recordings FindRecordings(const std::vector<std::string>& paths) {
  // By folder, host and process; then by time, whose digits are as many.
  std::map<std::string, std::map<std::pair<std::size_t, std::string>, std::string>> by_process;
  for (const std::string& path : paths) {
    constexpr std::string_view kEnding = ".pt.trace.json";
    const std::size_t slash = path.rfind('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t ending = path.find(kEnding, name);
    if (ending == std::string::npos || HostOfFileName(path).empty()) continue;
    const std::size_t dot = path.rfind('.', ending - 1);
    const std::string time = path.substr(dot + 1, ending - dot - 1);
    by_process[path.substr(0, dot)].emplace(std::pair(time.size(), time), path);
  }
  Recordings recordings;
  for (const auto& [process, by_time] : by_process) {
    if (by_time.size() < 2) continue;
    std::vector<std::string>& others = recordings[by_time.begin()->second];
    for (auto file = std::next(by_time.begin()); file != by_time.end(); ++file)
      others.push_back(file->second);
  }
  return recordings;
}

Result<TraceFiles> FindTraceFiles(const std::vector<std::string>& named) {
  TraceFiles files;
  for (const std::string& path : named) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      if (Status status = AddFolder(path, files); !status.ok()) return status;
    } else {
      files.paths.push_back(path);
      files.of_folder.push_back(false);
    }
  }
  std::sort(files.skipped.begin(), files.skipped.end());
  return files;
}

}  // namespace headroom::cli
