#include "analysis/steps/kernel_steps.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "analysis/names/attribution.h"
#include "analysis/steps/repetition.h"

namespace headroom {
namespace {

/// Minimum number of occurrences; the smaller one applies if IsSure().
constexpr std::size_t kMinCount = 3, kMinCountOfSure = 2;

/// Returns the kernel time in ns as a weight, at most one minute. Ten times the sum over millions
/// of damaged kernels then does not overflow.
std::int64_t WeightOf(DurationNs duration) {
  constexpr std::int64_t kMinute = 60'000'000'000;
  return std::clamp<std::int64_t>(duration.ns(), 0, kMinute);
}

/// The kernels of a stream in order.
struct KernelSequence {
  std::vector<GpuTaskId> tasks;
  std::vector<std::uint32_t> symbols;
  /// Total kernel time before each kernel; the last element covers all kernels.
  std::vector<std::int64_t> weight_before;

  std::size_t size() const { return tasks.size(); }
  std::int64_t Weight(std::size_t first, std::size_t last) const {
    return weight_before[last] - weight_before[first];
  }
};

KernelSequence SequenceOf(const TraceStore& store, StreamId stream) {
  KernelSequence sequence;
  sequence.weight_before.push_back(0);
  for (const GpuTaskId task : store.TasksOf(stream)) {
    if (store.gpu_tasks.kind[task.index()] != GpuTaskKind::kKernel) continue;
    sequence.tasks.push_back(task);
    sequence.symbols.push_back(
        static_cast<std::uint32_t>(store.gpu_tasks.name[task.index()].index()));
    sequence.weight_before.push_back(sequence.weight_before.back() +
                                     WeightOf(store.gpu_tasks.duration[task.index()]));
  }
  return sequence;
}

/// Gives all products, convolutions and attention kernels one symbol per family, because libraries
/// choose a different kernel for each size.
void JoinFamilies(const TraceStore& store, NameFacts& names, KernelSequence& sequence) {
  constexpr std::uint32_t kFirstFamily = 0xFFFFFF00;
  for (std::size_t i = 0; i < sequence.size(); ++i) {
    const WorkFamily family = names.Kernel(store.gpu_tasks.name[sequence.tasks[i].index()]).family;
    if (family == WorkFamily::kMatmul || family == WorkFamily::kConvolution ||
        family == WorkFamily::kAttention)
      sequence.symbols[i] = kFirstFamily + static_cast<std::uint32_t>(family);
  }
}

/// A unit and its occurrences.
struct Unit {
  std::size_t first = 0, period = 0;
  std::vector<Occurrence> occurrences;
  std::size_t exact = 0;
  std::int64_t covered = 0;  ///< Weight of all occurrences.
  double score = 0;          ///< `covered`, but inexact occurrences count half.
  /// Evaluations run between some occurrences, and may take most of the time.
  bool among_evaluations = false;
};

Unit UnitAt(const KernelSequence& sequence, std::size_t first, std::size_t period) {
  Unit unit;
  unit.first = first;
  unit.period = period;
  unit.occurrences = FindOccurrences(sequence.symbols, first, period);
  for (const Occurrence& found : unit.occurrences) {
    const std::int64_t weight = sequence.Weight(found.first, found.last);
    unit.covered += weight;
    unit.score += static_cast<double>(weight) * (found.exact ? 1 : 0.5);
    if (found.exact) ++unit.exact;
  }
  return unit;
}

/// Evidence that a repetition is a step or a layer.
class Evidence {
 public:
  Evidence(const TraceStore& store, NameFacts& names, const KernelSequence& sequence)
      : store_(store), names_(names), sequence_(sequence) {}

  bool IsOptimizer(std::size_t kernel) {
    return names_.Kernel(store_.gpu_tasks.name[sequence_.tasks[kernel].index()]).family ==
           WorkFamily::kOptimizer;
  }
  bool HoldsOptimizer(const Unit& unit) {
    for (std::size_t i = unit.first; i < unit.first + unit.period; ++i) {
      if (IsOptimizer(i)) return true;
    }
    return false;
  }

  /// Returns true if the unit contains optimizer kernels and at least a tenth of other work. The
  /// optimizer's kernels alone also repeat.
  bool HoldsUpdate(const Unit& unit) {
    constexpr std::int64_t kPartOfUpdates = 10;
    const std::size_t last = unit.first + unit.period;
    std::int64_t other = 0;
    for (std::size_t i = unit.first; i < last; ++i)
      other += IsOptimizer(i) ? 0 : sequence_.Weight(i, i + 1);
    return HoldsOptimizer(unit) && other * kPartOfUpdates >= sequence_.Weight(unit.first, last);
  }

  /// Returns true if `outer` without the training steps `inner` looks like evaluation. Evaluation
  /// updates no weights and spends most of its time in kernels of training. Its largest copy to the
  /// device, if any, has at least half the size of training's. Rejects reinforcement-learning
  /// rollouts, which copy single observations.
  bool OthersEvaluate(const Unit& outer, const Unit& inner) {
    constexpr double kMostly = 0.7;
    constexpr std::int64_t kSmaller = 2;
    // The recording may cut the step at the start of the first occurrence.
    const auto whole = std::find_if(outer.occurrences.begin() + 1, outer.occurrences.end(),
                                    [](const Occurrence& found) { return found.exact; });
    if (whole == outer.occurrences.end()) return false;
    const auto [begin, end, exact] = *whole;
    const std::unordered_set<std::uint32_t> own(
        sequence_.symbols.begin() + static_cast<std::ptrdiff_t>(inner.first),
        sequence_.symbols.begin() + static_cast<std::ptrdiff_t>(inner.first + inner.period));
    std::int64_t others = 0, known = 0;
    std::vector<Interval> training;
    std::size_t kernel = begin;
    const auto pass_others = [&](std::size_t until) {
      for (; kernel < until; ++kernel) {
        if (IsOptimizer(kernel)) return false;
        const std::int64_t weight = sequence_.Weight(kernel, kernel + 1);
        others += weight;
        known += own.contains(sequence_.symbols[kernel]) ? weight : 0;
      }
      return true;
    };
    for (const Occurrence& found : inner.occurrences) {
      if (found.last <= begin || found.first >= end) continue;
      if (!pass_others(found.first)) return false;
      kernel = found.last;
      training.push_back({BatchFrom(found.first), StartOf(found.last - 1)});
    }
    if (training.size() < kMinCountOfSure || !pass_others(end)) return false;
    if (static_cast<double>(known) < kMostly * static_cast<double>(others)) return false;

    const Interval all = {BatchFrom(begin), StartOf(end - 1)};
    std::int64_t largest_of_others = -1, largest_of_training = -1;  // In bytes; -1: no copy.
    const std::vector<TimeNs>& times = CopiesIntoDevice();
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i] < all.start || times[i] >= all.end) continue;
      const auto after = std::partition_point(training.begin(), training.end(),
                                              [&](Interval in) { return in.end <= times[i]; });
      const bool of_training = after != training.end() && after->start <= times[i];
      std::int64_t& largest = of_training ? largest_of_training : largest_of_others;
      largest = std::max({largest, store_.gpu_tasks.bytes[copy_tasks_[i].index()], INT64_C(0)});
    }
    if (largest_of_training < 0) return false;
    return largest_of_others < 0 || largest_of_others >= largest_of_training / kSmaller;
  }

  bool DeviceRunsOptimizer() {
    const auto& tasks = store_.gpu_tasks;
    const DeviceId device = store_.DeviceOf(sequence_.tasks.front());
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      if (tasks.kind[i] == GpuTaskKind::kKernel &&
          names_.Kernel(tasks.name[i]).family == WorkFamily::kOptimizer &&
          store_.DeviceOf(GpuTaskId(i)) == device)
        return true;
    }
    return false;
  }

  /// Returns true if almost every occurrence copies data (a batch) from the host.
  bool CopiesIn(const Unit& unit) {
    return MostHold(unit, CopiesIntoDevice(), [&](std::size_t kernel) { return StartOf(kernel); });
  }

  /// Returns the start times of copies from the host to the sequence's device.
  const std::vector<TimeNs>& CopiesIntoDevice() {
    if (copies_) return *copies_;
    copies_.emplace();
    copy_tasks_.clear();
    const auto& tasks = store_.gpu_tasks;
    const DeviceId device = store_.DeviceOf(sequence_.tasks.front());
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      if (tasks.copy[i] == CopyKind::kHostToDevice && store_.DeviceOf(GpuTaskId(i)) == device) {
        copies_->push_back(tasks.start[i]);
        copy_tasks_.emplace_back(i);
      }
    }
    return *copies_;
  }

  /// Returns the first task of a step whose first kernel is `kernel`. This is the copy of the
  /// step's batch, if the copy runs after the previous kernel and its launch is closer in time to
  /// the launch of `kernel` than to that of the previous kernel. Otherwise it is the kernel.
  GpuTaskId BeginOf(std::size_t kernel, bool copies_in) {
    const GpuTaskId task = sequence_.tasks[kernel];
    if (!copies_in) return task;
    const std::vector<TimeNs>& copies = CopiesIntoDevice();
    const auto first = std::lower_bound(copies.begin(), copies.end(), BatchFrom(kernel));
    if (first == copies.end() || *first >= StartOf(kernel)) return task;
    const GpuTaskId copy = copy_tasks_[static_cast<std::size_t>(first - copies.begin())];
    if (kernel == 0) return copy;
    // A copy launched with the previous kernels belongs to the previous step. Example: a scalar of
    // that step's update.
    const HostEventId launches[] = {LaunchOf(kernel - 1), store_.gpu_tasks.launch[copy.index()],
                                    LaunchOf(kernel)};
    if (!std::all_of(std::begin(launches), std::end(launches),
                     [](HostEventId launch) { return launch.valid(); }))
      return copy;
    const auto at = [&](HostEventId launch) { return store_.host_events.start[launch.index()]; };
    return at(launches[2]) - at(launches[1]) < at(launches[1]) - at(launches[0]) ? copy : task;
  }

  /// Returns the end of the previous kernel. Copies that start at this time or later belong to this
  /// kernel.
  TimeNs BatchFrom(std::size_t kernel) const {
    return kernel > 0 ? store_.TaskEnd(sequence_.tasks[kernel - 1]) : TimeNs(INT64_MIN);
  }

  TimeNs StartOf(std::size_t kernel) const {
    return store_.gpu_tasks.start[sequence_.tasks[kernel].index()];
  }
  /// Returns the gap between the previous kernel and this one. Requires that this is not the first.
  DurationNs GapBefore(std::size_t kernel) const {
    return StartOf(kernel) - store_.TaskEnd(sequence_.tasks[kernel - 1]);
  }

  /// Returns true if the host waits for the GPU in almost every occurrence.
  bool Waits(const Unit& unit) {
    if (!waits_) {
      waits_.emplace();
      const auto& events = store_.host_events;
      const ProcessId process = ProcessOfLaunches();
      for (std::size_t row = 0; process.valid() && row < events.rows(); ++row) {
        if (events.kind[row] != HostEventKind::kRuntimeCall &&
            events.kind[row] != HostEventKind::kDriverCall)
          continue;
        if (store_.threads.process[events.thread[row].index()] != process) continue;
        const HostRoles roles = names_.Roles(events.name[row]);
        if (roles.Has(HostRole::kSync) || roles.Has(HostRole::kDeviceSync))
          waits_->push_back(events.start[row]);
      }
      std::sort(waits_->begin(), waits_->end());
    }
    return MostHold(unit, *waits_, [&](std::size_t kernel) {
      const HostEventId launch = LaunchOf(kernel);
      return launch.valid() ? store_.host_events.start[launch.index()] : TimeNs(INT64_MIN);
    });
  }

  /// Returns true if most of the unit repeats: a step has layers, but a layer does not.
  bool HoldsRepetition(const Unit& unit) const {
    constexpr std::size_t kMin = 3;  // Minimum number of kernels of a layer.
    const std::int64_t half = sequence_.Weight(unit.first, unit.first + unit.period) / 2;
    const std::span<const std::uint32_t> symbols(sequence_.symbols);
    const std::span<const std::int64_t> weight(sequence_.weight_before);
    for (const Repetition& inner :
         FindRepetitions(symbols.subspan(unit.first, unit.period),
                         weight.subspan(unit.first, unit.period + 1), kMinCount)) {
      if (inner.period >= kMin && inner.weight > half) return true;
    }
    return false;
  }

  /// Work of the device before the first occurrence or after the last one.
  struct Side {
    bool foreign = false;   ///< Contains kernels that no occurrence has, or copies from the host.
    bool of_model = false;  ///< Some of these kernels compute for a model: an embedding, a head.
    DurationNs time;        ///< Total time of the kernels on this side.
  };

  /// Returns the work before and after the occurrences: work that a pass does once, outside its
  /// layers. Ignores work beyond a long pause after the last occurrence.
  std::pair<Side, Side> SidesOf(const Unit& unit) {
    constexpr std::int64_t kUnitsOfALongPause = 5;
    constexpr DurationNs kLongPause(10'000'000);
    const auto& tasks = store_.gpu_tasks;
    const DeviceId device = store_.DeviceOf(sequence_.tasks.front());
    const Interval held = {StartOf(unit.occurrences.front().first),
                           store_.TaskEnd(sequence_.tasks[unit.occurrences.back().last - 1])};
    const auto of_device = [&](std::size_t task) {
      return tasks.kind[task] == GpuTaskKind::kKernel && store_.DeviceOf(GpuTaskId(task)) == device;
    };
    std::unordered_set<StringId> own;
    std::size_t first = 0;
    while (first < tasks.rows() && tasks.start[first] < held.start) ++first;
    std::size_t task = first;
    for (; task < tasks.rows() && tasks.start[task] < held.end; ++task) {
      if (of_device(task)) own.insert(tasks.name[task]);
    }
    const auto add = [&](Side& side, std::size_t i) {
      if (!of_device(i)) return;
      side.time += DurationNs(WeightOf(tasks.duration[i]));
      if (own.contains(tasks.name[i])) return;
      side.foreign = true;
      const WorkFamily family = names_.Kernel(tasks.name[i]).family;
      side.of_model =
          side.of_model || MultipliesMatrices(family) || family == WorkFamily::kIndexing;
    };
    const DurationNs longest =
        std::max(kLongPause, DurationNs(held.length().ns() /
                                        static_cast<std::int64_t>(unit.occurrences.size()) *
                                        kUnitsOfALongPause));
    Side before, after;
    const std::vector<TimeNs>& copies = CopiesIntoDevice();
    before.foreign = !copies.empty() && copies.front() < held.start;
    for (std::size_t i = 0; i < first; ++i) add(before, i);
    TimeNs busy_until = held.end;
    for (; task < tasks.rows() && tasks.start[task] - busy_until <= longest; ++task) {
      add(after, task);
      busy_until = std::max(busy_until, store_.TaskEnd(GpuTaskId(task)));
    }
    return {before, after};
  }

  /// Returns true if all occurrences were launched inside one call of a module.
  bool IsInsideOneModule(const Unit& unit) {
    HostEventId around = LaunchOf(unit.occurrences.front().first);
    const HostEventId last = LaunchOf(unit.occurrences.back().first);
    if (!around.valid() || !last.valid()) return false;
    const auto& events = store_.host_events;
    if (events.thread[around.index()] != events.thread[last.index()]) return false;
    const TimeNs until = events.start[last.index()];
    for (; around.valid(); around = events.parent[around.index()]) {
      if (store_.HostEnd(around) > until &&
          names_.Roles(events.name[around.index()]).Has(HostRole::kModuleFrame))
        return true;
    }
    return false;
  }

  bool IsGraph(std::size_t kernel) {
    const HostEventId launch = LaunchOf(kernel);
    return launch.valid() &&
           names_.Roles(store_.host_events.name[launch.index()]).Has(HostRole::kGraphLaunch);
  }

  HostEventId LaunchOf(std::size_t kernel) const {
    return store_.gpu_tasks.launch[sequence_.tasks[kernel].index()];
  }

  ProcessId ProcessOfLaunches() const {
    for (std::size_t i = 0; i < sequence_.size(); ++i) {
      if (const HostEventId launch = LaunchOf(i); launch.valid())
        return store_.threads.process[store_.host_events.thread[launch.index()].index()];
    }
    return {};
  }

 private:
  /// Returns true if at least 80 % of the spans from one occurrence to the next contain one of the
  /// sorted times.
  template <typename TimeOf>
  static bool MostHold(const Unit& unit, const std::vector<TimeNs>& times, TimeOf time_of) {
    std::size_t holding = 0;
    for (std::size_t i = 0; i + 1 < unit.occurrences.size(); ++i) {
      const TimeNs from = time_of(unit.occurrences[i].first);
      const TimeNs to = time_of(unit.occurrences[i + 1].first);
      const auto next = std::lower_bound(times.begin(), times.end(), from);
      if (next != times.end() && *next < to) ++holding;
    }
    return holding * 5 >= (unit.occurrences.size() - 1) * 4;
  }

  const TraceStore& store_;
  NameFacts& names_;
  const KernelSequence& sequence_;
  std::optional<std::vector<TimeNs>> copies_, waits_;  ///< Start times, computed on first use.
  std::vector<GpuTaskId> copy_tasks_;                  ///< Tasks of copies_.
};

/// Returns true if two exact occurrences cover nearly all kernel time and each contains an
/// optimizer or layers.
bool IsSure(const KernelSequence& sequence, const Unit& unit, Evidence& evidence) {
  constexpr std::int64_t kNearlyAllPct = 80;
  return unit.exact == kMinCountOfSure &&
         unit.covered / kNearlyAllPct >= sequence.weight_before.back() / 100 &&
         (evidence.HoldsOptimizer(unit) || evidence.HoldsRepetition(unit));
}

/// Returns true if more than `share` of the occurrences directly follow the previous one. If two
/// networks are trained alternately and end with the same kernels, other work runs between their
/// occurrences.
bool FollowEachOther(const Unit& unit, double share) {
  const std::vector<Occurrence>& found = unit.occurrences;
  std::size_t followed = 0;
  for (std::size_t i = 0; i + 1 < found.size(); ++i)
    followed += found[i].last == found[i + 1].first ? 1 : 0;
  return static_cast<double>(followed) > share * static_cast<double>(found.size() - 1);
}

/// Returns the position in the unit at which a step begins. The first rule that applies decides:
/// * after the optimizer
/// * at a copy from the host
/// * at the start of a graph replay
/// * at the start of the repetition, if something else ran before
/// * after the longest gap
std::size_t PhaseOf(const Unit& unit, Evidence& evidence) {
  const std::size_t period = unit.period;
  // With an optimizer, the step begins with the longest run of other kernels.
  std::size_t best = 0, longest = 0, run = 0;
  bool optimizer = false;
  for (std::size_t i = 0; i < 2 * period; ++i) {
    if (evidence.IsOptimizer(unit.first + i % period)) {
      optimizer = true;
      run = 0;
    } else if (++run > longest && run <= period) {
      longest = run;
      best = (i + 1 - run) % period;
    }
  }
  if (optimizer) return best;

  std::vector<std::size_t> copied(period), launched(period);
  bool all_of_graphs = true;
  std::vector<std::vector<DurationNs>> gaps(period);
  const std::vector<TimeNs>& copies = evidence.CopiesIntoDevice();
  std::size_t exact = 0;
  for (const Occurrence& found : unit.occurrences) {
    if (!found.exact) continue;
    ++exact;
    for (std::size_t i = 0; i < period; ++i) {
      const std::size_t kernel = found.first + i;
      all_of_graphs = all_of_graphs && evidence.IsGraph(kernel);
      if (kernel == 0 || evidence.LaunchOf(kernel) != evidence.LaunchOf(kernel - 1)) ++launched[i];
      if (kernel == 0) continue;
      gaps[i].push_back(evidence.GapBefore(kernel));
      const auto copy =
          std::lower_bound(copies.begin(), copies.end(), evidence.StartOf(kernel - 1));
      if (copy != copies.end() && *copy < evidence.StartOf(kernel)) ++copied[i];
    }
  }
  const auto most = std::max_element(copied.begin(), copied.end());
  if (*most * 5 >= exact * 4 && *most > 0) return static_cast<std::size_t>(most - copied.begin());
  // Each step is the replay of one graph.
  const auto begins = [](std::size_t count) { return count > 0; };
  if (all_of_graphs && std::ranges::count_if(launched, begins) == 1)
    return static_cast<std::size_t>(std::ranges::find_if(launched, begins) - launched.begin());
  if (unit.occurrences.front().first > 0 && evidence.SidesOf(unit).first.foreign) return 0;
  std::size_t widest = 0;
  DurationNs gap(INT64_MIN);
  for (std::size_t i = 0; i < period; ++i) {
    if (gaps[i].empty()) continue;
    const auto middle = gaps[i].begin() + static_cast<std::ptrdiff_t>(gaps[i].size() / 2);
    std::nth_element(gaps[i].begin(), middle, gaps[i].end());
    if (*middle > gap) {
      gap = *middle;
      widest = i;
    }
  }
  return widest;
}

/// Returns the unit, moved to begin where a step does.
Unit MoveToBegin(const KernelSequence& sequence, Unit unit, Evidence& evidence) {
  const std::size_t phase = PhaseOf(unit, evidence);
  if (phase == 0) return unit;
  const std::size_t first = unit.first + phase;
  const std::size_t begin = first + unit.period <= sequence.size() ? first : first - unit.period;
  Unit moved = UnitAt(sequence, begin, unit.period);
  moved.among_evaluations = unit.among_evaluations;
  return moved.occurrences.size() >= kMinCount ? moved : unit;
}

/// Returns the training step of a unit that contains at least three of them and an evaluation.
/// Otherwise an evaluation every few steps would turn those steps into one.
std::optional<Unit> StepAmongEvaluations(const KernelSequence& sequence, const Unit& unit,
                                         Evidence& evidence) {
  // A step runs from the end of one update to the end of the next. Foreign kernels may split an
  // update. The unit may begin in the middle of a step, so the search covers two units.
  constexpr std::size_t kMaxPartsOfUpdate = 64, kMaxTries = 8;
  const std::size_t end = std::min(unit.first + 2 * unit.period, sequence.size());
  std::vector<std::size_t> ends;
  for (std::size_t i = unit.first; i + 1 < end; ++i) {
    if (evidence.IsOptimizer(i) && !evidence.IsOptimizer(i + 1)) ends.push_back(i + 1);
  }
  std::size_t tries = 0;
  for (std::size_t i = 0; i < ends.size() && tries < kMaxTries; ++i) {
    for (std::size_t k = i + 1; k < std::min(ends.size(), i + 1 + kMaxPartsOfUpdate); ++k) {
      const std::size_t period = ends[k] - ends[i];
      const auto first = sequence.symbols.begin() + static_cast<std::ptrdiff_t>(ends[i]);
      const auto last = first + static_cast<std::ptrdiff_t>(period);
      if (period >= unit.period || ends[k] + period > end || !std::equal(first, last, last))
        continue;
      Unit inner;
      inner.first = ends[i];
      inner.period = period;
      if (!evidence.HoldsUpdate(inner)) continue;
      ++tries;
      inner = MoveToBegin(sequence, UnitAt(sequence, ends[i], period), evidence);
      if (!FollowEachOther(inner, 0.5) || !evidence.OthersEvaluate(unit, inner)) break;
      inner.among_evaluations = true;
      return inner;
    }
  }
  return std::nullopt;
}

/// Returns the unit that is a step, if any repeats. It is the heaviest repetition, among those with
/// an update if there are any. A repetition inside that one takes precedence if it has more
/// evidence of a step.
std::optional<Unit> ChooseUnit(const KernelSequence& sequence, Evidence& evidence) {
  std::vector<Unit> units;
  for (const Repetition& found :
       FindRepetitions(sequence.symbols, sequence.weight_before, kMinCountOfSure)) {
    // A repeated single kernel is not an iteration; a repeated graph may be.
    if (found.period == 1 && !evidence.IsGraph(found.first)) continue;
    Unit unit = UnitAt(sequence, found.first, found.period);
    if (unit.occurrences.size() >= kMinCount || IsSure(sequence, unit, evidence))
      units.push_back(std::move(unit));
  }
  if (units.empty()) return std::nullopt;
  const auto scores_less = [](const Unit& a, const Unit& b) {
    return std::pair(a.score, b.period) < std::pair(b.score, a.period);
  };
  const double most = std::max_element(units.begin(), units.end(), scores_less)->score;
  // Layers, micro-batches and evaluation may take more time than the updates, but train nothing.
  const auto is_of_training = [&](const Unit& unit) {
    return unit.score >= most / 2 && evidence.HoldsUpdate(unit);
  };
  if (std::any_of(units.begin(), units.end(), is_of_training))
    std::erase_if(units, [&](const Unit& unit) { return !is_of_training(unit); });
  auto best = std::max_element(units.begin(), units.end(), scores_less);
  const bool optimizer = evidence.HoldsOptimizer(*best);
  // Other passes (a prefill) also have layers, so layers may outweigh the passes that repeat.
  if (!optimizer && !evidence.CopiesIn(*best) && !evidence.Waits(*best)) {
    const double half = best->score / 2;
    const std::size_t twice = 2 * best->period;
    for (auto outer = units.begin(); outer != units.end(); ++outer) {
      const bool holds_best = outer->period >= twice && outer->score >= half;
      if (holds_best && (best->period < twice || scores_less(*best, *outer))) best = outer;
    }
  }
  const Unit* chosen = &*best;
  for (const Unit& inner : units) {
    if (inner.period * 2 > best->period || inner.score < best->score / 2) continue;
    const bool is_step = optimizer
                             ? evidence.HoldsOptimizer(inner) && FollowEachOther(inner, 2.0 / 3)
                             : evidence.CopiesIn(inner) || evidence.Waits(inner);
    if (is_step && (chosen == &*best || inner.period > chosen->period)) chosen = &inner;
  }
  if (optimizer) {
    if (std::optional<Unit> step = StepAmongEvaluations(sequence, *chosen, evidence)) return step;
  }
  return *chosen;
}

/// Returns true if the unit contains work that runs once per step and never once per layer.
bool LooksLikeAStep(const Unit& unit, Evidence& evidence) {
  return evidence.HoldsOptimizer(unit) || evidence.CopiesIn(unit) || evidence.Waits(unit) ||
         evidence.HoldsRepetition(unit);
}

/// Returns true if the unit looks like a layer of one pass, or like a micro-batch. A micro-batch
/// has no optimizer although the device runs one.
bool IsLayer(const Unit& unit, Evidence& evidence) {
  if (evidence.HoldsOptimizer(unit)) return false;
  if (evidence.DeviceRunsOptimizer() || evidence.IsInsideOneModule(unit)) return true;
  if (LooksLikeAStep(unit, evidence)) return false;
  const auto [before, after] = evidence.SidesOf(unit);
  if (before.foreign && after.foreign) return true;
  // Other work on one side suffices: the pass may have no head, or the recording may cut it. A loop
  // may also have a warm-up before it or a check after it, but these run no model kernels, or many.
  constexpr std::int64_t kMaxUnits = 3;
  const DurationNs of_unit(unit.covered / static_cast<std::int64_t>(unit.occurrences.size()));
  const auto is_once = [&](const Evidence::Side& side) {
    return side.of_model && side.time.ns() <= kMaxUnits * of_unit.ns();
  };
  return is_once(before) || is_once(after);
}

/// Returns the number of consecutive units that form one pass, for units that look like layers with
/// no other work around them. Longer pauses at equal intervals separate the passes. Without these,
/// a first pass that is slower as a whole shows the length of a pass. Returns 1 if unknown.
std::size_t UnitsOfAPass(const KernelSequence& sequence, const Unit& unit,
                         const Evidence& evidence) {
  const std::size_t count = unit.occurrences.size();
  std::vector<DurationNs> pauses;
  std::vector<std::int64_t> weights;
  for (std::size_t i = 0; i < count; ++i) {
    const Occurrence& found = unit.occurrences[i];
    if (i > 0) pauses.push_back(evidence.GapBefore(found.first));
    weights.push_back(sequence.Weight(found.first, found.last));
  }
  std::vector<DurationNs> sorted = pauses;
  std::sort(sorted.begin(), sorted.end());
  constexpr DurationNs kPause(2000);
  const DurationNs usual = std::max(sorted[sorted.size() / 2], DurationNs(0));
  std::vector<std::size_t> after;  // Number of units that run before a longer pause.
  for (std::size_t i = 0; i < pauses.size(); ++i) {
    if (pauses[i] > usual + usual + usual + kPause) after.push_back(i + 1);
  }
  if (after.size() >= kMinCount - 1) {
    const std::size_t every = after[1] - after[0];
    bool even = every > 1;
    for (std::size_t i = 1; i < after.size(); ++i) even = even && after[i] - after[i - 1] == every;
    if (even && after.front() <= every && count - after.back() <= every) return every;
  }

  constexpr double kSlower = 1.01, kEqual = 0.005;
  for (std::size_t pass = 2; pass * kMinCount <= count; ++pass) {
    if (count % pass != 0) continue;
    const auto bounds = [](auto begin, auto end) { return std::minmax_element(begin, end); };
    const auto split = weights.begin() + static_cast<std::ptrdiff_t>(pass);
    const auto first = bounds(weights.begin(), split), rest = bounds(split, weights.end());
    const auto even = [](const auto& of) {
      return static_cast<double>(*of.second - *of.first) < kEqual * static_cast<double>(*of.first);
    };
    if (even(first) && even(rest) &&
        static_cast<double>(*first.first) > kSlower * static_cast<double>(*rest.second))
      return pass;
  }
  return 1;
}

/// Joins `pass` consecutive units into one.
Unit JoinUnits(const Unit& unit, std::size_t pass) {
  Unit joined = unit;
  joined.period *= pass;
  joined.occurrences.clear();
  joined.exact = 0;
  const std::size_t first = unit.occurrences.size() % pass;
  for (std::size_t i = first; i + pass <= unit.occurrences.size(); i += pass) {
    Occurrence pass_found = {unit.occurrences[i].first, unit.occurrences[i + pass - 1].last, true};
    for (std::size_t k = i; k < i + pass; ++k)
      pass_found.exact = pass_found.exact && unit.occurrences[k].exact;
    if (pass_found.exact) ++joined.exact;
    joined.occurrences.push_back(pass_found);
  }
  return joined;
}

/// Returns the spans from one time to the next. If `last_is_open`, the last span lasts at least the
/// median length, because no later work on this stream shows where it ends.
std::vector<Interval> SpansBetween(const std::vector<std::pair<TimeNs, TimeNs>>& bounds,
                                   bool last_is_open) {
  std::vector<Interval> spans;
  std::vector<DurationNs> lengths;
  for (const auto& [start, end] : bounds) {
    spans.push_back({start, end});
    lengths.push_back(end - start);
  }
  if (spans.size() < 2 || !last_is_open) return spans;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>((lengths.size() - 1) / 2);
  std::nth_element(lengths.begin(), middle, lengths.end() - 1);
  spans.back().end = std::max(spans.back().end, spans.back().start + *middle);
  return spans;
}

/// Returns the occurrences as spans of the host's time. Returns nullopt if a launch is unknown or
/// one launch contains several steps.
std::optional<std::vector<Interval>> HostSpans(const TraceStore& store,
                                               const KernelSequence& sequence, const Unit& unit,
                                               Evidence& evidence) {
  std::vector<std::pair<TimeNs, TimeNs>> bounds;
  bool last_is_open = false;
  const bool copies_in = evidence.CopiesIn(unit);
  const auto begin_of = [&](std::size_t kernel) {
    const HostEventId copy = store.gpu_tasks.launch[evidence.BeginOf(kernel, copies_in).index()];
    return copy.valid() ? copy : evidence.LaunchOf(kernel);
  };
  for (const Occurrence& found : unit.occurrences) {
    const HostEventId first = begin_of(found.first);
    if (!first.valid()) {
      if (bounds.empty()) continue;  // Launched before recording began.
      return std::nullopt;
    }
    const HostEventId next = found.last < sequence.size() ? begin_of(found.last) : HostEventId();
    const HostEventId last = evidence.LaunchOf(found.last - 1);
    if (!next.valid() && !last.valid()) return std::nullopt;
    last_is_open = !next.valid();
    const Interval span = {
        store.host_events.start[first.index()],
        next.valid() ? store.host_events.start[next.index()] : store.HostEnd(last)};
    if (span.end <= span.start || (!bounds.empty() && span.start < bounds.back().second))
      return std::nullopt;
    bounds.emplace_back(span.start, span.end);
  }
  return SpansBetween(bounds, last_is_open);
}

std::vector<Interval> GpuSpans(const TraceStore& store, const KernelSequence& sequence,
                               const Unit& unit, Evidence& evidence) {
  std::vector<std::pair<TimeNs, TimeNs>> bounds;
  const bool copies_in = evidence.CopiesIn(unit);
  const auto begin_of = [&](std::size_t kernel) {
    return store.gpu_tasks.start[evidence.BeginOf(kernel, copies_in).index()];
  };
  for (const Occurrence& found : unit.occurrences) {
    const TimeNs end = found.last < sequence.size() ? begin_of(found.last)
                                                    : store.TaskEnd(sequence.tasks[found.last - 1]);
    const TimeNs start = begin_of(found.first);
    if (end > start) bounds.emplace_back(start, end);
  }
  return SpansBetween(bounds, unit.occurrences.back().last == sequence.size());
}

/// Returns the occurrences of a unit as steps; empty if they are too few or cover too little.
KernelSteps StepsOf(const TraceStore& store, const KernelSequence& sequence, const Unit& unit,
                    Evidence& evidence) {
  /// Units that cover a smaller share of the stream's time do not represent the job. A unit of few
  /// kernels must cover nearly all of that time, and repeat more often.
  constexpr double kMinCovered = 1.0 / 3, kMinCoveredOfFew = 0.8;
  constexpr std::size_t kFewKernels = 5, kMinCountOfFew = 5;
  /// Minimum share of the time from the first to the last occurrence that the occurrences cover.
  /// Steps follow each other, while other work runs between the layers of several passes. An
  /// evaluation may run between updates.
  constexpr double kMinInARow = 0.75;
  const bool holds_update = evidence.HoldsUpdate(unit);
  KernelSteps steps;
  const std::int64_t extent =
      sequence.Weight(unit.occurrences.front().first, unit.occurrences.back().last);
  if (!holds_update && static_cast<double>(unit.covered) < kMinInARow * static_cast<double>(extent))
    return steps;
  const std::int64_t total = sequence.weight_before.back();
  steps.covered = total > 0 ? static_cast<double>(unit.covered) / static_cast<double>(total) : 0;
  const bool few = unit.period < kFewKernels;
  if (steps.covered < (few ? kMinCoveredOfFew : kMinCovered) && !unit.among_evaluations)
    return steps;
  if (few && unit.occurrences.size() < kMinCountOfFew) return steps;
  steps.has_update = holds_update;
  steps.kernels = unit.period;
  steps.exact = unit.exact;
  steps.process = evidence.ProcessOfLaunches();
  std::optional<std::vector<Interval>> on_host =
      steps.process.valid() ? HostSpans(store, sequence, unit, evidence) : std::nullopt;
  steps.on_gpu = !on_host;
  steps.spans = on_host ? *std::move(on_host) : GpuSpans(store, sequence, unit, evidence);
  if (steps.spans.size() < kMinCountOfSure) steps.spans.clear();
  return steps;
}

KernelSteps SearchSequence(const TraceStore& store, NameFacts& names,
                           const KernelSequence& sequence, std::size_t min_period) {
  Evidence evidence(store, names, sequence);
  std::optional<Unit> unit = ChooseUnit(sequence, evidence);
  if (!unit || unit->period < min_period) return {};
  if (IsLayer(*unit, evidence)) {
    KernelSteps none;
    none.layers = unit->occurrences.size();
    return none;
  }
  if (!LooksLikeAStep(*unit, evidence)) {
    if (const std::size_t pass = UnitsOfAPass(sequence, *unit, evidence); pass > 1) {
      KernelSteps steps = StepsOf(store, sequence, JoinUnits(*unit, pass), evidence);
      steps.by_times = true;
      return steps;
    }
  }
  unit = MoveToBegin(sequence, *std::move(unit), evidence);
  return StepsOf(store, sequence, *unit, evidence);
}

/// Returns the streams to search: those with at least 10 % of the kernel time and nearly the
/// maximum number of different kernels. The loop's stream runs all work of a step; other streams
/// only run part of it.
std::vector<StreamId> StreamsToSearch(const TraceStore& store, NameFacts& names) {
  constexpr std::size_t kMaxStreams = 3;
  constexpr std::int64_t kPartOfAll = 10;
  struct Candidate {
    StreamId stream;
    std::int64_t weight = 0;
    std::size_t names = 0;
  };
  std::vector<Candidate> streams;
  std::int64_t all = 0;
  std::vector<std::size_t> seen_on(store.strings.size());  // By name: its last stream, from 1.
  for (std::size_t s = 0; s < store.streams.rows(); ++s) {
    Candidate candidate = {.stream = StreamId(s)};
    for (const GpuTaskId task : store.TasksOf(StreamId(s))) {
      const std::size_t row = task.index();
      if (store.gpu_tasks.kind[row] != GpuTaskKind::kKernel ||
          names.IsCommunication(store.gpu_tasks.name[row]))
        continue;
      candidate.weight += WeightOf(store.gpu_tasks.duration[row]);
      std::size_t& seen = seen_on[store.gpu_tasks.name[row].index()];
      if (seen != s + 1) ++candidate.names;
      seen = s + 1;
    }
    all += candidate.weight;
    streams.push_back(candidate);
  }
  std::erase_if(streams, [&](const Candidate& candidate) {
    return candidate.names == 0 || candidate.weight * kPartOfAll < all;
  });
  std::stable_sort(streams.begin(), streams.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.names, a.weight) > std::pair(b.names, b.weight);
  });
  std::vector<StreamId> chosen;
  for (const Candidate& candidate : streams) {
    if (chosen.size() < kMaxStreams && candidate.names * 2 >= streams.front().names)
      chosen.push_back(candidate.stream);
  }
  return chosen;
}

}  // namespace

KernelSteps FindKernelSteps(const TraceStore& store, NameFacts& names) {
  constexpr std::size_t kMinOfFamilies = 6;  // Shorter units may repeat by coincidence.
  KernelSteps layers;
  for (const StreamId stream : StreamsToSearch(store, names)) {
    KernelSequence sequence = SequenceOf(store, stream);
    KernelSteps steps = SearchSequence(store, names, sequence, 1);
    if (!steps.spans.empty()) return steps;
    layers.layers = std::max(layers.layers, steps.layers);
    if (layers.layers > 0) continue;
    JoinFamilies(store, names, sequence);
    steps = SearchSequence(store, names, sequence, kMinOfFamilies);
    steps.of_families = true;
    if (!steps.spans.empty()) return steps;
    layers.layers = std::max(layers.layers, steps.layers);
  }
  return layers;
}

}  // namespace headroom
