// Measures the cost of one sample. The limit is 0.2 % of one core at 10 samples per second: 200 us
// per sample.
#include "capture/metrics/system_sampler.h"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cmath>

#include "capture/metrics/board/clock.h"
#include "capture/metrics/host/cpu.h"

namespace headroom {
namespace {

/// Samples this machine and the tree of this process.
void BM_SampleThisMachine(benchmark::State& state) {
  SamplerOptions options;
  options.process = getpid();
  SystemSampler sampler(options);
  sampler.Sample();
  const TimeNs cpu_before = ReadClock(CLOCK_THREAD_CPUTIME_ID);
  std::int64_t samples = 0;
  TimeNs last;
  for (auto _ : state) {
    const Reading& reading = sampler.Sample();
    double processes = 0;
    for (std::size_t i = 0; i < sampler.metrics().size(); ++i) {
      if (sampler.metrics()[i].name == "process_tree_processes") processes = reading.values[i];
    }
    if (processes < 1 || reading.time < last) return state.SkipWithError("wrong sample");
    last = reading.time;
    ++samples;
  }
  const double cpu_seconds = Seconds(ReadClock(CLOCK_THREAD_CPUTIME_ID) - cpu_before);
  state.counters["core_pct_at_10_hz"] = 100 * 10 * cpu_seconds / static_cast<double>(samples);
  state.counters["metrics"] = static_cast<double>(sampler.metrics().size());
}
BENCHMARK(BM_SampleThisMachine)->Unit(benchmark::kMicrosecond);

/// Parses /proc/stat of a machine with 200 cores, without reading it from the kernel.
void BM_ParseProcStatOf200Cores(benchmark::State& state) {
  std::string text = "cpu  5211909 2283668 1120058 3425084 11322 0 2645 22055 0 0\n";
  for (int i = 0; i < 200; ++i)
    text += "cpu" + std::to_string(i) + " 2487428 1111740 512974 1910159 3294 0 308 10940 0 0\n";
  text += "intr 29356530";
  for (int i = 0; i < 4000; ++i) text += " 0";
  text += "\nctxt 31296246\nprocs_running 2\nprocs_blocked 0\n";
  ProcStat stat;
  for (auto _ : state) {
    ParseProcStat(text, stat);
    if (stat.cores.size() != 200 || stat.blocked != 0u) return state.SkipWithError("wrong parse");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(BM_ParseProcStatOf200Cores)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace headroom
