// Measures simulated batches per second. Checks the answers against closed forms.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "loader/queue_simulation.h"

namespace headroom {
namespace {

constexpr std::int64_t kBatches = 100'000;

/// Simulates batches of 2 ms on average, of which no two neighbours are equal. Reports an error if
/// the period is not `period_ns`.
void RunLoading(benchmark::State& state, const LoaderSetting& setting, const Machine& machine,
                const StepDemand& step, double period_ns) {
  std::vector<BatchDemand> batches(1001);
  for (std::size_t b = 0; b < batches.size(); ++b)
    batches[b].cpu = DurationNs(500'000 + static_cast<std::int64_t>(b * 3 % 7) * 500'000);
  const std::vector<StepDemand> steps(1000, step);
  for (auto _ : state) {
    const Result<SimulatedRun> run = SimulateLoading(batches, steps, setting, machine, kBatches);
    if (!run.ok() || std::abs(run.value().period_ns - period_ns) > 1e-3 * period_ns) {
      state.SkipWithError("wrong period");
      return;
    }
  }
  state.SetItemsProcessed(state.iterations() * kBatches);
}

void BM_Uncontended(benchmark::State& state) {
  const auto workers = static_cast<std::int32_t>(state.range(0));
  RunLoading(state, {.workers = workers}, {.cores = 1000}, {.wall = DurationNs(1'000'000)},
             1'000'000);
}
BENCHMARK(BM_Uncontended)->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);

void BM_Contended(benchmark::State& state) {
  const auto workers = static_cast<std::int32_t>(state.range(0));
  // Two cores do a batch, and a step that waits for half of its time, in (2 + 0.1) / 2 ms.
  RunLoading(state, {.workers = workers}, {.cores = 2},
             {.wall = DurationNs(200'000), .cpu = DurationNs(100'000)}, 1'050'000);
}
BENCHMARK(BM_Contended)->Arg(4)->Arg(64)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headroom
