// Measures the export of one trace, without reading it: events per second for each format, once
// without output and once into a file. Reads the files back and compares them with the trace.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/perfetto_events.h"
#include "export/written_trace.h"
#include "ingest/open_trace.h"

namespace headroom {
namespace {

using Clock = std::chrono::steady_clock;

/// Returns the median seconds of three runs of `work`.
template <typename Work>
double MedianSeconds(const Work& work) {
  std::vector<double> seconds;
  for (int i = 0; i < 3; ++i) {
    const Clock::time_point start = Clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[1];
}

/// Returns true if all spans and GPU tasks are the same, in order.
bool SameWork(const TraceStore& a, const TraceStore& b) {
  const auto same = [&](const auto& ours, const auto& theirs) {
    if (ours.rows() != theirs.rows()) return false;
    for (std::size_t row = 0; row < ours.rows(); ++row) {
      if (ours.start[row] != theirs.start[row] || ours.duration[row] != theirs.duration[row] ||
          ours.correlation[row] != theirs.correlation[row] ||
          a.Text(ours.name[row]) != b.Text(theirs.name[row]) ||
          a.Text(ours.args[row]) != b.Text(theirs.args[row]))
        return false;
    }
    return true;
  };
  return same(a.host_events, b.host_events) && same(a.gpu_tasks, b.gpu_tasks) &&
         a.flows.rows() == b.flows.rows() && a.counters.rows() == b.counters.rows() &&
         a.collectives.rows() == b.collectives.rows();
}

Status MeasureExport(const std::string& trace, const std::string& folder) {
  OpenOptions open;
  open.threads = 2;
  const Result<std::unique_ptr<TraceStore>> read = OpenTrace(trace, open);
  if (!read.ok()) return read.status();
  const TraceStore& store = *read.value();

  std::int64_t packets = 0;
  std::size_t bytes = 0;
  const double format_s = MedianSeconds([&] {
    bytes = 0;
    packets = WritePerfettoPackets(
        store, [&](std::string_view piece, bool /*last*/) { bytes += piece.size(); });
  });
  std::string members;
  bool good = packets > 0;
  const auto into_file = [&](TraceFormat format, const std::string& name) {
    const std::string path = folder + "/" + name;
    const double seconds = MedianSeconds([&] {
      const Result<std::int64_t> written = WriteTrace(store, format, path, {});
      good &= written.ok() && written.value() > 0;
    });
    const Result<std::unique_ptr<TraceStore>> back = OpenTrace(path, open);
    good &= back.ok() && SameWork(store, *back.value());
    members += fmt::format(R"(, "{}_s": {})", name, seconds);
    return seconds;
  };
  const double file_s = into_file(TraceFormat::kPerfetto, "export.pftrace");
  into_file(TraceFormat::kPerfetto, "export.pftrace.gz");
  into_file(TraceFormat::kChrome, "export.json");
  into_file(TraceFormat::kChrome, "export.json.gz");
  // Counts events of the trace. Each event becomes one or two packets.
  const auto events = static_cast<double>(store.metadata.events);
  fmt::print(R"({{"events": {}, "packets": {}, "bytes": {}, "format_events_per_s": {}, )"
             R"("events_per_s": {}, "format_s": {}{}, "good": {}}})"
             "\n",
             store.metadata.events, packets, bytes, events / format_s, events / file_s, format_s,
             members, good);
  return Status::Ok();
}

}  // namespace
}  // namespace headroom

int main(int argc, char** argv) {
  CLI::App app("Measures the export of one trace; prints JSON.", "export_bench");
  std::string trace, folder;
  app.add_option("TRACE", trace, "A trace")->required();
  app.add_option("FOLDER", folder, "Folder for the written files")->required();
  CLI11_PARSE(app, argc, argv);
  const headroom::Status status = headroom::MeasureExport(trace, folder);
  if (status.ok()) return 0;
  fmt::print(stderr, "export_bench: {}\n", status.message());
  return 1;
}
