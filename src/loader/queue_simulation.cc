#include "loader/queue_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "base/statistics.h"

namespace headroom {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Ends within this many ns of each other count as simultaneous, because of rounding errors.
constexpr double kInstant = 1e-4;
/// Minimum time in ns that counts as a wait, because times are whole nanoseconds.
constexpr double kShortestWait = 1;

/// A larger count is a caller's mistake, or would run for hours.
constexpr std::int64_t kMaxCount = 100'000'000;
constexpr std::int64_t kMaxEpochBatches = 10'000'000;
constexpr std::int64_t kMaxWorkers = 4096;
constexpr std::int64_t kMaxPrefetched = 1'000'000;  ///< Sum over all workers.
constexpr std::int64_t kMaxChunks = 1'000'000;
constexpr std::int64_t kMaxReplications = 10'000;
constexpr double kMaxCores = 1'000'000;
constexpr DurationNs kLongest{86'400'000'000'000};  // One day.

/// A forecast simulates at least this many batches, and fills the queue at least kForecastFills
/// times.
constexpr std::int64_t kMinForecast = 256;
constexpr std::int64_t kForecastFills = 8;

double Ns(DurationNs duration) { return static_cast<double>(duration.ns()); }

/// Returns the maximum number of batches that are prepared, waiting or unpacked at once; 0 without
/// workers.
std::int64_t UnderWay(const LoaderSetting& setting) {
  return static_cast<std::int64_t>(setting.workers) * setting.prefetch;
}

/// Speeds of threads that share the logical CPUs.
class SharedCpus {
 public:
  explicit SharedCpus(const Machine& machine)
      : cores_(machine.cores),
        at_full_speed_(machine.smt_gain == 2 ? machine.cores : machine.cores / 2),
        // The total speed of n threads is the minimum of these lines and n.
        lines_{Line{.at_none = machine.cores / 2 * (2 - machine.smt_gain),
                    .by_thread = machine.smt_gain - 1},
               Line{.at_none = machine.cores / 2 * machine.smt_gain, .by_thread = 0}} {}

  /// Speed of each thread, and the number of logical CPUs in use.
  struct Share {
    double speed, busy;
  };
  /// @param threads  number of threads that are always runnable
  /// @param parallelism  CPU time / wall time of the step; 0 if no step is under way
  Share Of(double threads, double parallelism) const {
    if (threads + parallelism <= at_full_speed_)
      return {.speed = 1, .busy = std::min(threads + parallelism, cores_)};
    double speed = 1;
    for (const Line& line : lines_) speed = std::min(speed, SpeedOn(line, threads, parallelism));
    const double demand = threads + Runnable(parallelism, speed);
    return {.speed = speed, .busy = std::min(demand, cores_)};
  }

  /// Returns the progress of a step per unit of time if each thread has this speed.
  static double StepSpeed(double parallelism, double speed) {
    return parallelism >= 1 ? speed : 1 / (1 - parallelism + parallelism / speed);
  }

 private:
  struct Line {
    double at_none, by_thread;
  };

  /// Returns the number of runnable threads of a step. A step that waits for a GPU waits as long on
  /// a busy machine, but computes longer. It is therefore runnable for a larger part of its time.
  static double Runnable(double parallelism, double speed) {
    return parallelism >= 1 ? parallelism : parallelism / (speed * (1 - parallelism) + parallelism);
  }

  /// Returns the speed at which the total work equals the line. Demand falls with speed, so speed x
  /// (threads + Runnable(speed)) - line(threads + Runnable(speed)) only grows with speed. Each line
  /// thus has one such speed; the minimum over the lines applies.
  static double SpeedOn(const Line& line, double threads, double parallelism) {
    if (parallelism >= 1 || parallelism == 0) {
      const double demand = threads + parallelism;
      return line.at_none / demand + line.by_thread;
    }
    // Inserting Runnable() gives square x speed^2 + linear x speed - constant = 0.
    const double waits = 1 - parallelism;
    const double given = line.at_none + line.by_thread * threads;
    const double square = threads * waits;
    const double linear = (threads + 1) * parallelism - given * waits;
    const double constant = (given + line.by_thread) * parallelism;
    const double root = std::sqrt(linear * linear + 4 * square * constant);
    // Uses the form of the positive root that avoids subtraction.
    if (linear > 0) return 2 * constant / (linear + root);
    return square > 0 ? (root - linear) / (2 * square) : kNever;
  }

  double cores_;
  double at_full_speed_;  ///< At least this many threads run without slowing each other down.
  Line lines_[2];
};

/// Activities that share one changing speed. On a clock that runs at that speed, their ends are
/// fixed.
class Activities {
 public:
  void Begin(std::int32_t who, double work) {
    if (ends_.empty()) clock_ = 0;  // A small clock value is more exact.
    ends_.push_back({.end = clock_ + work, .who = who});
    std::push_heap(ends_.begin(), ends_.end(), Later);
  }
  std::size_t size() const { return ends_.size(); }
  /// Returns the time until the first end.
  double UntilEnd(double speed) const {
    return ends_.empty() ? kNever : std::max(0.0, ends_.front().end - clock_) / speed;
  }
  void Advance(double work) { clock_ += work; }
  bool HasEnded() const { return !ends_.empty() && ends_.front().end <= clock_ + kInstant; }
  /// Returns the owner of an activity that has ended. Requires HasEnded().
  std::int32_t TakeEnded() {
    std::pop_heap(ends_.begin(), ends_.end(), Later);
    const std::int32_t who = ends_.back().who;
    ends_.pop_back();
    return who;
  }

 private:
  struct End {
    double end;
    std::int32_t who;
  };
  static bool Later(const End& a, const End& b) {
    return a.end != b.end ? a.end > b.end : a.who > b.who;
  }

  double clock_ = 0;
  std::vector<End> ends_;  ///< A heap with the first end in front.
};

/// A queue of batches in a ring buffer.
class BatchQueue {
 public:
  /// Requires most >= 1.
  explicit BatchQueue(std::int64_t most) : ring_(static_cast<std::size_t>(most)) {}
  bool empty() const { return size_ == 0; }
  void Push(std::int64_t batch) {
    assert(size_ < ring_.size());
    const std::size_t end = first_ + size_++;
    ring_[end < ring_.size() ? end : end - ring_.size()] = batch;
  }
  std::int64_t Pop() {
    const std::int64_t batch = ring_[first_];
    if (++first_ == ring_.size()) first_ = 0;
    --size_;
    return batch;
  }

 private:
  std::vector<std::int64_t> ring_;
  std::size_t first_ = 0, size_ = 0;
};

/// Sums since the start of the simulation.
struct Totals {
  double time = 0, wait = 0, busy_cpus = 0, busy_workers = 0;
  std::int64_t steps = 0, waited = 0, ready = 0;
};

class Simulation {
 public:
  /// @param batch, step  indices of the first demands
  Simulation(std::span<const BatchDemand> batches, std::span<const StepDemand> steps,
             const LoaderSetting& setting, const Machine& machine, std::size_t batch,
             std::size_t step)
      : batches_(batches),
        steps_(steps),
        setting_(setting),
        under_way_(std::max<std::int64_t>(1, UnderWay(setting))),
        storage_parallelism_(machine.storage_parallelism),
        cpus_(machine),
        next_step_(step),
        first_batch_(batch),
        workers_(static_cast<std::size_t>(std::max(1, setting.workers))),
        to_pin_(under_way_),
        arrived_(under_way_),
        aside_(static_cast<std::size_t>(under_way_)) {
    BeginEpoch();
  }

  /// Runs until this many steps have ended since the start.
  const Totals& RunUntil(std::int64_t steps) {
    while (totals_.steps < steps) {
      if (loop_ == Loop::kAsks) Ask();
      Advance();
    }
    return totals_;
  }

 private:
  /// A worker, or the loop if there are no workers.
  struct Worker {
    std::int64_t batch = 0;       ///< The batch of the epoch that it prepares.
    std::int32_t parts = 0;       ///< Remaining parts of the batch; 0 while it waits for an index.
    double cpu = 0, blocked = 0;  ///< Nanoseconds per part.
  };
  /// Numbers of the other computing threads; workers have numbers from 0.
  static constexpr std::int32_t kPinThread = -1, kLoop = -2;
  enum class Loop : std::uint8_t { kAsks, kWaits, kUnpacks, kSteps };

  bool HasWorkers() const { return setting_.workers > 0; }

  /// Starts an epoch with idle workers and empty queues.
  void BeginEpoch() {
    taken_ = 0;
    handed_out_ = 0;
    if (!HasWorkers()) return;
    until_start_ = Ns(setting_.start_up);
    if (until_start_ == 0) HandOutFirst();
  }

  void HandOutFirst() {
    until_start_ = kNever;
    std::int64_t first = under_way_;
    if (setting_.epoch_batches > 0) first = std::min(first, setting_.epoch_batches);
    while (handed_out_ < first) HandOut();
  }

  /// Hands out the next index to the workers round-robin.
  void HandOut() {
    if (setting_.epoch_batches > 0 && handed_out_ == setting_.epoch_batches) return;
    const std::int64_t batch = handed_out_++;
    const auto worker = static_cast<std::int32_t>(batch % setting_.workers);
    if (workers_[static_cast<std::size_t>(worker)].parts == 0) Prepare(worker, batch);
  }

  void Prepare(std::int32_t number, std::int64_t batch) {
    Worker& worker = workers_[static_cast<std::size_t>(number)];
    const auto ahead = static_cast<std::size_t>(batch - taken_);
    const BatchDemand& demand = batches_[(first_batch_ + ahead) % batches_.size()];
    // A batch with only one kind of work is not divided into parts.
    const bool cut = demand.cpu.ns() > 0 && demand.blocked.ns() > 0;
    worker.batch = batch;
    worker.parts = cut ? demand.chunks : 1;
    worker.cpu = Ns(demand.cpu) / worker.parts;
    worker.blocked = Ns(demand.blocked) / worker.parts;
    ++busy_workers_;
    BeginPart(number);
  }

  /// Every part computes, even for 0 ns, so that a series of empty batches does not recurse.
  void BeginPart(std::int32_t number) {
    const Worker& worker = workers_[static_cast<std::size_t>(number)];
    if (worker.blocked > 0) {
      blocked_.Begin(number, worker.blocked);
    } else {
      computing_.Begin(number, worker.cpu);
    }
  }

  void EndComputing(std::int32_t who) {
    if (who == kLoop) {
      aside_[Slot(unpacked_)] = 1;
      TakeNext();
    } else if (who == kPinThread) {
      if (!HasWorkers()) return Take();
      Arrive(pinned_);
      pinning_ = false;
      PinNext();
    } else if (--workers_[static_cast<std::size_t>(who)].parts > 0) {
      BeginPart(who);
    } else {
      EndBatch(who);
    }
  }

  void EndBatch(std::int32_t number) {
    --busy_workers_;
    const std::int64_t batch = workers_[static_cast<std::size_t>(number)].batch;
    if (!HasWorkers()) {
      if (!setting_.pin) return Take();
      computing_.Begin(kPinThread, Ns(setting_.pin_time));
      return;
    }
    // The worker continues before the loop takes the batch, because taking it hands out a later
    // index.
    if (batch + setting_.workers < handed_out_) Prepare(number, batch + setting_.workers);
    if (setting_.pin) {
      to_pin_.Push(batch);
      PinNext();
    } else {
      Arrive(batch);
    }
  }

  void PinNext() {
    if (pinning_ || to_pin_.empty()) return;
    pinning_ = true;
    pinned_ = to_pin_.Pop();
    computing_.Begin(kPinThread, Ns(setting_.pin_time));
  }

  void Arrive(std::int64_t batch) {
    arrived_.Push(batch);
    ++ready_;
    if (loop_ != Loop::kWaits) return;
    idle_ += totals_.time - idle_since_;
    TakeNext();
  }

  void Ask() {
    asked_ = idle_since_ = totals_.time;
    idle_ = 0;
    totals_.ready += ready_;
    if (HasWorkers()) {
      TakeNext();
    } else {
      loop_ = Loop::kWaits;
      Prepare(0, taken_);
    }
  }

  /// Takes the next batch in order if it is unpacked; otherwise unpacks the earliest arrival.
  void TakeNext() {
    while (aside_[Slot(taken_)] == 0) {
      if (arrived_.empty()) {
        loop_ = Loop::kWaits;
        idle_since_ = totals_.time;
        return;
      }
      unpacked_ = arrived_.Pop();
      if (setting_.receive.ns() > 0) {
        loop_ = Loop::kUnpacks;
        computing_.Begin(kLoop, Ns(setting_.receive));
        return;
      }
      aside_[Slot(unpacked_)] = 1;
    }
    aside_[Slot(taken_)] = 0;
    --ready_;
    Take();
  }

  void Take() {
    if (!HasWorkers()) idle_ = totals_.time - asked_;
    totals_.wait += totals_.time - asked_;
    totals_.waited += idle_ >= kShortestWait ? 1 : 0;
    ++taken_;
    if (++first_batch_ == batches_.size()) first_batch_ = 0;
    if (HasWorkers()) HandOut();
    const StepDemand& step = steps_[next_step_];
    if (++next_step_ == steps_.size()) next_step_ = 0;
    step_left_ = Ns(step.wall);
    parallelism_ = step_left_ > 0 ? Ns(step.cpu) / step_left_ : 0;
    loop_ = Loop::kSteps;
  }

  void EndStep() {
    ++totals_.steps;
    loop_ = Loop::kAsks;
    step_left_ = kNever;
    parallelism_ = 0;
    if (taken_ == setting_.epoch_batches) BeginEpoch();
  }

  /// Advances to the next end of any activity.
  void Advance() {
    const double threads = static_cast<double>(computing_.size());
    if (threads != threads_ || parallelism_ != shared_by_) {
      threads_ = threads;
      shared_by_ = parallelism_;
      share_ = cpus_.Of(threads, parallelism_);
      step_speed_ = SharedCpus::StepSpeed(parallelism_, share_.speed);
    }
    const double blocked = static_cast<double>(blocked_.size());
    const double storage_speed = blocked > storage_parallelism_
                                     ? storage_parallelism_ / blocked
                                     : std::min(1.0, storage_parallelism_ / std::max(1.0, blocked));
    const double time =
        std::min({computing_.UntilEnd(share_.speed), blocked_.UntilEnd(storage_speed),
                  step_left_ / step_speed_, until_start_});
    assert(time < kNever && "the loop and the workers wait for each other");
    totals_.time += time;
    totals_.busy_cpus += time * share_.busy;
    totals_.busy_workers += time * busy_workers_;
    computing_.Advance(time * share_.speed);
    blocked_.Advance(time * storage_speed);
    step_left_ -= time * step_speed_;
    until_start_ -= time;

    while (blocked_.HasEnded()) {
      const std::int32_t number = blocked_.TakeEnded();
      computing_.Begin(number, workers_[static_cast<std::size_t>(number)].cpu);
    }
    // A batch that arrives as a step ends is ready when the loop asks.
    while (computing_.HasEnded()) EndComputing(computing_.TakeEnded());
    if (until_start_ <= kInstant) HandOutFirst();
    if (loop_ == Loop::kSteps && step_left_ <= kInstant) EndStep();
  }

  std::size_t Slot(std::int64_t batch) const {
    return static_cast<std::size_t>(batch % under_way_);
  }

  const std::span<const BatchDemand> batches_;
  const std::span<const StepDemand> steps_;
  const LoaderSetting setting_;
  const std::int64_t under_way_;
  const double storage_parallelism_;
  const SharedCpus cpus_;

  // The loop. Batches are numbered from 0 in each epoch.
  Loop loop_ = Loop::kAsks;
  std::int64_t taken_ = 0;
  std::int64_t unpacked_ = 0;  ///< Batch being unpacked.
  std::size_t next_step_;      ///< Index of the demand of the next step.
  std::size_t first_batch_;    ///< Index of the demand of the next batch to take.
  double asked_ = 0, idle_ = 0, idle_since_ = 0;
  double step_left_ = kNever;
  double parallelism_ = 0;  ///< Parallelism of the step under way.

  // The workers.
  std::vector<Worker> workers_;
  std::int64_t handed_out_ = 0;
  std::int32_t busy_workers_ = 0;
  double until_start_ = kNever;
  Activities computing_, blocked_;

  // Batches between the workers and the loop.
  BatchQueue to_pin_, arrived_;
  bool pinning_ = false;
  std::int64_t pinned_ = 0;          ///< Batch being pinned.
  std::vector<std::uint8_t> aside_;  ///< By slot: 1 if it holds an unpacked batch.
  std::int64_t ready_ = 0;           ///< Arrived batches, unpacked or not.

  // The current sharing of the CPUs, and the inputs of its computation.
  double threads_ = -1, shared_by_ = -1, step_speed_ = 1;
  SharedCpus::Share share_{};

  Totals totals_;
};

std::string_view WhatIsWrong(DurationNs duration) {
  if (duration < DurationNs(0)) return "is negative";
  return duration > kLongest ? "is more than a day" : "";
}

Status CheckDuration(std::string_view name, DurationNs duration) {
  const std::string_view wrong = WhatIsWrong(duration);
  if (wrong.empty()) return Status::Ok();
  return Status::Usage(fmt::format("{} of {} ns {}", name, duration.ns(), wrong));
}

Status CheckCount(std::string_view name, std::int64_t count, std::int64_t least,
                  std::int64_t most) {
  if (count >= least && count <= most) return Status::Ok();
  return Status::Usage(fmt::format("{} is {}; give {} to {}", name, count, least, most));
}

Status CheckDemands(std::span<const BatchDemand> batches, std::span<const StepDemand> steps) {
  if (batches.empty())
    return Status::Usage("no batch was measured; a simulation requires at least 1");
  if (steps.empty()) return Status::Usage("no step was measured; a simulation requires at least 1");
  for (std::size_t b = 0; b < batches.size(); ++b) {
    for (const auto& [name, duration] :
         {std::pair("CPU", batches[b].cpu), std::pair("blocked", batches[b].blocked)}) {
      if (WhatIsWrong(duration).empty()) continue;
      return CheckDuration(fmt::format("batch {}: {} time", b, name), duration);
    }
    if (batches[b].chunks >= 1 && batches[b].chunks <= kMaxChunks) continue;
    return CheckCount(fmt::format("batch {}: number of chunks", b), batches[b].chunks, 1,
                      kMaxChunks);
  }
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const auto& [name, duration] :
         {std::pair("wall", steps[s].wall), std::pair("CPU", steps[s].cpu)}) {
      if (WhatIsWrong(duration).empty()) continue;
      return CheckDuration(fmt::format("step {}: {} time", s, name), duration);
    }
    if (steps[s].wall.ns() == 0 && steps[s].cpu.ns() > 0)
      return Status::Usage(
          fmt::format("step {} has {} ns of CPU time but a wall time of 0", s, steps[s].cpu.ns()));
  }
  return Status::Ok();
}

Status CheckSetting(const LoaderSetting& setting) {
  for (const Status& status :
       {CheckCount("the number of workers", setting.workers, 0, kMaxWorkers),
        CheckCount("the prefetch factor", setting.prefetch, 1, kMaxPrefetched),
        CheckCount("the number of batches per epoch (0: no end)", setting.epoch_batches, 0,
                   kMaxEpochBatches),
        CheckDuration("the pin time per batch", setting.pin_time),
        CheckDuration("the unpack time per batch", setting.receive),
        CheckDuration("the start time of the workers", setting.start_up)}) {
    if (!status.ok()) return status;
  }
  return CheckCount("the number of batches prefetched by all workers", UnderWay(setting), 0,
                    kMaxPrefetched);
}

Status CheckMachine(const Machine& machine) {
  // Each comparison fails for NaN.
  if (!(machine.cores > 0 && machine.cores <= kMaxCores))
    return Status::Usage(fmt::format("the machine has {} cores; give more than 0 and at most {}",
                                     machine.cores, kMaxCores));
  if (!(machine.smt_gain >= 1 && machine.smt_gain <= 2))
    return Status::Usage(fmt::format(
        "the gain of two hardware threads per core is {}; give 1 (none) to 2 (two full cores)",
        machine.smt_gain));
  if (!(machine.storage_parallelism > 0))
    return Status::Usage(fmt::format("the storage parallelism is {}; give more than 0",
                                     machine.storage_parallelism));
  return Status::Ok();
}

Status Check(std::span<const BatchDemand> batches, std::span<const StepDemand> steps,
             const LoaderSetting& setting, const Machine& machine) {
  for (const Status& status :
       {CheckDemands(batches, steps), CheckSetting(setting), CheckMachine(machine)}) {
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// Returns the index, in a repeating series, of the element `steps` elements before the first.
std::size_t PlaceBefore(std::size_t size, std::int64_t steps) {
  const auto back = static_cast<std::size_t>(steps) % size;
  return back == 0 ? 0 : size - back;
}

/// Does the work of SimulateLoading() for valid inputs.
SimulatedRun Simulate(std::span<const BatchDemand> batches, std::span<const StepDemand> steps,
                      LoaderSetting setting, const Machine& machine, std::int64_t count) {
  SimulatedRun out;
  const std::int64_t epoch = setting.epoch_batches;
  if (epoch > 0) {
    const std::int64_t epochs = (count + epoch - 1) / epoch;
    count = epochs * epoch;
    Simulation by_epochs(batches, steps, setting, machine, 0, 0);
    out.epoch_ns = by_epochs.RunUntil(count).time / static_cast<double>(epochs);
  }
  setting.epoch_batches = 0;
  setting.start_up = DurationNs(0);
  const auto longest = static_cast<std::int64_t>(std::max(batches.size(), steps.size()));
  const std::int64_t before = UnderWay(setting) + std::min(longest, count);
  Simulation endless(batches, steps, setting, machine, PlaceBefore(batches.size(), before),
                     PlaceBefore(steps.size(), before));
  const Totals from = endless.RunUntil(before);
  const Totals& to = endless.RunUntil(before + count);
  const double time = to.time - from.time;
  const auto batches_run = static_cast<double>(count);
  out.period_ns = time / batches_run;
  out.wait_ns = (to.wait - from.wait) / batches_run;
  out.waited_share = static_cast<double>(to.waited - from.waited) / batches_run;
  out.ready = static_cast<double>(to.ready - from.ready) / batches_run;
  if (time > 0) {
    out.busy_cpus = (to.busy_cpus - from.busy_cpus) / time;
    if (setting.workers > 0)
      out.worker_use = (to.busy_workers - from.busy_workers) / time / setting.workers;
  }
  if (epoch > 0) out.epoch_edge_ns = out.epoch_ns - static_cast<double>(epoch) * out.period_ns;
  return out;
}

/// Returns the number of batches for a forecast. Uses whole passes of the longer series, and whole
/// rounds of the workers unless these require many more batches.
std::int64_t BatchesForForecast(std::int64_t longest, const LoaderSetting& setting) {
  // Maximum factor on the number of batches for whole rounds.
  constexpr std::int64_t kMaxForRounds = 4;
  const std::int64_t enough = std::max({longest, kMinForecast, kForecastFills * UnderWay(setting)});
  const auto rounded = [&](std::int64_t unit) { return (enough + unit - 1) / unit * unit; };
  const std::int64_t rounds =
      rounded(std::lcm(longest, std::max<std::int64_t>(1, setting.workers)));
  return rounds <= kMaxForRounds * enough ? rounds : rounded(longest);
}

}  // namespace

Result<SimulatedRun> SimulateLoading(std::span<const BatchDemand> batches,
                                     std::span<const StepDemand> steps,
                                     const LoaderSetting& setting, const Machine& machine,
                                     std::int64_t count) {
  for (const Status& status : {Check(batches, steps, setting, machine),
                               CheckCount("the number of batches to run", count, 1, kMaxCount)}) {
    if (!status.ok()) return status;
  }
  return Simulate(batches, steps, setting, machine, count);
}

StepDemand WithCoresOfItsOwn(StepDemand measured, const Machine& machine) {
  const double parallelism = measured.wall.ns() > 0 ? Ns(measured.cpu) / Ns(measured.wall) : 0;
  if (parallelism < 1) return measured;
  const double speed = SharedCpus(machine).Of(0, parallelism).speed;
  const auto at_full_speed = [&](DurationNs time) {
    return DurationNs(std::llround(Ns(time) * speed));
  };
  return {.wall = at_full_speed(measured.wall), .cpu = at_full_speed(measured.cpu)};
}

Result<LoadingForecast> PredictLoading(std::span<const BatchDemand> batches,
                                       std::span<const StepDemand> steps,
                                       const LoaderSetting& setting, const Machine& machine,
                                       std::uint64_t seed, int replications) {
  const std::size_t longest = std::max(batches.size(), steps.size());
  for (const Status& status :
       {Check(batches, steps, setting, machine),
        CheckCount("the number of replications", replications, 1, kMaxReplications),
        CheckCount("the number of measured batches or steps", static_cast<std::int64_t>(longest), 1,
                   kMaxCount / kForecastFills)}) {
    if (!status.ok()) return status;
  }
  const std::int64_t count = BatchesForForecast(static_cast<std::int64_t>(longest), setting);
  LoadingForecast out{.run = Simulate(batches, steps, setting, machine, count)};
  LoaderSetting endless = setting;
  endless.epoch_batches = 0;
  std::mt19937_64 random(seed);
  std::vector<double> periods;
  periods.reserve(static_cast<std::size_t>(replications));
  for (int r = 0; r < replications; ++r) {
    const std::vector<BatchDemand> other_batches = Resample(batches, batches.size(), random);
    const std::vector<StepDemand> other_steps = Resample(steps, steps.size(), random);
    periods.push_back(Simulate(other_batches, other_steps, endless, machine, count).period_ns);
  }
  std::sort(periods.begin(), periods.end());
  out.low_ns = std::min(out.run.period_ns, SortedPercentile(periods, 5));
  out.high_ns = std::max(out.run.period_ns, SortedPercentile(periods, 95));
  return out;
}

}  // namespace headroom
