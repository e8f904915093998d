#include "loader/queue_simulation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "loader/test_times.h"

namespace headroom {
namespace queue_simulation_test {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double Ns(DurationNs duration) { return static_cast<double>(duration.ns()); }

/// Requires valid inputs.
SimulatedRun Simulated(const std::vector<BatchDemand>& batches,
                       const std::vector<StepDemand>& steps, const LoaderSetting& setting,
                       const Machine& machine, std::int64_t count) {
  const Result<SimulatedRun> run = SimulateLoading(batches, steps, setting, machine, count);
  EXPECT_TRUE(run.ok()) << run.status().message();
  return run.ok() ? run.value() : SimulatedRun{};
}

constexpr Machine kIdleMachine{.cores = 64};

TEST(QueueSimulationTest, ConstantTimesAgreeWithClosedForms) {
  const BatchDemand computes{.cpu = Us(1000)}, reads{.blocked = Us(1000)};
  const BatchDemand both{.cpu = Us(300), .blocked = Us(200)};
  const struct {
    const char* name;
    LoaderSetting setting;
    Machine machine;
    BatchDemand batch;
    StepDemand step;
    double period_us, wait_us;
  } cases[] = {
      {"no workers: all in sequence", {}, kIdleMachine, both, {.wall = Us(500)}, 1000, 500},
      {"no workers: the loop pins, and unpacks nothing",
       {.pin = true, .pin_time = Us(50), .receive = Us(70)},
       kIdleMachine,
       both,
       {.wall = Us(500)},
       1050,
       550},
      {"no workers: nothing competes on one core",
       {},
       {.cores = 1},
       both,
       {.wall = Us(500), .cpu = Us(400)},
       1000,
       500},
      {"no workers: a quota of half a core",
       {},
       {.cores = 0.5},
       both,
       {.wall = Us(500), .cpu = Us(400)},
       // 300 and 400 us of CPU time take twice as long. The step's wait overlaps with this.
       200 + 600 + 800,
       800},
      {"one worker overlaps", {.workers = 1}, kIdleMachine, computes, {.wall = Us(900)}, 1000, 100},
      {"the workers are the limit",
       {.workers = 4},
       kIdleMachine,
       computes,
       {.wall = Us(30)},
       250,
       220},
      {"the step is the limit", {.workers = 4}, kIdleMachine, computes, {.wall = Us(300)}, 300, 0},
      {"unpacking adds to the step",
       {.workers = 4, .receive = Us(50)},
       kIdleMachine,
       computes,
       {.wall = Us(300)},
       350,
       50},
      {"the pinning thread is the limit",
       {.workers = 4, .pin = true, .pin_time = Us(700)},
       kIdleMachine,
       computes,
       {.wall = Us(300)},
       700,
       400},
      {"time to pin counts only with pinning",
       {.workers = 4, .pin_time = Us(700)},
       kIdleMachine,
       computes,
       {.wall = Us(300)},
       300,
       0},
      {"a batch ahead is handed out when the last one was unpacked",
       {.workers = 1, .prefetch = 1, .receive = Us(100)},
       kIdleMachine,
       computes,
       {.wall = Us(200)},
       1100,
       900},
      {"two batches ahead never let the worker wait",
       {.workers = 1, .prefetch = 2, .receive = Us(100)},
       kIdleMachine,
       computes,
       {.wall = Us(200)},
       1000,
       800},
      {"more workers than cores: all CPU time on them",
       {.workers = 8, .pin = true, .pin_time = Us(50), .receive = Us(100)},
       {.cores = 2},
       computes,
       {.wall = Us(200), .cpu = Us(150)},
       1300 / 2.0,
       -1},
      {"a step of many threads shares with the workers",
       {.workers = 8},
       {.cores = 4},
       computes,
       {.wall = Us(100), .cpu = Us(300)},
       1300 / 4.0,
       -1},
      {"a step of more threads than cores",
       {},
       {.cores = 4},
       {},
       {.wall = Us(100), .cpu = Us(800)},
       200,
       0},
      {"two hardware threads per core, all in use",
       {.workers = 4},
       {.cores = 4, .smt_gain = 1.2},
       computes,
       {.wall = Us(100)},
       1000 / 2.4,
       1000 / 2.4 - 100},
      {"two hardware threads per core, one core with both",
       {.workers = 3},
       {.cores = 4, .smt_gain = 1.2},
       computes,
       {.wall = Us(100)},
       1000 / 2.2,
       1000 / 2.2 - 100},
      {"two hardware threads per core, a thread on each core",
       {.workers = 2},
       {.cores = 4, .smt_gain = 1.2},
       computes,
       {.wall = Us(100)},
       500,
       400},
      {"more workers than hardware threads",
       {.workers = 8},
       {.cores = 4, .smt_gain = 1.2},
       computes,
       {.wall = Us(100)},
       1000 / 2.4,
       1000 / 2.4 - 100},
      {"bandwidth for one: 1 worker",
       {.workers = 1},
       {.cores = 64, .storage_parallelism = 1},
       reads,
       {.wall = Us(10)},
       1000,
       990},
      {"bandwidth for one: 2 workers",
       {.workers = 2},
       {.cores = 64, .storage_parallelism = 1},
       reads,
       {.wall = Us(10)},
       1000,
       990},
      {"bandwidth for one: 8 workers that compute, too",
       {.workers = 8},
       {.cores = 64, .storage_parallelism = 1},
       {.cpu = Us(500), .blocked = Us(1000), .chunks = 4},
       {.wall = Us(10)},
       // All workers read together and then compute together.
       1000 + 500 / 8.0,
       -1},
      {"bandwidth for two and a half",
       {.workers = 8},
       {.cores = 64, .storage_parallelism = 2.5},
       reads,
       {.wall = Us(10)},
       400,
       390},
      {"bandwidth for half of one",
       {.workers = 1},
       {.cores = 64, .storage_parallelism = 0.5},
       reads,
       {.wall = Us(10)},
       2000,
       1990},
      {"latency alone", {.workers = 8}, {.cores = 0.5}, reads, {.wall = Us(10)}, 125, 115},
      {"all times are zero", {.workers = 3}, kIdleMachine, {}, {}, 0, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    // 240 is a multiple of each number of workers above, so all rounds are complete.
    const SimulatedRun run = Simulated({c.batch}, {c.step}, c.setting, c.machine, 240);
    EXPECT_NEAR(run.period_ns, c.period_us * 1000, 1e-3);
    if (c.wait_us >= 0) {
      EXPECT_NEAR(run.wait_ns, c.wait_us * 1000, 1e-3);
    }
    EXPECT_EQ(run.epoch_ns, 0);
  }
}

TEST(QueueSimulationTest, AStepThatWaitsIsSlowedDownInItsCpuPartOnly) {
  // A worker that always computes, and a step of 100 us with half of it CPU time, share one core.
  // If both run at speed f, the runnable share of the step is
  // (1/2 / f) / (1/2 + 1/2 / f) = 1 / (1 + f). Full use of the core means
  // f (1 + 1 / (1 + f)) = 1, so f^2 + f = 1.
  const double f = (std::sqrt(5) - 1) / 2;
  const SimulatedRun run = Simulated({{.cpu = Us(1)}}, {{.wall = Us(100), .cpu = Us(50)}},
                                     {.workers = 1, .prefetch = 1000}, {.cores = 1}, 100);
  // The worker has already filled the queue, so the loop runs alone except for 1 us per batch.
  EXPECT_NEAR(run.period_ns, 100'000 + 1000 / f * (1 - 1 / (1 / 2.0 + 1 / 2.0 / f)), 1e-3);
  const SimulatedRun busy = Simulated({{.cpu = Us(1000)}}, {{.wall = Us(100), .cpu = Us(50)}},
                                      {.workers = 1}, {.cores = 1}, 100);
  // Per batch: the step at its speed, then the worker's remaining work alone on the core.
  const double step = 100'000 * (1 / 2.0 + 1 / 2.0 / f);
  EXPECT_NEAR(busy.period_ns, step + (1'000'000 - step * f), 1e-3);
  EXPECT_NEAR(busy.busy_cpus, 1, 1e-9);
  // Two hardware threads with the work of one are a single core, and both are in use.
  const SimulatedRun threads = Simulated({{.cpu = Us(1000)}}, {{.wall = Us(100), .cpu = Us(50)}},
                                         {.workers = 1}, {.cores = 2, .smt_gain = 1}, 100);
  EXPECT_NEAR(threads.period_ns, busy.period_ns, 1e-3);
  EXPECT_NEAR(threads.busy_cpus, 1 + step / (1 + f) / busy.period_ns, 1e-9);
}

TEST(QueueSimulationTest, TellsHowTheQueueStood) {
  const std::vector<BatchDemand> batch{{.cpu = Us(600), .blocked = Us(300)}};
  // The queue is full: all 2 x 3 batches are ready when the loop asks.
  const SimulatedRun full = Simulated(batch, {{.wall = Us(1000), .cpu = Us(500)}},
                                      {.workers = 2, .prefetch = 3}, kIdleMachine, 100);
  EXPECT_DOUBLE_EQ(full.ready, 6);
  EXPECT_DOUBLE_EQ(full.waited_share, 0);
  EXPECT_NEAR(full.worker_use, 0.9 / 2, 1e-9);
  EXPECT_NEAR(full.busy_cpus, 0.6 + 0.5, 1e-9);

  const SimulatedRun empty =
      Simulated(batch, {{.wall = Us(100)}}, {.workers = 2}, kIdleMachine, 100);
  // Both workers finish together: the loop waits for every other batch, and the next one is ready.
  EXPECT_DOUBLE_EQ(empty.ready, 0.5);
  EXPECT_DOUBLE_EQ(empty.waited_share, 0.5);
  EXPECT_NEAR(empty.worker_use, 1, 1e-9);
  EXPECT_NEAR(empty.busy_cpus, 0.6 / 0.45, 1e-9);

  const SimulatedRun alone = Simulated(batch, {{.wall = Us(100)}}, {}, kIdleMachine, 100);
  EXPECT_DOUBLE_EQ(alone.ready, 0);
  EXPECT_DOUBLE_EQ(alone.waited_share, 1);
  EXPECT_DOUBLE_EQ(alone.worker_use, 0);
  EXPECT_NEAR(alone.busy_cpus, 0.6, 1e-9);
}

/// Returns a series in which every `nth` batch is slow.
std::vector<BatchDemand> Bursty(std::size_t size, std::size_t nth, DurationNs usual,
                                DurationNs slow) {
  std::vector<BatchDemand> batches;
  for (std::size_t b = 1; b <= size; ++b) batches.push_back({.cpu = b % nth == 0 ? slow : usual});
  return batches;
}

TEST(QueueSimulationTest, ASlowBatchStallsTheLoopUnlessEnoughWasPrefetched) {
  const std::vector<BatchDemand> batches = Bursty(60, 20, Us(1000), Us(30'000));
  const std::vector<StepDemand> steps{{.wall = Us(1000)}};
  // By rates, the step is the limit: three workers take (19 + 30) / 20 / 3 = 0.82 ms per batch.
  const double by_rates_ns = 1e6;
  double before = kInfinite;
  for (const std::int32_t prefetch : {1, 2, 4, 8}) {
    const SimulatedRun run =
        Simulated(batches, steps, {.workers = 3, .prefetch = prefetch}, kIdleMachine, 600);
    EXPECT_LT(run.period_ns, before - 1e5) << prefetch;
    EXPECT_GT(run.period_ns, by_rates_ns * 1.1) << prefetch;
    before = run.period_ns;
  }
  const SimulatedRun deep =
      Simulated(batches, steps, {.workers = 3, .prefetch = 16}, kIdleMachine, 600);
  EXPECT_NEAR(deep.period_ns, by_rates_ns, 1e-3);
  EXPECT_DOUBLE_EQ(deep.waited_share, 0);
}

TEST(QueueSimulationTest, AWorkerThatGetsAllSlowBatchesSetsThePaceAlone) {
  // Every twentieth batch goes to the fourth worker, which takes 4 x 1 + 30 ms for its 5 of 20
  // batches.
  const SimulatedRun run = Simulated(Bursty(20, 20, Us(1000), Us(30'000)), {{.wall = Us(1000)}},
                                     {.workers = 4, .prefetch = 50}, kIdleMachine, 2000);
  EXPECT_NEAR(run.period_ns, 34e6 / 20, 1e-3);
}

TEST(QueueSimulationTest, WhatComesEarlyIsUnpackedWhileTheLoopWaits) {
  const std::vector<BatchDemand> batches{{.cpu = Us(3000)}, {.cpu = Us(100)}};
  const LoaderSetting setting{.workers = 2, .receive = Us(500), .epoch_batches = 2};
  // The second batch is unpacked from 100 to 600, the first from 3000 to 3500; two steps follow.
  EXPECT_NEAR(Simulated(batches, {{.wall = Us(10)}}, setting, kIdleMachine, 2).epoch_ns, 3'520'000,
              1e-3);
}

TEST(QueueSimulationTest, APinningThreadTakesBatchesAsTheyCome) {
  const std::vector<BatchDemand> batches{{.cpu = Us(3000)}, {.cpu = Us(100)}, {.cpu = Us(2950)}};
  const LoaderSetting setting{.workers = 3, .pin = true, .pin_time = Us(500), .epoch_batches = 3};
  // The second batch is pinned from 100 to 600, the third from 2950 to 3450, the first until 3950;
  // three steps follow.
  EXPECT_NEAR(Simulated(batches, {{.wall = Us(10)}}, setting, kIdleMachine, 3).epoch_ns, 3'980'000,
              1e-3);
}

TEST(QueueSimulationTest, ChunksAlternateBetweenWaitingAndComputing) {
  // Two workers share one core. The second only computes.
  std::vector<BatchDemand> batches{{.cpu = Us(1000), .blocked = Us(1000)}, {.cpu = Us(1000)}};
  const LoaderSetting setting{.workers = 2, .epoch_batches = 2};
  const std::vector<StepDemand> steps{{}};
  // The second is done when the first begins to compute.
  EXPECT_NEAR(Simulated(batches, steps, setting, {.cores = 1}, 2).epoch_ns, 2'000'000, 1e-3);
  // The first waits until 500 and shares the core until 1500. It waits until 2000 while the core is
  // idle.
  batches[0].chunks = 2;
  EXPECT_NEAR(Simulated(batches, steps, setting, {.cores = 1}, 2).epoch_ns, 2'500'000, 1e-3);
  // A batch with only one kind of work has no parts.
  batches[1].chunks = 1000;
  EXPECT_NEAR(Simulated(batches, steps, setting, {.cores = 1}, 2).epoch_ns, 2'500'000, 1e-3);
}

TEST(QueueSimulationTest, AnEpochHasAnEdge) {
  const std::vector<BatchDemand> batches{{.cpu = Us(1000)}};
  const std::vector<StepDemand> steps{{.wall = Us(100)}};
  const struct {
    const char* name;
    LoaderSetting setting;
    double epoch_us, edge_us;
  } cases[] = {
      // Batches come two at a time, after 1000 and 2000. In the middle of a run each takes 500.
      {"persistent workers", {.workers = 2, .epoch_batches = 4}, 2200, 200},
      {"workers that start", {.workers = 2, .epoch_batches = 4, .start_up = Us(5000)}, 7200, 5200},
      {"shorter than the queue", {.workers = 2, .epoch_batches = 1}, 1100, 600},
      {"shorter than a round", {.workers = 8, .epoch_batches = 3}, 1300, 1300 - 3 * 125},
      {"without workers", {.epoch_batches = 4, .start_up = Us(5000)}, 4400, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const SimulatedRun run = Simulated(batches, steps, c.setting, kIdleMachine, 480);
    EXPECT_NEAR(run.epoch_ns, c.epoch_us * 1000, 1e-3);
    EXPECT_NEAR(run.epoch_edge_ns, c.edge_us * 1000, 1e-3);
  }
  // Two and a half epochs are requested; three epochs of 4 batches run.
  std::vector<BatchDemand> uneven(12, {.cpu = Us(1000)});
  uneven[9].cpu = Us(4000);
  EXPECT_NEAR(Simulated(uneven, steps, {.epoch_batches = 4}, kIdleMachine, 10).epoch_ns, 5'400'000,
              1e-3);
}

TEST(QueueSimulationTest, EachDemandCountsAlike) {
  // Without workers the order has no effect: the period is the sum of the means.
  std::vector<BatchDemand> batches;
  for (int b = 1; b <= 7; ++b) batches.push_back({.cpu = Us(100 * b)});
  std::vector<StepDemand> steps;
  for (int s = 1; s <= 5; ++s) steps.push_back({.wall = Us(1000 * s)});
  EXPECT_NEAR(Simulated(batches, steps, {}, kIdleMachine, 70).period_ns, 400'000 + 3'000'000, 1e-3);
  // Batches 0 to 2 and steps 0 to 2.
  EXPECT_NEAR(Simulated(batches, steps, {}, kIdleMachine, 3).period_ns, 200'000 + 2'000'000, 1e-3);
}

TEST(QueueSimulationTest, AStepMeasuredOnSharedCoresKeepsItsTimeThere) {
  const Machine machine{.cores = 16, .smt_gain = 1.2};
  const StepDemand measured{.wall = Us(1000), .cpu = Us(12'000)};
  const StepDemand step = WithCoresOfItsOwn(measured, machine);
  // 12 threads do the work of 8 + 4 x 0.2.
  EXPECT_NEAR(Ns(step.wall), 1e6 * 8.8 / 12, 1);
  const std::vector<BatchDemand> batch{{.cpu = Us(10)}};
  EXPECT_NEAR(Simulated(batch, {step}, {}, machine, 10).period_ns, 1'010'000, 2);
  // They are faster on separate cores.
  EXPECT_NEAR(Simulated(batch, {step}, {}, kIdleMachine, 10).period_ns, 10'000 + 1e6 * 8.8 / 12, 2);
  const StepDemand narrow{.wall = Us(1000), .cpu = Us(8000)};
  EXPECT_EQ(WithCoresOfItsOwn(narrow, machine).wall, narrow.wall);
}

/// A slow and obvious reference: every thread advances by a fixed time step, one phase of its work
/// after another. Each time step has a small error.
class SteppedLoader {
 public:
  static constexpr double kStep = 100;  ///< Nanoseconds.

  SteppedLoader(std::vector<BatchDemand> batches, std::vector<StepDemand> steps,
                LoaderSetting setting, Machine machine, int first_batch, int first_step)
      : batches_(std::move(batches)),
        steps_(std::move(steps)),
        setting_(setting),
        machine_(machine),
        first_batch_(first_batch),
        first_step_(first_step) {}

  struct Taken {
    double asked = 0, had = 0, ended = 0;
    int ready = 0;
  };
  /// Returns the first `count` batches.
  std::vector<Taken> Run(int count) {
    std::vector<Taken> all;
    int done = 0;
    while (static_cast<int>(all.size()) < count) {
      const int left = count - done;
      const int epoch =
          setting_.epoch_batches > 0 ? static_cast<int>(setting_.epoch_batches) : left;
      for (const Taken& taken : RunEpoch(done, epoch)) all.push_back(taken);
      done += epoch;
    }
    return all;
  }
  double busy() const { return busy_; }  ///< CPU time in use.

 private:
  enum class Kind { kSleep, kRead, kCompute, kStep };
  struct Phase {
    Kind kind;
    double left;
    double parallelism = 1;
  };
  /// The remaining phases in order; empty if the thread is idle.
  struct Thread {
    std::deque<Phase> phases;
    int batch = -1;
  };

  std::deque<Phase> Preparation(int batch) const {
    const BatchDemand& demand =
        batches_[static_cast<std::size_t>(first_batch_ + batch) % batches_.size()];
    std::deque<Phase> phases;
    for (int c = 0; c < demand.chunks; ++c) {
      phases.push_back({Kind::kRead, Ns(demand.blocked) / demand.chunks});
      phases.push_back({Kind::kCompute, Ns(demand.cpu) / demand.chunks});
    }
    return phases;
  }
  Phase StepPhase(int step) const {
    const StepDemand& demand = steps_[static_cast<std::size_t>(first_step_ + step) % steps_.size()];
    return {Kind::kStep, Ns(demand.wall), Ns(demand.cpu) / Ns(demand.wall)};
  }

  double Throughput(double busy) const {
    const double real = machine_.cores / 2;
    if (busy >= machine_.cores) return machine_.smt_gain * real;
    return busy <= real ? busy : real + (busy - real) / real * (machine_.smt_gain - 1) * real;
  }

  /// Finds by bisection the speed at which demand and capacity are equal.
  std::pair<double, double> SpeedAndDemand(double threads, double parallelism) const {
    const auto demand = [&](double speed) {
      if (parallelism >= 1) return threads + parallelism;
      const double computes = parallelism / speed;
      return threads + computes / (1 - parallelism + computes);
    };
    double low = 0, high = 1;
    if (demand(1) <= Throughput(demand(1))) return {1, demand(1)};
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (middle * demand(middle) > Throughput(demand(middle)) ? high : low) = middle;
    }
    return {low, demand(low)};
  }

  std::vector<Taken> RunEpoch(int first, int count) {
    const int workers = setting_.workers;
    std::vector<Thread> threads(static_cast<std::size_t>(workers) + 2);
    Thread& pinner = threads[static_cast<std::size_t>(workers)];
    Thread& loop = threads[static_cast<std::size_t>(workers) + 1];
    std::vector<std::deque<int>> indices(static_cast<std::size_t>(workers));
    std::deque<int> to_pin, arrived;
    std::set<int> unpacked;
    int handed_out = 0;
    const auto hand_out = [&] {
      if (handed_out == count && setting_.epoch_batches > 0) return;
      indices[static_cast<std::size_t>(handed_out % workers)].push_back(handed_out);
      ++handed_out;
    };
    for (int i = 0; i < workers * setting_.prefetch; ++i) hand_out();
    for (int w = 0; w < workers; ++w) {
      if (setting_.start_up.ns() > 0)
        threads[static_cast<std::size_t>(w)].phases.push_back(
            {Kind::kSleep, Ns(setting_.start_up)});
    }
    std::vector<Taken> taken;
    enum { kAsks, kWaits, kUnpacks, kSteps } state = kAsks;

    double known_threads = -1, known_parallelism = -1, speed = 1, demand = 0;
    while (true) {
      // Repeats instantaneous changes until none remains.
      for (bool changed = true; changed;) {
        changed = false;
        for (Thread& thread : threads) {
          while (!thread.phases.empty() && thread.phases.front().left <= 0) {
            thread.phases.pop_front();
            changed = true;
          }
        }
        for (int w = 0; w < workers; ++w) {
          Thread& worker = threads[static_cast<std::size_t>(w)];
          auto& own = indices[static_cast<std::size_t>(w)];
          if (!worker.phases.empty()) continue;
          if (worker.batch >= 0) (setting_.pin ? to_pin : arrived).push_back(worker.batch);
          if (worker.batch >= 0) changed = true;
          worker.batch = -1;
          if (own.empty()) continue;
          worker.batch = own.front();
          own.pop_front();
          worker.phases = Preparation(first + worker.batch);
          changed = true;
        }
        if (pinner.phases.empty()) {
          if (pinner.batch >= 0) arrived.push_back(pinner.batch), changed = true;
          pinner.batch = -1;
          if (!to_pin.empty()) {
            pinner.batch = to_pin.front();
            to_pin.pop_front();
            pinner.phases.push_back({Kind::kCompute, Ns(setting_.pin_time)});
            changed = true;
          }
        }
        if (!loop.phases.empty()) continue;
        const int next = static_cast<int>(taken.size());
        switch (state) {
          case kSteps:
            taken.back().ended = now_;
            if (next == count) return taken;
            state = kAsks;
            changed = true;
            break;
          case kAsks:
            asked_ = now_;
            ready_ = static_cast<int>(arrived.size() + unpacked.size());
            state = kWaits;
            changed = true;
            if (workers == 0) {
              loop.phases = Preparation(first + next);
              if (setting_.pin) loop.phases.push_back({Kind::kCompute, Ns(setting_.pin_time)});
              unpacked.insert(next);
            }
            break;
          case kUnpacks:
            unpacked.insert(loop.batch);
            state = kWaits;
            changed = true;
            break;
          case kWaits:
            if (unpacked.count(next) > 0) {
              unpacked.erase(next);
              taken.push_back({.asked = asked_, .had = now_, .ready = ready_});
              if (workers > 0) hand_out();
              loop.phases.push_back(StepPhase(first + next));
              state = kSteps;
              changed = true;
            } else if (!arrived.empty()) {
              loop.batch = arrived.front();
              arrived.pop_front();
              loop.phases.push_back({Kind::kCompute, Ns(setting_.receive)});
              state = kUnpacks;
              changed = true;
            }
            break;
        }
      }
      double computing = 0, reading = 0, parallelism = 0;
      for (const Thread& thread : threads) {
        if (thread.phases.empty()) continue;
        const Phase& phase = thread.phases.front();
        computing += phase.kind == Kind::kCompute ? 1 : 0;
        reading += phase.kind == Kind::kRead ? 1 : 0;
        if (phase.kind == Kind::kStep) parallelism = phase.parallelism;
      }
      if (computing != known_threads || parallelism != known_parallelism)
        std::tie(speed, demand) = SpeedAndDemand(computing, parallelism);
      known_threads = computing;
      known_parallelism = parallelism;
      now_ += kStep;
      busy_ += kStep * std::min(demand, machine_.cores);
      for (Thread& thread : threads) {
        if (thread.phases.empty()) continue;
        Phase& phase = thread.phases.front();
        double rate = 1;
        if (phase.kind == Kind::kCompute) rate = speed;
        if (phase.kind == Kind::kRead) rate = std::min(1.0, machine_.storage_parallelism / reading);
        if (phase.kind == Kind::kStep)
          rate = parallelism >= 1 ? speed : 1 / (1 - parallelism + parallelism / speed);
        phase.left -= kStep * rate;
        // Rounds to the nearer time step.
        if (phase.left <= kStep * rate / 2) phase.left = 0;
      }
    }
  }

  const std::vector<BatchDemand> batches_;
  const std::vector<StepDemand> steps_;
  const LoaderSetting setting_;
  const Machine machine_;
  const int first_batch_, first_step_;
  double now_ = 0, busy_ = 0, asked_ = 0;
  int ready_ = 0;
};

struct RandomCase {
  std::vector<BatchDemand> batches;
  std::vector<StepDemand> steps;
  LoaderSetting setting;
  Machine machine;
};

/// Returns a random case with up to 5 workers on up to 8 cores.
/// @param draw  returns a number from the first to the second argument, both included
template <typename Draw>
RandomCase AnyCase(const Draw& draw) {
  RandomCase out;
  const auto time = [&](int least, int most) { return DurationNs(1000 * draw(least, most)); };
  out.batches.resize(static_cast<std::size_t>(draw(1, 9)));
  for (BatchDemand& batch : out.batches) {
    const int kind = draw(0, 3);
    if (kind != 0) batch.cpu = time(20, 600);
    if (kind < 2) batch.blocked = time(20, 600);
    batch.chunks = draw(1, 3);
  }
  out.steps.resize(static_cast<std::size_t>(draw(1, 7)));
  for (StepDemand& step : out.steps) {
    step.wall = time(40, 400);
    const int pct = draw(0, 3) == 0 ? draw(100, 300) : draw(0, 100);
    step.cpu = DurationNs(step.wall.ns() * pct / 100);
  }
  out.setting = {.workers = draw(0, 5),
                 .prefetch = draw(1, 3),
                 .pin = draw(0, 1) == 1,
                 .pin_time = time(5, 100),
                 .receive = draw(0, 1) == 1 ? time(5, 100) : DurationNs(0),
                 .epoch_batches = draw(1, 15),
                 .start_up = draw(0, 1) == 1 ? time(50, 800) : DurationNs(0)};
  out.machine = {.cores = draw(5, 80) / 10.0,
                 .smt_gain = draw(0, 1) == 1 ? 2 : draw(10, 20) / 10.0,
                 .storage_parallelism = draw(0, 1) == 1 ? kInfinite : draw(5, 30) / 10.0};
  return out;
}

/// Returns a function that draws whole numbers from a generator.
auto DrawsFrom(std::mt19937_64& random) {
  return [&random](int least, int most) {
    return least + static_cast<int>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
}

TEST(QueueSimulationTest, AgreesWithStepsOfTime) {
  constexpr int kBatches = 30;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    RandomCase c = AnyCase(DrawsFrom(random));
    const SimulatedRun run = Simulated(c.batches, c.steps, c.setting, c.machine, kBatches);
    const auto epoch = static_cast<int>(c.setting.epoch_batches);
    const int epochs = (kBatches + epoch - 1) / epoch, count = epochs * epoch;
    SteppedLoader by_epochs(c.batches, c.steps, c.setting, c.machine, 0, 0);
    const double epoch_ns = by_epochs.Run(count).back().ended / epochs;
    EXPECT_NEAR(run.epoch_ns, epoch_ns, 0.004 * epoch_ns);

    c.setting.epoch_batches = 0;
    c.setting.start_up = DurationNs(0);
    const auto longest = static_cast<int>(std::max(c.batches.size(), c.steps.size()));
    const int before = c.setting.workers * c.setting.prefetch + std::min(longest, count);
    const auto first = [&](std::size_t size) {
      return static_cast<int>(size) * before - before;  // `before` steps later is the first.
    };
    const auto make = [&] {
      return SteppedLoader(c.batches, c.steps, c.setting, c.machine, first(c.batches.size()),
                           first(c.steps.size()));
    };
    SteppedLoader endless = make(), until_then = make();
    const std::vector<SteppedLoader::Taken> all = endless.Run(before + count);
    const double begun = until_then.Run(before).back().ended;
    const double time = all.back().ended - begun;
    double wait = 0, ready = 0, waited = 0;
    for (std::size_t b = static_cast<std::size_t>(before); b < all.size(); ++b) {
      wait += all[b].had - all[b].asked;
      ready += all[b].ready;
      waited += all[b].had - all[b].asked > Ns(c.setting.receive) + 2000 ? 1 : 0;
    }
    EXPECT_NEAR(run.period_ns, time / count, 0.004 * time / count);
    EXPECT_NEAR(run.wait_ns, wait / count, 0.004 * time / count);
    EXPECT_NEAR(run.ready, ready / count, 0.11);
    EXPECT_NEAR(run.busy_cpus, (endless.busy() - until_then.busy()) / time, 0.01 * run.busy_cpus);
    if (c.setting.receive.ns() == 0) {
      EXPECT_NEAR(run.waited_share, waited / count, 0.05);
    }
  }
}

double TotalCpuNs(const RandomCase& c, std::int64_t count) {
  const auto cycled = [](const auto& series, std::int64_t n) {
    return series[static_cast<std::size_t>(n) % series.size()];
  };
  const bool workers = c.setting.workers > 0;
  double cpu = 0;
  for (std::int64_t n = 0; n < count; ++n) {
    cpu += Ns(cycled(c.batches, n).cpu) + Ns(cycled(c.steps, n).cpu);
    if (workers) cpu += Ns(c.setting.receive);
    if (c.setting.pin) cpu += Ns(c.setting.pin_time);
  }
  return cpu;
}

RandomCase AnyCaseOfRapidCheck() {
  return AnyCase([](int least, int most) { return *rc::gen::inRange(least, most + 1); });
}

constexpr double kRounding = 1e-9;

RC_GTEST_PROP(QueueSimulationProperty, NothingIsFasterThanItsParts, ()) {
  RandomCase c = AnyCaseOfRapidCheck();
  const std::int64_t count = c.setting.epoch_batches;
  const SimulatedRun run = Simulated(c.batches, c.steps, c.setting, c.machine, count);
  double steps = 0, blocked = 0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(count); ++n) {
    steps += Ns(c.steps[n % c.steps.size()].wall);
    blocked += Ns(c.batches[n % c.batches.size()].blocked);
  }
  const double most_cores = c.machine.cores / 2 * c.machine.smt_gain;
  RC_ASSERT(run.epoch_ns >= steps * (1 - kRounding));
  RC_ASSERT(run.epoch_ns >= TotalCpuNs(c, count) / most_cores * (1 - kRounding));
  RC_ASSERT(
      run.epoch_ns >=
      blocked /
          std::max<double>(1, std::min<double>(c.setting.workers, c.machine.storage_parallelism)) *
          (1 - kRounding));
  RC_ASSERT(run.period_ns * static_cast<double>(count) >= steps * (1 - kRounding));
  RC_ASSERT(run.wait_ns >= 0);
  RC_ASSERT(run.period_ns >= run.wait_ns);
  RC_ASSERT(run.busy_cpus <= c.machine.cores * (1 + kRounding));
  RC_ASSERT(run.worker_use <= 1 + kRounding);
  RC_ASSERT(run.waited_share <= 1);
  RC_ASSERT(run.ready <= c.setting.workers * c.setting.prefetch);
}

RC_GTEST_PROP(QueueSimulationProperty, MoreCoresAreNeverSlowerWithoutWorkers, ()) {
  RandomCase c = AnyCaseOfRapidCheck();
  c.setting.workers = 0;
  const SimulatedRun few = Simulated(c.batches, c.steps, c.setting, c.machine, 60);
  c.machine.cores += *rc::gen::inRange(1, 40) / 10.0;
  const SimulatedRun more = Simulated(c.batches, c.steps, c.setting, c.machine, 60);
  RC_ASSERT(more.epoch_ns <= few.epoch_ns * (1 + kRounding));
}

RC_GTEST_PROP(QueueSimulationProperty, CoresForAllAreNeverSlower, ()) {
  RandomCase c = AnyCaseOfRapidCheck();
  // No other work competes, and the order of arrival has no effect.
  c.setting.pin = false;
  c.setting.receive = DurationNs(0);
  c.machine.storage_parallelism = kInfinite;
  const SimulatedRun few = Simulated(c.batches, c.steps, c.setting, c.machine, 60);
  const SimulatedRun more = Simulated(c.batches, c.steps, c.setting, kIdleMachine, 60);
  RC_ASSERT(more.epoch_ns <= few.epoch_ns * (1 + kRounding));
}

TEST(QueueSimulationTest, MoreCoresAreHardlyEverSlower) {
  // More cores are occasionally slower. A worker that gets ahead takes CPU time from the
  // batch that the loop waits for. Its batch may also be copied to pinned memory first. Real
  // machines behave the same way.
  int slower = 0;
  double worst = 0;
  constexpr int kCases = 3000;
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    std::mt19937_64 random(seed);
    const auto draw = DrawsFrom(random);
    RandomCase c = AnyCase(draw);
    const SimulatedRun few = Simulated(c.batches, c.steps, c.setting, c.machine, 60);
    c.machine.cores += draw(1, 40) / 10.0;
    const SimulatedRun more = Simulated(c.batches, c.steps, c.setting, c.machine, 60);
    const double excess = more.epoch_ns / few.epoch_ns - 1;
    slower += excess > kRounding ? 1 : 0;
    worst = std::max(worst, excess);
  }
  EXPECT_LT(slower, kCases / 300);
  EXPECT_LT(worst, 0.02);
}

RC_GTEST_PROP(QueueSimulationProperty, TheSameInputGivesTheSameAnswer, ()) {
  const RandomCase c = AnyCaseOfRapidCheck();
  const SimulatedRun a = Simulated(c.batches, c.steps, c.setting, c.machine, 40);
  const SimulatedRun b = Simulated(c.batches, c.steps, c.setting, c.machine, 40);
  RC_ASSERT(a.period_ns == b.period_ns);
  RC_ASSERT(a.epoch_ns == b.epoch_ns);
  RC_ASSERT(a.ready == b.ready);
}

std::vector<int> UpTo(int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

TEST(ResampleTest, KeepsBlocksOfAboutTheRootOfTheLength) {
  const std::vector<int> values = UpTo(10'000);
  std::mt19937_64 random(1);
  const std::vector<int> drawn = Resample(std::span<const int>(values), 1'000'000, random);
  ASSERT_EQ(drawn.size(), 1'000'000U);
  int blocks = 1;
  double sum = 0;
  bool around = false;
  for (std::size_t i = 1; i < drawn.size(); ++i) {
    const bool on = drawn[i] == (drawn[i - 1] + 1) % 10'000;
    blocks += on ? 0 : 1;
    around |= on && drawn[i] == 0;
    sum += drawn[i];
  }
  EXPECT_NEAR(blocks, 10'000, 400);  // Blocks of 100 each: four standard deviations.
  EXPECT_TRUE(around);
  // The starts are 10'000 draws with a standard deviation of 29.
  EXPECT_NEAR(sum / 1e6, 5000, 200);
}

TEST(ResampleTest, IsTheSameOnEveryMachine) {
  const std::vector<int> values = UpTo(9);
  std::mt19937_64 random(7);
  EXPECT_EQ(Resample(std::span<const int>(values), 16, random),
            (std::vector<int>{6, 7, 8, 0, 1, 2, 6, 7, 8, 0, 7, 8, 0, 1, 5, 0}));
  const std::vector<int> one{5};
  EXPECT_EQ(Resample(std::span<const int>(one), 3, random), (std::vector<int>{5, 5, 5}));
}

LoadingForecast Predict(const std::vector<BatchDemand>& batches,
                        const std::vector<StepDemand>& steps, const LoaderSetting& setting,
                        std::uint64_t seed) {
  const Result<LoadingForecast> forecast =
      PredictLoading(batches, steps, setting, kIdleMachine, seed, 60);
  EXPECT_TRUE(forecast.ok()) << forecast.status().message();
  return forecast.ok() ? forecast.value() : LoadingForecast{};
}

std::vector<BatchDemand> Noisy(std::size_t size) {
  std::mt19937_64 random(3);
  std::vector<BatchDemand> batches;
  for (std::size_t b = 0; b < size; ++b)
    batches.push_back({.cpu = Us(static_cast<std::int64_t>(500 + random() % 1000))});
  return batches;
}

TEST(PredictLoadingTest, WhatNeverVariesIsCertain) {
  const LoadingForecast forecast =
      Predict({{.cpu = Us(1000)}}, {{.wall = Us(100)}}, {.workers = 3}, 1);
  EXPECT_NEAR(forecast.run.period_ns, 1e6 / 3, 1e-3);
  EXPECT_NEAR(forecast.low_ns, 1e6 / 3, 1e-3);
  EXPECT_NEAR(forecast.high_ns, 1e6 / 3, 1e-3);
}

TEST(PredictLoadingTest, TheIntervalIsTheNoiseOfWhatWasRecorded) {
  // Without workers the period is the mean of the batches. Times of 500 to 1500 us have a standard
  // deviation of 289 us, and the mean of n times has 289 / sqrt(n). 90 % of means are within 1.64
  // standard deviations.
  for (const std::size_t size : {100U, 1600U}) {
    const LoadingForecast forecast = Predict(Noisy(size), {{}}, {}, 1);
    double mean = 0;
    for (const BatchDemand& batch : Noisy(size)) mean += Ns(batch.cpu) / static_cast<double>(size);
    EXPECT_NEAR(forecast.run.period_ns, mean, 1e-3);
    const double expected = 2 * 1.64 * 288'675 / std::sqrt(static_cast<double>(size));
    EXPECT_NEAR(forecast.high_ns - forecast.low_ns, expected, 0.35 * expected) << size;
  }
}

TEST(PredictLoadingTest, StepsMakeNoiseAsBatchesDo) {
  const std::vector<BatchDemand> batches = Noisy(100);
  std::vector<StepDemand> steps;
  steps.reserve(batches.size());
  for (const BatchDemand& batch : batches) steps.push_back({.wall = batch.cpu});
  const LoadingForecast of_batches = Predict(batches, {{}}, {}, 1);
  const LoadingForecast of_steps = Predict({{}}, steps, {}, 1);
  const double width = of_batches.high_ns - of_batches.low_ns;
  EXPECT_NEAR(of_steps.high_ns - of_steps.low_ns, width, 0.35 * width);
}

TEST(PredictLoadingTest, BurstsWidenTheInterval) {
  // Both series have the same batches. The slow batches are spread out in one and consecutive in
  // the other, so their number per block varies.
  std::vector<BatchDemand> apart = Bursty(400, 10, Us(1000), Us(5000)), together = apart;
  std::stable_sort(together.begin(), together.end(),
                   [](const BatchDemand& a, const BatchDemand& b) { return a.cpu < b.cpu; });
  const LoadingForecast calm = Predict(apart, {{}}, {}, 1), bursts = Predict(together, {{}}, {}, 1);
  EXPECT_NEAR(calm.run.period_ns, bursts.run.period_ns, 1e-3);
  EXPECT_GT(bursts.high_ns - bursts.low_ns, 2 * (calm.high_ns - calm.low_ns));
}

TEST(PredictLoadingTest, TheSeedDecides) {
  const std::vector<BatchDemand> batches = Noisy(100);
  const std::vector<StepDemand> steps{{.wall = Us(300)}};
  const LoaderSetting setting{.workers = 3, .epoch_batches = 50, .start_up = Us(1000)};
  const LoadingForecast a = Predict(batches, steps, setting, 1);
  const LoadingForecast b = Predict(batches, steps, setting, 1);
  const LoadingForecast c = Predict(batches, steps, setting, 2);
  EXPECT_EQ(a.low_ns, b.low_ns);
  EXPECT_EQ(a.high_ns, b.high_ns);
  EXPECT_NE(a.low_ns, c.low_ns);
  EXPECT_EQ(a.run.period_ns, c.run.period_ns);
  EXPECT_LE(a.low_ns, a.run.period_ns);
  EXPECT_GE(a.high_ns, a.run.period_ns);
  EXPECT_GT(a.run.epoch_edge_ns, 1e6);
}

TEST(QueueSimulationTest, SaysWhatMakesNoSense) {
  const BatchDemand batch{.cpu = Us(1)};
  const StepDemand step{.wall = Us(1)};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const struct {
    std::vector<BatchDemand> batches;
    std::vector<StepDemand> steps;
    LoaderSetting setting;
    Machine machine;
    std::string says;
  } cases[] = {
      {{}, {step}, {}, {}, "no batch was measured"},
      {{batch}, {}, {}, {}, "no step was measured"},
      {{batch, {.cpu = DurationNs(-5)}}, {step}, {}, {}, "batch 1: CPU time of -5 ns is negative"},
      {{{.blocked = DurationNs(-5)}}, {step}, {}, {}, "batch 0: blocked time of -5 ns"},
      {{{.cpu = DurationNs(INT64_MAX)}}, {step}, {}, {}, "more than a day"},
      {{{.cpu = Us(1), .chunks = 0}}, {step}, {}, {}, "batch 0: number of chunks is 0; give 1 to"},
      {{batch}, {step, {.wall = DurationNs(-5)}}, {}, {}, "step 1: wall time of -5 ns is negative"},
      {{batch}, {{.wall = Us(1), .cpu = Us(-1)}}, {}, {}, "step 0: CPU time of -1000 ns"},
      {{batch}, {{.cpu = Us(1)}}, {}, {}, "step 0 has 1000 ns of CPU time but a wall time of 0"},
      {{batch}, {step}, {.workers = -1}, {}, "the number of workers is -1; give 0 to 4096"},
      {{batch}, {step}, {.workers = 1 << 20}, {}, "the number of workers is 1048576"},
      {{batch}, {step}, {.workers = 1, .prefetch = 0}, {}, "the prefetch factor is 0; give 1 to"},
      {{batch}, {step}, {.workers = 4096, .prefetch = 999'999}, {}, "prefetched by all workers"},
      {{batch}, {step}, {.pin_time = Us(-1)}, {}, "the pin time per batch of -1000 ns"},
      {{batch}, {step}, {.receive = Us(-1)}, {}, "the unpack time per batch of -1000 ns"},
      {{batch}, {step}, {.start_up = Us(-1)}, {}, "the start time of the workers of -1000 ns"},
      {{batch}, {step}, {.epoch_batches = -1}, {}, "batches per epoch (0: no end) is -1"},
      {{batch}, {step}, {}, {.cores = 0}, "the machine has 0 cores"},
      {{batch}, {step}, {}, {.cores = nan}, "the machine has nan cores"},
      {{batch}, {step}, {}, {.cores = kInfinite}, "the machine has inf cores"},
      {{batch}, {step}, {}, {.smt_gain = 0.9}, "per core is 0.9"},
      {{batch}, {step}, {}, {.smt_gain = 2.1}, "per core is 2.1"},
      {{batch}, {step}, {}, {.smt_gain = nan}, "per core is nan"},
      {{batch}, {step}, {}, {.storage_parallelism = 0}, "the storage parallelism is 0"},
      {{batch}, {step}, {}, {.storage_parallelism = nan}, "the storage parallelism is nan"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.says);
    const Status status = SimulateLoading(c.batches, c.steps, c.setting, c.machine, 10).status();
    EXPECT_EQ(status.code(), StatusCode::kUsage);
    EXPECT_NE(status.message().find(c.says), std::string::npos) << status.message();
    const Status of_forecast =
        PredictLoading(c.batches, c.steps, c.setting, c.machine, 1, 10).status();
    EXPECT_EQ(of_forecast.message(), status.message());
  }
  const std::vector<BatchDemand> batches{batch};
  const std::vector<StepDemand> steps{step};
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-3}, INT64_MAX}) {
    EXPECT_EQ(SimulateLoading(batches, steps, {}, {}, count).status().code(), StatusCode::kUsage);
  }
  for (const int replications : {0, -1, 1'000'000'000}) {
    EXPECT_EQ(PredictLoading(batches, steps, {}, {}, 1, replications).status().code(),
              StatusCode::kUsage);
  }
}

}  // namespace queue_simulation_test
}  // namespace headroom
