// Benchmarks reading recordings: regions in layers of three, and calls with their GPU tasks. Checks
// that the result has one row per written event.
//
// Lower bounds: BM_ReadFields measures only the decoding of the fields. The first touch of the
// store's memory takes about half of the time of BM_ReadRegions (perf: clear_page).
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/protobuf_reader.h"
#include "capture/trace_encoder.h"
#include "ingest/input/byte_source.h"
#include "ingest/perfetto/perfetto_reader.h"

namespace headroom {
namespace {

/// Bytes in memory, copied in pieces like a file in the page cache.
class ViewSource final : public ByteSource {
 public:
  explicit ViewSource(std::string_view bytes) : rest_(bytes) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const std::size_t n = rest_.copy(out.data(), out.size());
    rest_.remove_prefix(n);
    return n;
  }
  std::int64_t file_bytes_read() const override { return 0; }
  std::int64_t file_bytes() const override { return 0; }

 private:
  std::string_view rest_;
};

constexpr std::int64_t kBoot = 300'000'000'000'000;

std::string Regions(int layers) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(TimeNs(kBoot), TimeNs(kBoot), TimeNs(kBoot));
  const auto category = encoder.Category("region");
  const auto track = encoder.ThreadTrack(1, 1, "main");
  std::int64_t now = kBoot;
  for (int i = 0; i < layers; ++i) {
    for (const std::string_view name : {"train_batch", "FORWARD", "layer::3"})
      encoder.Begin(track, TimeNs(now += 400), encoder.Intern(name), category);
    for (int end = 0; end < 3; ++end) encoder.End(track, TimeNs(now += 400));
  }
  return encoder.Take();
}

std::string Launches(int launches) {
  TraceEncoder encoder;
  encoder.ClockSnapshot(TimeNs(kBoot), TimeNs(kBoot), TimeNs(kBoot));
  const auto category = encoder.Category("cuda_runtime");
  const auto name = encoder.Intern("cudaLaunchKernel");
  const auto track = encoder.ThreadTrack(1, 1, "main");
  std::int64_t now = kBoot;
  for (std::int64_t i = 0; i < launches; ++i) {
    const TraceArg launch[] = {{"correlation", i}};
    encoder.Begin(track, TimeNs(now += 4000), name, category, launch);
    encoder.End(track, TimeNs(now += 1000));
    const TraceArg task[] = {{"correlation", i},
                             {"grid", std::string_view("132,1,1")},
                             {"block", std::string_view("256,1,1")},
                             {"registers", std::int64_t{64}},
                             {"shared_memory", std::int64_t{16384}}};
    encoder.GpuTask({.device = 0,
                     .stream = 7,
                     .name = i % 2 == 0 ? "gemm" : "elementwise",
                     .start = TimeNs(now),
                     .duration = DurationNs(4000),
                     .args = task});
  }
  return encoder.Take();
}

void Read(benchmark::State& state, const std::string& bytes, std::size_t host_events,
          std::size_t tasks, std::int64_t written) {
  for (auto _ : state) {
    ViewSource source(bytes);
    auto store = std::make_unique<TraceStore>();
    if (!perfetto::Read(source, "bench", {}, *store).ok()) std::abort();
    if (store->host_events.rows() != host_events || store->gpu_tasks.rows() != tasks) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * written);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}

/// Items are written events: a beginning or an end.
void BM_ReadRegions(benchmark::State& state) {
  constexpr int kLayers = 300'000;
  Read(state, Regions(kLayers), 3 * kLayers, 0, 6 * kLayers);
}
BENCHMARK(BM_ReadRegions)->Unit(benchmark::kMillisecond);

/// Items are written events: a beginning, an end or a GPU task.
void BM_ReadLaunches(benchmark::State& state) {
  constexpr int kLaunches = 200'000;
  Read(state, Launches(kLaunches), kLaunches, kLaunches, 3 * kLaunches);
}
BENCHMARK(BM_ReadLaunches)->Unit(benchmark::kMillisecond);

void BM_ReadFields(benchmark::State& state) {
  constexpr int kLayers = 300'000;
  const std::string bytes = Regions(kLayers);
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (ProtobufReader packets(bytes); packets.Next();) {
      for (ProtobufReader packet(packets.bytes()); packet.Next();) {
        if (packet.field() != 11) continue;
        for (ProtobufReader event(packet.bytes()); event.Next();) sum += event.integer();
      }
    }
    if (sum == 0) std::abort();
  }
  state.SetItemsProcessed(state.iterations() * 6 * kLayers);
}
BENCHMARK(BM_ReadFields)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom
