// libFuzzer target: any bytes as a trace. The first byte chooses the size of pieces and the number
// of threads.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "ingest/kineto/kineto_reader.h"
#include "ingest/memory_source.h"

namespace headroom::kineto {
namespace {

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

std::unique_ptr<TraceStore> ReadTrace(const std::string& text, std::size_t piece_bytes,
                                      int threads) {
  MemorySource source(text);
  ReadOptions options;
  options.piece_bytes = piece_bytes;
  options.threads = threads;
  options.max_event_bytes = 4096;
  auto store = std::make_unique<TraceStore>();
  return Read(source, "fuzz", options, *store).ok() ? std::move(store) : nullptr;
}

void CheckInvariants(const TraceStore& store) {
  const auto& host = store.host_events;
  host.ForEachColumn(
      [&](const char* name, const auto& column) { Require(column.size() == host.rows(), name); });
  const auto& gpu = store.gpu_tasks;
  gpu.ForEachColumn(
      [&](const char* name, const auto& column) { Require(column.size() == gpu.rows(), name); });

  std::size_t by_thread = 0;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    by_thread += range.last - range.first;
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      Require(host.thread[row] == ThreadId(t), "events of a thread are its own");
      Require(host.duration[row].ns() >= 0, "no negative lengths");
      if (row > range.first) Require(host.start[row - 1] <= host.start[row], "events are sorted");
      const HostEventId parent = host.parent[row];
      if (!parent.valid()) continue;
      Require(parent.index() < row && parent.index() >= range.first,
              "a parent comes before, on the same thread");
      Require(host.start[parent.index()] <= host.start[row], "a parent starts no later");
      Require(store.HostEnd(parent) >= store.HostEnd(HostEventId(row)), "a parent ends no earlier");
    }
  }
  Require(by_thread == host.rows(), "every event has a thread");

  std::size_t by_stream = 0;
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    for (const GpuTaskId task : store.TasksOf(StreamId(s))) {
      Require(gpu.stream[task.index()] == StreamId(s), "tasks of a stream are its own");
      ++by_stream;
    }
  }
  Require(by_stream == gpu.rows(), "every task has a stream");
  for (std::size_t i = 0; i < gpu.rows(); ++i) {
    if (i > 0) Require(gpu.start[i - 1] <= gpu.start[i], "tasks are sorted");
    Require(gpu.duration[i].ns() >= 0, "no negative lengths");
    const HostEventId launch = gpu.launch[i];
    if (launch.valid())
      Require(host.correlation[launch.index()] == gpu.correlation[i], "a launch has the task's id");
  }
  for (std::size_t i = 0; i < store.collectives.rows(); ++i) {
    Require(store.collectives.task[i].index() < gpu.rows(), "a collective has a task");
  }
}

void CheckEqual(const TraceStore& a, const TraceStore& b) {
  Require(a.metadata.events == b.metadata.events,
          "the same number of events in pieces of any size");
#define T(Name, member, sentence)                                         \
  Require(a.member.rows() == b.member.rows(), "the same rows of " #member \
                                              " in pieces of any "        \
                                              "size");
  HEADROOM_TABLES(T)
#undef T
  for (std::size_t i = 0; i < kImportIssueCount; ++i) {
    const auto issue = static_cast<ImportIssue>(i);
    Require(a.log.Count(issue) == b.log.Count(issue), DocOf(issue).code.data());
  }
}

}  // namespace
}  // namespace headroom::kineto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headroom::kineto;  // NOLINT(google-build-using-namespace)
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto whole = ReadTrace(text, 1 << 20, 1);
  const auto pieces = ReadTrace(text, std::size_t{1} << (data[0] % 11), 1 + (data[0] >> 4) % 3);
  Require((whole == nullptr) == (pieces == nullptr), "refused in pieces of any size");
  if (whole == nullptr) return 0;
  CheckInvariants(*whole);
  CheckInvariants(*pieces);
  CheckEqual(*whole, *pieces);
  return 0;
}
