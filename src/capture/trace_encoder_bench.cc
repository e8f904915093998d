// Measures the encoding of regions and calls. Checks the result by counting the packets.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/trace_encoder.h"

namespace headroom {
namespace {

/// Counts the packets of a trace if all are shorter than 128 bytes. Returns -1 if the bytes are not
/// such a trace.
std::int64_t CountPackets(const std::string& trace) {
  std::int64_t packets = 0;
  std::size_t at = 0;
  while (at + 2 <= trace.size() && trace[at] == '\x0a' && (trace[at + 1] & 0x80) == 0) {
    at += 2 + static_cast<std::size_t>(trace[at + 1]);
    ++packets;
  }
  return at == trace.size() ? packets : -1;
}

/// Typical timestamp a few days after boot: its varint takes 7 bytes.
constexpr std::int64_t kBoot = 300'000'000'000'000;

void BM_Region(benchmark::State& state) {
  constexpr int kRegions = 10'000;
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
  const TraceEncoder::Name name = encoder.Intern("forward");
  const TraceEncoder::Name category = encoder.Category("region");
  encoder.Take();
  std::string bytes;
  std::int64_t now = kBoot;
  for (auto _ : state) {
    for (int i = 0; i < kRegions; ++i) {
      encoder.Begin(track, TimeNs(now += 500), name, category);
      encoder.End(track, TimeNs(now += 500));
    }
    bytes = encoder.Take();
  }
  if (CountPackets(bytes) != 2 * kRegions) std::abort();
  state.SetItemsProcessed(state.iterations() * 2 * kRegions);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
}
BENCHMARK(BM_Region);

void BM_Call(benchmark::State& state) {
  constexpr int kCalls = 10'000;
  TraceEncoder encoder;
  const TraceEncoder::Track track = encoder.ThreadTrack(1, 1, "main");
  const TraceEncoder::Name name = encoder.Intern("cudaLaunchKernel");
  const TraceEncoder::Name category = encoder.Category("cuda_runtime");
  encoder.Instant(track, TimeNs(kBoot), name, category, {{{"correlation", std::int64_t{1}}}});
  encoder.Take();
  std::string bytes;
  std::int64_t now = kBoot, correlation = 1'000'000;
  for (auto _ : state) {
    for (int i = 0; i < kCalls; ++i) {
      const TraceArg args[] = {{"correlation", ++correlation}};
      encoder.Begin(track, TimeNs(now += 500), name, category, args);
      encoder.End(track, TimeNs(now += 500));
    }
    bytes = encoder.Take();
  }
  if (CountPackets(bytes) != 2 * kCalls) std::abort();
  state.SetItemsProcessed(state.iterations() * 2 * kCalls);
}
BENCHMARK(BM_Call);

}  // namespace
}  // namespace headroom
