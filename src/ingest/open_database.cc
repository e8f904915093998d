#include "ingest/open_database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/unfinished_files.h"

namespace headroom::sqlite {
namespace {

/// Returns true if SQLite can open the path directly.
bool IsPlainDatabase(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  char head[16];
  const ssize_t n = pread(descriptor, head, sizeof(head), 0);
  close(descriptor);
  return n == sizeof(head) && LooksLikeDatabase({head, sizeof(head)});
}

std::int64_t BytesOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : 0;
}

/// Logs that rows may be missing. SQLite keeps new rows in a second file until the writer closes
/// the database. Headroom does not read that file, because merging it would modify the database.
void TellUnfinished(const std::string& path, bool has_log, ImportLog& log) {
  if (has_log && BytesOf(path + "-wal") > 0) {
    log.Add(ImportIssue::kTruncated, -1,
            "the latest rows are in the -wal file: close the program that has the database open, "
            "or run "
            "sqlite3 FILE 'PRAGMA wal_checkpoint(TRUNCATE)'");
  } else if (BytesOf(path + "-journal") > 0) {
    log.Add(ImportIssue::kTruncated, -1,
            "a -journal file exists: a program is writing the database, or stopped while writing; "
            "export the database again");
  }
}

/// A file in the temporary folder, removed by the destructor.
class TemporaryFile {
 public:
  TemporaryFile() {
    const char* const folder = std::getenv("TMPDIR");
    const std::string prefix =
        fmt::format("{}/headroom-", folder != nullptr && *folder != '\0' ? folder : "/tmp");
    descriptor_ = CreateUnfinished(prefix, 0600, path_, unfinished_);
    if (descriptor_ < 0) {
      error_ = errno;
      path_ = prefix;
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    Remove();
  }

  /// Writes all bytes of a stream to the file.
  Status Fill(ByteSource& bytes) {
    std::vector<char> buffer(std::size_t{1} << 20);
    for (std::size_t got = buffer.size(); got == buffer.size();) {
      const Result<std::size_t> n = bytes.Read(std::span(buffer));
      if (!n.ok()) return n.status();
      got = n.value();
      if (error_ == 0) error_ = WriteAll(descriptor_, {buffer.data(), got});
      if (error_ != 0) {
        return Status::Environment(
            fmt::format("{}: cannot write the unpacked database: {}; free disk space, "
                        "or set TMPDIR to another folder",
                        path_, std::strerror(error_)));
      }
    }
    return Status::Ok();
  }
  /// Unlinks the file. A process that opened the file before can continue to use it.
  void Remove() {
    if (std::exchange(removed_, true)) return;
    unlink(path_.c_str());
    unfinished_ = UnfinishedFile();
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  int error_ = 0;
  bool removed_ = false;
  UnfinishedFile unfinished_;  ///< Removes the file on a signal; empty after Remove().
};

}  // namespace

Status ReadDatabase(const std::string& path, ByteSource& bytes, std::int64_t max_text_bytes,
                    ExpansionLimit expansion, const Progress& progress, const Reader& read,
                    TraceStore& store) {
  if (IsPlainDatabase(path)) {
    const Result<Database> database = Database::Open(path, path, max_text_bytes);
    if (!database.ok()) return database.status();
    TellUnfinished(path, database.value().has_log(), store.log);
    return read(database.value(), progress);
  }
  TemporaryFile file;
  if (Status status = file.Fill(bytes); !status.ok()) return status;
  const std::int64_t file_bytes = std::max(bytes.file_bytes(), bytes.file_bytes_read());
  const std::int64_t max_rows = expansion.EventsOf(file_bytes);
  const Result<Database> database = Database::Open(file.path(), path, max_text_bytes, max_rows);
  file.Remove();
  if (!database.ok()) return database.status();
  if (!bytes.damage().empty())
    store.log.Add(ImportIssue::kCutCompression, -1, std::string(bytes.damage()));
  // Passes no progress callback: it counts compressed bytes, and all of them were read above.
  Status status = read(database.value(), nullptr);
  if (database.value().rows_left() < 0)
    status = expansion.CheckEvents(path, max_rows + 1, file_bytes);
  store.metadata.file_bytes = file_bytes;
  return status;
}

}  // namespace headroom::sqlite
