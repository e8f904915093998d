#include "ingest/open_trace.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "base/ascii.h"
#include "ingest/chakra/chakra_reader.h"
#include "ingest/chakra/node_stream.h"
#include "ingest/input/other_formats.h"
#include "ingest/kineto/kineto_reader.h"
#include "ingest/memory_snapshot/pickle_parser.h"
#include "ingest/memory_snapshot/snapshot_reader.h"
#include "ingest/nsight/nsight_reader.h"
#include "ingest/nsight/report_export.h"
#include "ingest/open_database.h"
#include "ingest/perfetto/packet_stream.h"
#include "ingest/perfetto/perfetto_reader.h"
#include "ingest/rocprof/rocpd_reader.h"
#include "ingest/rocprof/rocprof_reader.h"
#include "ingest/xplane/plane_stream.h"
#include "ingest/xplane/xplane_reader.h"

namespace headroom {
namespace {

/// A source whose first bytes can be inspected before they are read.
class HeadSource final : public ByteSource {
 public:
  explicit HeadSource(ByteSource& source) : source_(source) {}

  /// Reads the first bytes, at most 64 KiB. Call it once, before Read().
  Status Peek() {
    head_.resize(std::size_t{64} << 10);
    const Result<std::size_t> n = source_.Read(std::span(head_));
    if (!n.ok()) return n.status();
    ended_ = n.value() < head_.size();
    head_.resize(n.value());
    return Status::Ok();
  }
  std::string_view head() const { return head_; }

  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t from_head = std::min(out.size(), head_.size() - at_);
    std::memcpy(out.data(), head_.data() + at_, from_head);
    at_ += from_head;
    if (from_head == out.size() || ended_) return from_head;
    const Result<std::size_t> n = source_.Read(out.subspan(from_head));
    return n.ok() ? Result<std::size_t>(from_head + n.value()) : n;
  }
  std::string_view damage() const override { return source_.damage(); }
  bool has_trailing_bytes() const override { return source_.has_trailing_bytes(); }
  std::int64_t file_bytes_read() const override { return source_.file_bytes_read(); }
  std::int64_t file_bytes() const override { return source_.file_bytes(); }

 private:
  ByteSource& source_;
  std::string head_;
  std::size_t at_ = 0;
  /// True if the source returned fewer bytes than requested, so it has no more.
  bool ended_ = false;
};

/// Returns true if the file is an Nsight Systems report: it has the name of one, and its first
/// bytes match no other format. The first bytes of a report are undocumented.
bool IsNsightReport(const std::string& path, std::string_view head) {
  const std::size_t first = SkipSpace(head, 0);
  const bool may_be_json = first < head.size() && (head[first] == '{' || head[first] == '[');
  return nsight::IsReportName(path) && !head.empty() && !may_be_json && OtherFormatOf(head).empty();
}

Status ReadFromDatabase(const sqlite::Database& database, const std::string& path,
                        const OpenOptions& options, std::int64_t file_bytes,
                        const sqlite::Progress& progress, TraceStore& store) {
  if (rocprof::IsRocpd(database)) {
    rocprof::RocpdOptions read;
    read.threads = options.threads;
    read.expansion = options.expansion;
    read.file_bytes = file_bytes;
    read.progress = progress;
    return rocprof::ReadRocpd(database, path, read, store);
  }
  nsight::ReadOptions read;
  read.threads = options.threads;
  read.expansion = options.expansion;
  read.file_bytes = file_bytes;
  read.progress = progress;
  return nsight::Read(database, path, read, store);
}

Status ReadNsightReport(const std::string& path, HeadSource& bytes, const OpenOptions& options,
                        TraceStore& store) {
  const Result<nsight::ReportExport> exported = nsight::ReportExport::Make(path, bytes);
  if (!exported.ok()) return exported.status();
  const Result<sqlite::Database> database =
      sqlite::Database::Open(exported.value().path(), path, options.max_event_bytes);
  if (!database.ok()) return database.status();
  Status status =
      ReadFromDatabase(database.value(), path, options, /*file_bytes=*/0, nullptr, store);
  store.metadata.file_bytes = std::max(bytes.file_bytes(), bytes.file_bytes_read());
  return status;
}

}  // namespace

Result<std::unique_ptr<TraceStore>> OpenTrace(const std::string& path,
                                              const OpenOptions& options) try {
  Result<std::unique_ptr<ByteSource>> source = OpenByteSource(path, options.expansion);
  if (!source.ok()) return source.status();
  HeadSource bytes(*source.value());
  if (Status status = bytes.Peek(); !status.ok()) return status;
  std::function<void(std::int64_t)> progress;
  if (options.progress)
    progress = [&](std::int64_t done) { options.progress(done, bytes.file_bytes()); };
  auto store = std::make_unique<TraceStore>();
  Status status;
  if (perfetto::LooksLikeTrace(bytes.head())) {
    perfetto::ReadOptions read;
    read.threads = options.threads;
    read.max_packet_bytes = options.max_event_bytes;
    read.expansion = options.expansion;
    read.progress = progress;
    status = perfetto::Read(bytes, path, read, *store);
  } else if (sqlite::LooksLikeDatabase(bytes.head())) {
    const auto read = [&](const sqlite::Database& database, const sqlite::Progress& of_database) {
      const std::int64_t file_bytes = std::max(bytes.file_bytes(), bytes.file_bytes_read());
      return ReadFromDatabase(database, path, options, file_bytes, of_database, *store);
    };
    status = sqlite::ReadDatabase(path, bytes, options.max_event_bytes, options.expansion, progress,
                                  read, *store);
  } else if (xplane::LooksLikeTrace(bytes.head())) {
    xplane::ReadOptions read;
    read.threads = options.threads;
    read.expansion = options.expansion;
    read.max_event_bytes = options.max_event_bytes;
    read.progress = progress;
    status = xplane::Read(bytes, path, read, *store);
  } else if (chakra::LooksLikeTrace(bytes.head())) {
    chakra::ReadOptions read;
    read.threads = options.threads;
    read.expansion = options.expansion;
    read.max_node_bytes = options.max_event_bytes;
    read.progress = progress;
    status = chakra::Read(bytes, path, read, *store);
  } else if (memory_snapshot::LooksLikePickle(bytes.head())) {
    memory_snapshot::ReadOptions read;
    read.threads = options.threads;
    read.max_string_bytes = options.max_event_bytes;
    read.progress = progress;
    status = memory_snapshot::Read(bytes, path, read, *store);
  } else if (rocprof::LooksLikeTrace(bytes.head())) {
    rocprof::ReadOptions read;
    read.threads = options.threads;
    read.expansion = options.expansion;
    read.max_event_bytes = options.max_event_bytes;
    read.progress = progress;
    status = rocprof::Read(bytes, path, read, *store);
  } else if (IsNsightReport(path, bytes.head())) {
    status = ReadNsightReport(path, bytes, options, *store);
  } else {
    kineto::ReadOptions read;
    read.threads = options.threads;
    read.max_event_bytes = options.max_event_bytes;
    read.progress = progress;
    status = kineto::Read(bytes, path, read, *store);
  }
  if (!status.ok()) return status;
  return store;
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while opening; free memory, or use a larger machine");
}

}  // namespace headroom
