// Converts Nsight Systems reports (.nsys-rep, .qdrep), whose format is private. `nsys export`
// writes them as a database that Headroom reads.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "base/unfinished_files.h"
#include "ingest/input/byte_source.h"

namespace headroom::nsight {

/// Returns true if the name of a file is that of a report, compressed or not.
bool IsReportName(std::string_view path);

/// The export of a report in a private temporary folder. The destructor removes the folder, as does
/// a signal that ends the program.
class ReportExport {
 public:
  /// Runs the first `nsys` on PATH and waits for it. `bytes` is the report from its beginning,
  /// decompressed; read only if nsys cannot open `path` directly.
  ///
  /// Fails with kBadInput if nsys is not on PATH or refuses the report, and with kEnvironment if
  /// the temporary folder is not writable. The message contains the command to run.
  static Result<ReportExport> Make(const std::string& path, ByteSource& bytes);

  ReportExport(ReportExport&& other) noexcept;
  ReportExport& operator=(ReportExport&&) = delete;
  ~ReportExport();

  /// Returns the path of the database.
  const std::string& path() const { return database_; }

 private:
  ReportExport() = default;

  std::string folder_;  ///< Empty after a move.
  std::string database_;
  // A signal removes them in this order: files first.
  UnfinishedFile unfinished_database_, unfinished_report_, unfinished_log_, unfinished_folder_;
};

}  // namespace headroom::nsight
