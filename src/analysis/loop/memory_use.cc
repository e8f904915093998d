#include "analysis/loop/memory_use.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "analysis/loop/phase_stretches.h"
#include "base/statistics.h"

namespace headroom {
namespace {

/// Indices into kMemoryKinds.
enum Kind : std::uint8_t {
  kBefore,
  kOptimizerState,
  kGradient,
  kActivation,
  kInput,
  kTemporary,
  kOtherKind
};

constexpr std::size_t kMaxMoments = 256;
constexpr std::size_t kMaxDevices = 64;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
constexpr std::int32_t kHost = 0;
/// More than any machine has. Larger values are damage. Without them, sums cannot overflow.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

/// Memory between its allocation and its free.
struct Allocation {
  std::uint32_t row = 0;  ///< Row of the record.
  std::int64_t bytes = 0;
  std::size_t made = 0;  ///< Index of the moment of its allocation.
  std::size_t freed = kNever;
  Kind kind = kOtherKind;
};

/// State after one record.
struct Moment {
  TimeNs time;
  std::int64_t allocated = 0;
  std::int64_t reserved = kUnknown;
};

/// Allocations and totals of one device over time.
struct History {
  std::vector<Allocation> allocations;  ///< In order of allocation.
  std::vector<Moment> moments;          ///< One per record.
  std::int64_t frees = 0;
};

History Follow(const TraceStore& store, std::span<const std::uint32_t> rows) {
  const auto& events = store.memory_events;
  History history;
  std::map<std::int64_t, std::size_t> at_address;  // Live allocations.
  std::set<std::size_t> live;                      // The same allocations, oldest first.
  std::int64_t live_bytes = 0;
  const auto free = [&](std::size_t allocation, std::size_t moment) {
    history.allocations[allocation].freed = moment;
    live_bytes -= history.allocations[allocation].bytes;
    live.erase(allocation);
    const auto at = at_address.find(events.address[history.allocations[allocation].row]);
    if (at != at_address.end() && at->second == allocation) at_address.erase(at);
  };
  for (const std::uint32_t row : rows) {
    const std::size_t moment = history.moments.size();
    const std::int64_t bytes = events.bytes[row], address = events.address[row];
    if (bytes < 0) ++history.frees;
    const auto there = address == kUnknown ? at_address.end() : at_address.find(address);
    // An allocation at an address in use shows that its free was not recorded.
    if (there != at_address.end()) free(there->second, moment);
    if (bytes >= 0) {
      const std::size_t made = history.allocations.size();
      history.allocations.push_back({.row = row, .bytes = bytes, .made = moment});
      live.insert(made);
      live_bytes += bytes;
      if (address != kUnknown) at_address[address] = made;
    }
    std::int64_t total = events.total_allocated_bytes[row];
    if (total < 0 || total > kMaxBytes) total = std::min(live_bytes, kMaxBytes);
    while (live_bytes > total && !live.empty()) free(*live.begin(), moment);
    history.moments.push_back({events.time[row], total, events.total_reserved_bytes[row]});
  }
  return history;
}

/// Context of the host at an allocation.
struct Place {
  Phase phase = Phase::kOther;
  HostEventId op;         ///< The innermost operator that does more than allocate, or None().
  HostEventId outermost;  ///< Outermost operator.
  HostEventId costed, layer, line;
  HostEventId model;  ///< The outermost module's forward.
  bool copies_host_data = false;
};

/// Finds the places of all records in one sweep over each thread that has some.
class Places {
 public:
  Places(const TraceStore& store, NameFacts& names, const Attribution& attribution)
      : store_(store), names_(names), attribution_(attribution) {
    for (std::size_t i = 0; i < store.gpu_tasks.rows(); ++i) {
      if (store.gpu_tasks.copy[i] == CopyKind::kHostToDevice) AddCopy(GpuTaskId(i));
    }
    const auto& records = store.memory_events;
    places_.resize(records.rows());
    std::map<ThreadId, std::vector<std::uint32_t>> by_thread;
    for (std::uint32_t row = 0; row < records.rows(); ++row)
      by_thread[records.thread[row]].push_back(row);
    for (auto& [thread, rows] : by_thread) {
      std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
        return records.time[a] < records.time[b];
      });
      Sweep(thread, rows);
    }
  }

  /// @param row  row of the record
  const Place& Of(std::uint32_t row) const { return places_[row]; }

 private:
  struct Open {
    HostEventId event;
    Place place;
  };

  void Sweep(ThreadId thread, std::span<const std::uint32_t> rows) {
    const auto& events = store_.host_events;
    const TraceStore::RowRange range = store_.HostEventsOf(thread);
    std::vector<Open> open;  // Each is nested in the previous one.
    std::uint32_t next = range.first;
    for (const std::uint32_t row : rows) {
      const TimeNs time = store_.memory_events.time[row];
      for (; next < range.last && events.start[next] <= time; ++next) {
        const HostEventId event(next);
        while (!open.empty() && open.back().event != events.parent[next]) open.pop_back();
        open.push_back({event, Inside(event, open.empty() ? Place() : open.back().place)});
      }
      while (!open.empty() && store_.HostEnd(open.back().event) <= time) open.pop_back();
      if (!open.empty()) places_[row] = open.back().place;
    }
  }

  Place Inside(HostEventId event, const Place& around) const {
    const HostContext& context = attribution_.Of(event);
    Place place = {.phase = context.phase,
                   .op = around.op,
                   .outermost = around.outermost,
                   .costed = context.costed,
                   .layer = context.layer,
                   .line = context.line,
                   .model = around.model};
    if (!place.model.valid() && IsModule(event)) place.model = event;
    if (store_.host_events.kind[event.index()] == HostEventKind::kOperator) {
      if (!place.outermost.valid()) place.outermost = event;
      if (!place.op.valid() || !OnlyAllocates(event)) place.op = event;
    }
    place.copies_host_data = place.op.valid() && copiers_.count(place.op.index()) != 0;
    return place;
  }
  /// Marks the operators around a copy from the host: aten::copy_, and aten::_to_copy, which
  /// allocates for it.
  void AddCopy(GpuTaskId copy) {
    HostEventId op = attribution_.Of(copy).op;
    constexpr int kLevels = 2;
    for (int level = 0; level < kLevels && op.valid(); ++level) {
      copiers_.insert(op.index());
      op = store_.host_events.parent[op.index()];
    }
  }
  bool IsModule(HostEventId event) const {
    return store_.host_events.kind[event.index()] == HostEventKind::kPythonFrame &&
           names_.Roles(store_.host_events.name[event.index()]).Has(HostRole::kModuleFrame);
  }
  bool OnlyAllocates(HostEventId op) const {
    return names_.Roles(store_.host_events.name[op.index()]).Has(HostRole::kAllocation);
  }

  const TraceStore& store_;
  NameFacts& names_;
  const Attribution& attribution_;
  std::set<std::uint32_t> copiers_;
  std::vector<Place> places_;
};

/// Returns the purpose of an allocation, by the rules in memory_use.h.
///
/// @param freed  nullopt if not freed by the end of the records
Kind KindOf(const TraceStore& store, const PhaseStretches& passes, const Place& place, TimeNs made,
            std::optional<TimeNs> freed) {
  const auto freed_by = [&](TimeNs time) { return freed && *freed <= time; };
  if (place.copies_host_data) return kInput;
  switch (place.phase) {
    case Phase::kDataWait:
    case Phase::kHostToDevice:
      return kInput;
    case Phase::kForward: {
      const std::optional<Interval> backward = passes.NextThatEndsAfter(Phase::kBackward, made);
      if (!backward) {
        const bool outlives_model =
            place.model.valid() && freed && !freed_by(store.HostEnd(place.model));
        if (freed) return outlives_model ? kActivation : kTemporary;
        return passes.LastThatBeginsBy(Phase::kBackward, made) ? kActivation : kOtherKind;
      }
      if (freed_by(backward->start)) return kTemporary;
      const std::optional<Interval> after =
          passes.NextThatEndsAfter(Phase::kBackward, backward->end);
      return !after || freed_by(after->end) ? kActivation : kOtherKind;
    }
    case Phase::kBackward:
    case Phase::kOptimizer: {
      const std::optional<Interval> pass = passes.LastThatBeginsBy(place.phase, made);
      if (pass && freed_by(pass->end)) return kTemporary;
      return place.phase == Phase::kBackward ? kGradient : kOptimizerState;
    }
    default:
      return place.outermost.valid() && freed_by(store.HostEnd(place.outermost)) ? kTemporary
                                                                                 : kOtherKind;
  }
}

/// Moments for the report: those with the most memory in each of many equal spans of time, and
/// overall.
class Curve {
 public:
  explicit Curve(const std::vector<Moment>& moments)
      : start_(moments.front().time),
        length_(moments.back().time - moments.front().time),
        highest_(std::min(kMaxMoments, moments.size()), kNever) {}

  void Offer(const std::vector<Moment>& moments, std::size_t moment) {
    const double share = length_.ns() == 0
                             ? 0
                             : static_cast<double>((moments[moment].time - start_).ns()) /
                                   static_cast<double>(length_.ns());
    const auto bucket =
        std::min(highest_.size() - 1,
                 static_cast<std::size_t>(share * static_cast<double>(highest_.size())));
    for (std::size_t* best : {&highest_[bucket], &peak_}) {
      if (*best == kNever || moments[moment].allocated > moments[*best].allocated) *best = moment;
    }
  }
  std::size_t peak() const { return peak_; }
  std::vector<std::size_t> Moments() const {
    std::vector<std::size_t> moments;
    for (const std::size_t moment : highest_) {
      if (moment != kNever) moments.push_back(moment);
    }
    return moments;
  }

 private:
  TimeNs start_;
  DurationNs length_;
  std::vector<std::size_t> highest_;
  std::size_t peak_ = kNever;
};

/// Returns the bytes by kind at some of the moments, which ascend.
std::vector<MemoryMoment> PartsAt(const History& history, std::span<const std::size_t> moments) {
  struct Change {
    std::size_t moment;
    Kind kind;
    std::int64_t bytes;
  };
  std::vector<Change> changes;
  for (const Allocation& a : history.allocations) {
    changes.push_back({a.made, a.kind, a.bytes});
    if (a.freed != kNever) changes.push_back({a.freed, a.kind, -a.bytes});
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.moment < b.moment; });
  std::vector<MemoryMoment> result;
  std::vector<std::int64_t> parts(kMemoryKinds.size());
  auto next = changes.begin();
  for (const std::size_t moment : moments) {
    for (; next != changes.end() && next->moment <= moment; ++next)
      parts[next->kind] += next->bytes;
    const Moment& then = history.moments[moment];
    parts[kBefore] = 0;
    parts[kBefore] = then.allocated - std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    result.push_back(
        {.time = then.time,
         .allocated_bytes = then.allocated,
         .reserved_bytes = then.reserved == kUnknown ? std::nullopt : std::optional(then.reserved),
         .parts = parts});
  }
  return result;
}

class Describer {
 public:
  Describer(const TraceStore& store, NameFacts& names, const Attribution& attribution,
            const StepAnalysis& steps)
      : store_(store),
        steps_(steps),
        places_(store, names, attribution),
        passes_(store, attribution) {}

  /// @param rows  records of one device and process, in order of time; not empty
  MemoryUse Describe(ProcessId process, std::span<const std::uint32_t> rows) {
    History history = Follow(store_, rows);
    NameKinds(passes_.Of(process), history);
    MemoryUse use;
    use.allocations = static_cast<std::int64_t>(history.allocations.size());
    use.frees = history.frees;
    for (const Allocation& a : history.allocations) {
      use.turnover_bytes +=
          std::min(a.bytes, std::numeric_limits<std::int64_t>::max() / 2 - use.turnover_bytes);
    }
    for (const Moment& moment : history.moments) {
      if (moment.reserved == kUnknown) continue;
      use.most_reserved_bytes = std::max(use.most_reserved_bytes.value_or(0), moment.reserved);
    }
    const std::int64_t first_change = store_.memory_events.bytes[rows.front()];
    use.first_bytes = std::max<std::int64_t>(0, history.moments.front().allocated - first_change);
    use.last_bytes = history.moments.back().allocated;

    Curve curve(history.moments);
    for (std::size_t i = 0; i < history.moments.size(); ++i) curve.Offer(history.moments, i);
    use.curve = PartsAt(history, curve.Moments());
    use.peak = PartsAt(history, std::array{curve.peak()}).front();
    AddPeak(history, curve.peak(), use);
    AddSteps(history, use);
    return use;
  }

 private:
  void NameKinds(const PhaseStretches& passes, History& history) {
    const auto& events = store_.memory_events;
    for (Allocation& a : history.allocations) {
      const Place& place = places_.Of(a.row);
      a.kind =
          KindOf(store_, passes, place, events.time[a.row],
                 a.freed == kNever ? std::nullopt : std::optional(history.moments[a.freed].time));
    }
  }

  void AddPeak(const History& history, std::size_t peak, MemoryUse& use) {
    for (std::size_t kind = 0; kind < kMemoryKinds.size(); ++kind)
      use.parts.push_back({std::string(kMemoryKinds[kind]), use.peak.parts[kind], 0});
    std::map<std::tuple<StringId, StringId, StringId, Kind>, MemoryHolder> holders;
    for (const Allocation& a : history.allocations) {
      if (a.made > peak || a.freed <= peak) continue;
      ++use.parts[a.kind].allocations;
      const Place& place = places_.Of(a.row);
      const HostEventId op = place.costed.valid() ? place.costed : place.op;
      const auto name = [&](HostEventId event) {
        return event.valid() ? store_.host_events.name[event.index()] : StringId::None();
      };
      MemoryHolder& holder = holders[{name(op), name(place.layer), name(place.line), a.kind}];
      holder.bytes += a.bytes;
      ++holder.allocations;
    }
    std::erase_if(use.parts,
                  [](const MemoryPart& p) { return p.bytes == 0 && p.allocations == 0; });
    std::stable_sort(use.parts.begin(), use.parts.end(),
                     [](const MemoryPart& a, const MemoryPart& b) { return a.bytes > b.bytes; });
    for (auto& [key, holder] : holders) {
      const auto& [op, layer, line, kind] = key;
      if (op.valid()) holder.operator_name = store_.Text(op);
      if (layer.valid()) holder.layer = store_.Text(layer);
      if (line.valid()) holder.line = store_.Text(line);
      holder.kind = kMemoryKinds[kind];
      use.holders.push_back(std::move(holder));
    }
    std::sort(use.holders.begin(), use.holders.end(),
              [](const MemoryHolder& a, const MemoryHolder& b) {
                return std::tie(b.bytes, a.operator_name, a.layer, a.line, a.kind) <
                       std::tie(a.bytes, b.operator_name, b.layer, b.line, b.kind);
              });
  }

  void AddSteps(const History& history, MemoryUse& use) const {
    std::int64_t allocated = use.first_bytes;
    std::vector<std::int64_t> growth;
    std::optional<std::int64_t> end_before;
    auto moment = history.moments.begin();
    for (std::size_t i = 0; i < steps_.hosts.size(); ++i) {
      const Interval step = steps_.hosts[i];
      for (; moment != history.moments.end() && moment->time < step.start; ++moment)
        allocated = moment->allocated;
      MemoryStep row{
          .index = steps_.steps.list[i].index, .start = step.start, .peak_bytes = allocated};
      const auto first = moment;
      for (; moment != history.moments.end() && moment->time < step.end; ++moment) {
        allocated = moment->allocated;
        row.peak_bytes = std::max(row.peak_bytes, allocated);
      }
      row.end_bytes = allocated;
      if (use.peak.time >= step.start && use.peak.time < step.end) use.peak_step = row.index;
      if (end_before) growth.push_back(allocated - *end_before);
      end_before = allocated;
      if (moment != first) use.steps.push_back(row);
    }
    constexpr std::size_t kMinDifferences = 2;
    if (growth.size() < kMinDifferences) return;
    std::sort(growth.begin(), growth.end());
    use.growth_bytes_per_step = SortedPercentile(growth, 50);
  }

  const TraceStore& store_;
  const StepAnalysis& steps_;
  const Places places_;
  const PassesOfProcesses passes_;
};

using RecordsByDevice =
    std::map<std::tuple<bool, std::int32_t, ProcessId>, std::vector<std::uint32_t>>;

/// Bounds the number of devices, because damaged records may name any number. Keeps the devices
/// with the most records; between equals, keeps the first.
void DropRarest(RecordsByDevice& by_device) {
  if (by_device.size() <= kMaxDevices) return;
  std::vector<RecordsByDevice::iterator> order;
  for (auto entry = by_device.begin(); entry != by_device.end(); ++entry) order.push_back(entry);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a->second.size() > b->second.size();
  });
  for (std::size_t i = kMaxDevices; i < order.size(); ++i) by_device.erase(order[i]);
}

}  // namespace

std::vector<MemoryUse> MeasureMemory(const TraceStore& store, NameFacts& names,
                                     const Attribution& attribution, const StepAnalysis& steps) {
  const auto& events = store.memory_events;
  if (events.rows() == 0) return {};
  RecordsByDevice by_device;
  for (std::uint32_t row = 0; row < events.rows(); ++row) {
    if (events.bytes[row] < -kMaxBytes || events.bytes[row] > kMaxBytes) continue;
    const std::int32_t device = events.device[row];
    const bool host = events.device_type[row] == kHost || device < 0;
    // Orders GPUs before the host.
    by_device[{host, host ? -1 : device, store.threads.process[events.thread[row].index()]}]
        .push_back(row);
  }
  DropRarest(by_device);
  std::set<ProcessId> processes;
  for (const auto& [key, rows] : by_device) processes.insert(std::get<ProcessId>(key));
  Describer describer(store, names, attribution, steps);
  std::vector<MemoryUse> uses;
  for (auto& [key, rows] : by_device) {
    std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(events.time[a], events.event_index[a]) <
             std::tuple(events.time[b], events.event_index[b]);
    });
    const auto& [host, device, process] = key;
    MemoryUse use = describer.Describe(process, rows);
    if (!host) use.device = device;
    if (processes.size() > 1) use.process = store.Text(store.processes.pid[process.index()]);
    uses.push_back(std::move(use));
  }
  return uses;
}

}  // namespace headroom
