#include "export/written_trace.h"

#include <optional>
#include <utility>

#include "base/gzip.h"
#include "export/chrome_events.h"
#include "export/perfetto_events.h"
#include "export/trace_file.h"
#include "export/written_size.h"

namespace headroom {
namespace {

Result<WrittenTrace> PrepareChromeTrace(const TraceStore& store, const std::string& path) {
  Result<TraceFile> file = TraceFile::Create(path, HeaderOf(store));
  if (!file.ok()) return file.status();
  EventPlacing placing;
  placing.alone = true;
  const UsedNumbers used =
      WriteChromeEvents(store, placing, [&](std::string_view event) { file.value().Add(event); });
  Result<AtomicFile> whole = std::move(file).value().Finish("");
  if (!whole.ok()) return whole.status();
  return WrittenTrace{std::move(whole).value(), used.events};
}

Result<WrittenTrace> PreparePerfettoTrace(const TraceStore& store, const std::string& path) {
  Result<AtomicFile> file = AtomicFile::Create(path);
  if (!file.ok()) return file.status();
  std::optional<GzipStream> gzip;
  if (path.ends_with(".gz")) gzip.emplace();
  Status status;
  const std::int64_t events = WritePerfettoPackets(store, [&](std::string_view piece, bool last) {
    if (status.ok()) status = file.value().Append(gzip ? gzip->Add(piece, last) : piece);
  });
  if (status.ok()) status = file.value().Close();
  if (!status.ok()) return status;
  return WrittenTrace{std::move(file).value(), events};
}

}  // namespace

TraceFormat FormatOfName(std::string_view path) {
  if (path.ends_with(".gz")) path.remove_suffix(3);
  for (const std::string_view ending : {".pftrace", ".perfetto-trace", ".pb"}) {
    if (path.ends_with(ending)) return TraceFormat::kPerfetto;
  }
  return TraceFormat::kChrome;
}

Result<WrittenTrace> PrepareTrace(const TraceStore& store, TraceFormat format,
                                  const std::string& path, ExpansionLimit limit) {
  if (Status status = CheckWrittenTexts(store, path, limit); !status.ok()) return status;
  return format == TraceFormat::kChrome ? PrepareChromeTrace(store, path)
                                        : PreparePerfettoTrace(store, path);
}

Result<std::int64_t> WriteTrace(const TraceStore& store, TraceFormat format,
                                const std::string& path, ExpansionLimit limit) {
  Result<WrittenTrace> trace = PrepareTrace(store, format, path, limit);
  if (!trace.ok()) return trace.status();
  if (Status status = trace.value().file.Commit(); !status.ok()) return status;
  return trace.value().events;
}

}  // namespace headroom
