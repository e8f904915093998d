#include "cli/inputs/trace_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "ingest/input/byte_source.h"
#include "ingest/open_trace.h"
#include "ranks/rank_of_file.h"
#include "render/escape.h"
#include "store/join.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> kCompressions = {".gz", ".zst", ".zstd",
                                                           ".xz", ".bz2", ".zip"};
constexpr std::array<std::string_view, 8> kFormats = {
    ".json", ".pftrace", ".pb", ".perfetto-trace", ".et", ".sqlite", ".nsys-rep", "results.db"};

/// Returns true for a name such as run.pftrace.4711. `headroom record` gives such names to the
/// files of further processes.
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

/// Returns true for a visible regular file whose name is that of a trace.
bool IsTraceFile(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code unknown;
  return !name.starts_with('.') && LooksLikeATrace(name) && entry.is_regular_file(unknown);
}

/// Returns true if a file begins as the recording of a rank: `headroom record` states the rank of a
/// process before its first event.
bool IsRecordingOfARank(const std::string& path) {
  constexpr std::size_t kHead = std::size_t{64} << 10;
  std::string head(kHead, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.find("world_size") != std::string::npos;
}

/// Returns the recordings of the further ranks of a recording, sorted by name.
std::vector<std::string> FurtherRanks(const std::string& path) {
  std::vector<std::string> found;
  if (!path.ends_with(".pftrace")) return found;
  const fs::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  std::error_code error;
  const fs::path folder = whole.has_parent_path() ? whole.parent_path() : fs::path(".");
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || !IsOfAFurtherProcess(name) || !IsTraceFile(*entry)) continue;
    const std::string other = (whole.parent_path() / name).string();
    if (IsRecordingOfARank(other)) found.push_back(other);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns the folders below `folder` that hold traces, sorted by name; empty if too many files are
/// below `folder`. JAX, for example, writes into plugins/profile/DATE.
std::vector<std::string> FoldersWithTraces(const std::string& folder) {
  constexpr int kMaxDepth = 4;
  constexpr int kMaxEntries = 10'000;
  constexpr auto kSkip = fs::directory_options::skip_permission_denied;
  std::set<std::string> found;
  std::error_code error;
  int entries = 0;
  for (fs::recursive_directory_iterator entry(folder, kSkip, error), end; !error && entry != end;
       entry.increment(error)) {
    if (++entries > kMaxEntries) return {};
    std::error_code unknown;
    if (entry->is_directory(unknown)) {
      const bool is_hidden = entry->path().filename().string().starts_with('.');
      if (is_hidden || entry.depth() >= kMaxDepth) entry.disable_recursion_pending();
    } else if (IsTraceFile(*entry)) {
      found.insert(entry->path().parent_path().string());
    }
  }
  return {found.begin(), found.end()};
}

/// Returns the paths as "A, B and 2 more".
std::string FirstOf(const std::vector<std::string>& paths) {
  constexpr std::size_t kMaxShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMaxShown, paths.size()); ++i)
    text += (i == 0 ? "" : ", ") + Printable(paths[i], Charset::kAscii);
  if (paths.size() > kMaxShown) text += fmt::format(" and {} more", paths.size() - kMaxShown);
  return text;
}

/// Sorts the files of a folder into traces and others.
Status ListFolder(const std::string& folder, std::vector<std::string>& traces,
                  std::vector<std::string>& others) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    if (entry->path().filename().string().starts_with('.') || !entry->is_regular_file(unknown))
      continue;
    (IsTraceFile(*entry) ? traces : others).push_back(entry->path().string());
  }
  std::sort(traces.begin(), traces.end());
  if (!error) return Status::Ok();
  return Status::BadInput(fmt::format("{}: cannot read the folder: {}; check its permissions",
                                      Printable(folder, Charset::kAscii), error.message()));
}

/// Removes files that hold the same recording as another file: a report of Nsight Systems next to
/// its export, and the timeline that JAX and TensorFlow write next to a profile.
void RemoveCopies(std::vector<std::string>& sorted) {
  const std::vector<std::string> all = sorted;
  constexpr std::pair<std::string_view, std::string_view> kCopies[] = {
      {".nsys-rep", ".sqlite"}, {".trace.json.gz", ".xplane.pb"}, {".trace.json", ".xplane.pb"}};
  std::erase_if(sorted, [&](const std::string& path) {
    // JAX writes this file next to a profile if create_perfetto_trace is set.
    if (path.ends_with("/perfetto_trace.json.gz") &&
        std::ranges::any_of(all, [](const auto& other) { return other.ends_with(".xplane.pb"); }))
      return true;
    return std::any_of(std::begin(kCopies), std::end(kCopies), [&](const auto& copy) {
      if (!path.ends_with(copy.first)) return false;
      const std::string stem = path.substr(0, path.size() - copy.first.size());
      return std::binary_search(all.begin(), all.end(), stem + std::string(copy.second));
    });
  });
}

/// Returns true for a small JSON object without events, such as the arguments of a run.
bool IsSettingsFile(const std::string& path) {
  constexpr std::uintmax_t kSmall = 1 << 20;
  std::error_code error;
  if (!path.ends_with(".json") || fs::file_size(path, error) > kSmall || error) return false;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string::npos && text[begin] == '{' &&
         text.find("\"traceEvents\"") == std::string::npos &&
         text.find("\"rocprofiler-sdk-tool\"") == std::string::npos;
}

Status AddFolder(const std::string& folder, TraceFiles& files) {
  std::vector<std::string> found;
  if (Status status = ListFolder(folder, found, files.skipped); !status.ok()) return status;
  if (std::ranges::all_of(found, IsSettingsFile)) {
    std::vector<std::string> below = FoldersWithTraces(folder);
    std::erase_if(below, [&](const std::string& path) {
      std::error_code unknown;
      return fs::equivalent(path, folder, unknown);
    });
    if (!below.empty()) {
      files.skipped.insert(files.skipped.end(), found.begin(), found.end());
      found.clear();
    }
    if (below.size() > 1) {
      return Status::BadInput(
          fmt::format("{}: has no trace itself, but {} folders below it have; name one: {}",
                      Printable(folder, Charset::kAscii), below.size(), FirstOf(below)));
    }
    if (below.size() == 1) {
      if (Status status = ListFolder(below.front(), found, files.skipped); !status.ok())
        return status;
    }
  }
  if (found.empty()) {
    return Status::BadInput(fmt::format(
        "{}: the folder has no trace (.json, .pftrace, .pb, .perfetto-trace, .et, .sqlite, "
        ".nsys-rep or results.db, plain, .gz, .zst, .xz, .bz2 or .zip); name the files",
        Printable(folder, Charset::kAscii)));
  }
  RemoveCopies(found);
  files.paths.insert(files.paths.end(), found.begin(), found.end());
  files.of_folder.resize(files.paths.size(), true);
  return Status::Ok();
}

/// Returns the number after the first `key` at or after position `from`.
std::optional<std::int64_t> NumberBehind(std::string_view text, std::string_view key,
                                         std::size_t from) {
  std::size_t at = text.find(key, from);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" \t\n\r", at + key.size());
  std::int64_t number = 0;
  if (at == std::string_view::npos ||
      std::from_chars(text.data() + at, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

/// Returns the process and the rank (-1: no rank) from the head of a trace of PyTorch's profiler.
/// Never reads a pipe, whose data could not be read again.
std::optional<std::pair<std::int64_t, std::int64_t>> PeekProcess(const std::string& path) {
  constexpr std::size_t kHead = std::size_t{1} << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  const Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, ExpansionLimit());
  if (!source.ok()) return std::nullopt;
  std::string head(kHead, '\0');
  const Result<std::size_t> length = source.value()->Read(head);
  if (!length.ok()) return std::nullopt;
  head.resize(length.value());
  const std::size_t events = head.find("\"traceEvents\"");
  if (events == std::string::npos) return std::nullopt;
  const auto pid = NumberBehind(head, "\"pid\":", events);
  if (!pid) return std::nullopt;
  const std::size_t job = head.find("\"distributedInfo\"");
  const auto rank =
      job < events ? NumberBehind(head, "\"rank\":", job) : std::optional<std::int64_t>();
  return std::pair(*pid, rank.value_or(-1));
}

/// Returns the name with each run of digits as one '#': files of one loop differ only in numbers.
std::string PatternOf(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (c < '0' || c > '9') {
      pattern += c;
    } else if (pattern.empty() || pattern.back() != '#') {
      pattern += '#';
    }
  }
  return pattern;
}

/// Returns true if the files hold recordings of one process, one after the other.
bool AreOfOneProcess(const std::vector<std::string>& paths) {
  std::vector<std::unique_ptr<TraceStore>> parts;
  for (const std::string& path : paths) {
    Result<std::unique_ptr<TraceStore>> part = OpenTrace(path, OpenOptions());
    if (!part.ok()) return false;
    parts.push_back(std::move(part).value());
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return BeginOf(*a) < BeginOf(*b); });
  return WhyNotOneProcess(parts).empty();
}

/// Adds files of one process whose names do not show it (trace_step12.json).
void AddByContent(const std::vector<std::string>& paths, Recordings& recordings) {
  constexpr std::size_t kMaxFiles = 1024;
  std::map<std::string, std::vector<std::string>> by_pattern;
  for (const std::string& path : paths) by_pattern[PatternOf(path)].push_back(path);
  for (const auto& [pattern, alike] : by_pattern) {
    if (alike.size() < 2 || alike.size() > kMaxFiles) continue;
    std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::string>> by_process;
    for (const std::string& path : alike) {
      if (const auto process = PeekProcess(path)) by_process[*process].push_back(path);
    }
    for (auto& [process, files] : by_process) {
      // Sorts by number: 2 comes before 12.
      std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
        return std::pair(a.size(), a) < std::pair(b.size(), b);
      });
      if (files.size() < 2 || !AreOfOneProcess(files)) continue;
      recordings[files.front()].assign(std::next(files.begin()), files.end());
    }
  }
}

}  // namespace

Recordings FindRecordings(const std::vector<std::string>& paths) {
  // Sorts by folder, host and process, then by time. All times have the same number of digits.
  std::map<std::string, std::map<std::pair<std::size_t, std::string>, std::string>> by_process;
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    constexpr std::string_view kEnding = ".pt.trace.json";
    const std::size_t slash = path.rfind('/');
    const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
    const std::size_t ending = path.find(kEnding, name);
    if (ending == std::string::npos || HostOfFileName(path).empty()) {
      others.push_back(path);
      continue;
    }
    const std::size_t dot = path.rfind('.', ending - 1);
    const std::string time = path.substr(dot + 1, ending - dot - 1);
    by_process[path.substr(0, dot)].emplace(std::pair(time.size(), time), path);
  }
  Recordings recordings;
  for (const auto& [process, by_time] : by_process) {
    if (by_time.size() < 2) continue;
    std::vector<std::string>& further = recordings[by_time.begin()->second];
    for (auto file = std::next(by_time.begin()); file != by_time.end(); ++file)
      further.push_back(file->second);
  }
  AddByContent(others, recordings);
  return recordings;
}

Result<std::string> FindOneTraceFile(const std::string& named) {
  const Result<TraceFiles> files = FindTraceFiles({named});
  if (!files.ok()) return files.status();
  const std::vector<std::string>& paths = files.value().paths;
  if (paths.size() == 1) return paths.front();
  return Status::BadInput(fmt::format("{}: holds {} traces; name one: {}",
                                      Printable(named, Charset::kAscii), paths.size(),
                                      FirstOf(paths)));
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

Result<TraceFiles> FindJobFiles(const std::vector<std::string>& named) {
  Result<TraceFiles> files = FindTraceFiles(named);
  if (!files.ok()) return files;
  for (const std::string& path : named) {
    const std::vector<std::string> ranks = FurtherRanks(path);
    const std::vector<std::string>& all = files.value().paths;
    // If one of them is named, the user has named all files to read.
    if (std::ranges::any_of(ranks, [&](const std::string& rank) {
          return std::find(all.begin(), all.end(), rank) != all.end();
        }))
      continue;
    for (const std::string& rank : ranks) {
      files.value().paths.push_back(rank);
      files.value().of_folder.push_back(true);
    }
  }
  return files;
}

}  // namespace headroom::cli
