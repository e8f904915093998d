#include "export/trace_file.h"

#include <cstddef>
#include <utility>

namespace headroom {

TraceFile::TraceFile(AtomicFile file, bool compressed) : file_(std::move(file)) {
  if (compressed) gzip_.emplace();
}

Result<TraceFile> TraceFile::Create(const std::string& path, std::string_view header) {
  Result<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  TraceFile trace(std::move(file).value(), path.ends_with(".gz"));
  trace.piece_ = "{";
  trace.piece_ += header;
  if (!header.empty()) trace.piece_ += ",\n";
  trace.piece_ += "\"traceEvents\":[";
  return trace;
}

void TraceFile::Add(std::string_view event) {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  piece_ += first_ ? "\n" : ",\n";
  first_ = false;
  piece_ += event;
  if (piece_.size() >= kPieceBytes) Write(/*last=*/false);
}

void TraceFile::Write(bool last) {
  if (status_.ok()) status_ = file_.Append(gzip_ ? gzip_->Add(piece_, last) : piece_);
  piece_.clear();
}

Status TraceFile::Close(std::string_view trailer) {
  piece_ += "\n]";
  if (!trailer.empty()) piece_ += ",\n";
  piece_ += trailer;
  piece_ += "}\n";
  Write(/*last=*/true);
  if (status_.ok()) status_ = file_.Close();
  return status_;
}

Status TraceFile::Commit(std::string_view trailer) {
  if (Status status = Close(trailer); !status.ok()) return status;
  return file_.Commit();
}

Result<AtomicFile> TraceFile::Finish(std::string_view trailer) && {
  if (Status status = Close(trailer); !status.ok()) return status;
  return std::move(file_);
}

}  // namespace headroom
