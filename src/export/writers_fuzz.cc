// libFuzzer target: reads any bytes as Kineto JSON, writes the trace in every format, and reads it
// again. The first byte chooses the format.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "analysis/analyzed_trace.h"
#include "analysis/names/reference_data.h"
#include "export/chakra_nodes.h"
#include "export/chakra_trace.h"
#include "export/chrome_events.h"
#include "export/folded_stacks.h"
#include "export/perfetto_events.h"
#include "export/table_csv.h"
#include "ingest/chakra/chakra_reader.h"
#include "ingest/input/fuzz_checks.h"
#include "ingest/input/memory_source.h"
#include "ingest/kineto/kineto_reader.h"
#include "ingest/perfetto/perfetto_reader.h"

namespace headroom {
namespace {

template <typename Options, typename Read>
std::unique_ptr<TraceStore> ReadTrace(const std::string& bytes, const Read& read) {
  MemoryByteSource source(bytes);
  auto store = std::make_unique<TraceStore>();
  return read(source, "fuzz", Options(), *store).ok() ? std::move(store) : nullptr;
}

/// Requires that a copy of any trace keeps the GPU work, to the nanosecond.
void CheckSameWork(const TraceStore& trace, const TraceStore* copy) {
  Require(copy != nullptr, "the written file can be read");
  CheckInvariants(*copy);
  Require(copy->gpu_tasks.rows() == trace.gpu_tasks.rows(),
          "the copy has the same number of tasks");
  Require(copy->host_events.rows() == trace.host_events.rows(),
          "the copy has the same number of host events");
  DurationNs before, after;
  for (const DurationNs duration : trace.gpu_tasks.duration.values()) before += duration;
  for (const DurationNs duration : copy->gpu_tasks.duration.values()) after += duration;
  Require(before == after, "the copy's tasks have the same lengths");
}

std::string ChromeText(const TraceStore& store) {
  std::string text =
      "{" + HeaderOf(store) + (HeaderOf(store).empty() ? "" : ",") + "\"traceEvents\":[";
  EventPlacing placing;
  placing.alone = true;
  bool first = true;
  WriteChromeEvents(store, placing, [&](std::string_view event) {
    if (!first) text += ",\n";
    first = false;
    text += event;
  });
  return text + "]}";
}

void WriteChakra(const TraceStore& store) {
  static const std::unique_ptr<ReferenceData> reference = ReferenceData::LoadBuiltIn().value();
  NameFacts names(store, *reference);
  const Result<AnalyzedTrace> trace = AnalyzeTrace(store, *reference, names, {});
  if (!trace.ok()) return;
  const Result<ChakraNodes> nodes = MakeChakraNodes(store, names, trace.value().steps);
  if (!nodes.ok()) {
    Require(nodes.status().code() != StatusCode::kEnvironment, nodes.status().message().c_str());
    return;
  }
  std::string bytes;
  WriteChakraTrace(store, names, trace.value(), nodes.value(), {.number = 0},
                   [&](std::string_view piece) { bytes += piece; });
  CheckSameWork(store, ReadTrace<chakra::ReadOptions>(bytes, chakra::Read).get());
}

}  // namespace
}  // namespace headroom

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto store = ReadTrace<kineto::ReadOptions>(text, kineto::Read);
  if (store == nullptr) return 0;
  std::string written;
  switch (data[0] % 5) {
    case 0:
      CheckSameWork(*store, ReadTrace<kineto::ReadOptions>(ChromeText(*store), kineto::Read).get());
      break;
    case 1:
      WritePerfettoPackets(*store, [&](std::string_view piece, bool) { written += piece; });
      CheckSameWork(*store, ReadTrace<perfetto::ReadOptions>(written, perfetto::Read).get());
      break;
    case 2:
      WriteChakra(*store);
      break;
    case 3:
      (void)FoldedStacks(*store, StackTime::kHost, "fuzz", {});
      (void)FoldedStacks(*store, StackTime::kGpu, "fuzz", {});
      break;
    default:
      for (const std::string_view name : TableNames())
        WriteTableCsv(*store, name, [&](std::string_view piece) { written += piece; });
  }
  return 0;
}
