#include "ingest/chakra/chakra_reader.h"

#include <algorithm>
#include <new>

#include "ingest/chakra/node.h"
#include "ingest/chakra/node_stream.h"
#include "ingest/chakra/own_rows.h"
#include "ingest/chakra/work_rows.h"
#include "ingest/input/row_budget.h"
#include "ingest/input/trace_extent.h"
#include "store/trace_formats.h"

namespace headroom::chakra {
namespace {

/// Reads one file into a store.
class FileReading {
 public:
  FileReading(ByteSource& source, const std::string& path, const ReadOptions& options,
              TraceStore& store)
      : source_(source), path_(path), options_(options), store_(store), own_(store), work_(store) {}

  Status Run() {
    NodeStream messages(source_, options_.chunk_bytes, options_.max_node_bytes, store_.log);
    constexpr std::int64_t kBytesBetweenReports = std::int64_t{1} << 20;
    std::int64_t reported = 0;
    RowBudget rows(path_, options_.expansion, source_);
    MessageText message;
    for (;;) {
      const Result<bool> found = messages.Next(message);
      if (!found.ok()) return found.status();
      if (!found.value()) break;
      Add(message);
      if (!rows.Allows(store_.metadata.events)) return rows.status();
      if (options_.progress && messages.bytes() - reported >= kBytesBetweenReports) {
        reported = messages.bytes();
        options_.progress(source_.file_bytes_read());
      }
    }
    store_.metadata.events += messages.lost();
    if (!source_.damage().empty()) {
      store_.log.Add(ImportIssue::kCutCompression, messages.bytes(), std::string(source_.damage()));
    } else if (source_.has_trailing_bytes()) {
      store_.log.Add(ImportIssue::kCutCompression, messages.bytes(),
                     "bytes after the compressed stream are unreadable");
    }
    own_.Finish();
    work_.Finish();
    return Status::Ok();
  }

 private:
  void Add(const MessageText& message) {
    if (message.offset == 0) return AddMetadata(message);
    if (!ReadNode(message.text, node_)) {
      ++store_.metadata.events;
      store_.log.Add(ImportIssue::kLostEvent, message.offset, "a node is damaged");
    } else if (is_own_) {
      own_.Add(node_, message.offset);
    } else {
      work_.Add(node_, message.offset);
    }
  }

  void AddMetadata(const MessageText& message) {
    Metadata metadata;
    if (!chakra::ReadMetadata(message.text, metadata))
      store_.log.Add(ImportIssue::kDamagedMetadata, message.offset);
    const Attribute* const schema = metadata.Find("schema");
    is_own_ =
        schema != nullptr && schema->kind == Attribute::Kind::kText && schema->bytes == kOwnSchema;
    is_own_ ? own_.ReadMetadata(metadata) : work_.ReadMetadata(metadata);
  }

  ByteSource& source_;
  const std::string& path_;
  const ReadOptions& options_;
  TraceStore& store_;
  OwnRows own_;
  WorkRows work_;
  Node node_;
  bool is_own_ = false;
};

}  // namespace

Status Read(ByteSource& source, const std::string& path, const ReadOptions& options,
            TraceStore& store) try {
  {
    FileReading reading(source, path, options, store);
    if (Status status = reading.Run(); !status.ok()) return status;
  }
  store.metadata.format = kChakraFormat;
  store.metadata.file_bytes = std::max(source.file_bytes(), source.file_bytes_read());
  const TraceExtent extent = ExtentOfStarts(store);
  ClipOverflowingSpans(extent, store);
  store.Freeze(options.threads);
  ClipOverflowingTasks(extent, store);
  return Status::Ok();
} catch (const std::bad_alloc&) {
  return Status::Environment(path +
                             ": out of memory while reading, which requires about 400 bytes per "
                             "node; free memory, or use a larger machine");
}

}  // namespace headroom::chakra
