#include "loader/loader_profile.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "loader/input_probe.h"

namespace headroom {
namespace {

constexpr std::string_view kFetch = "dataloader_next";
constexpr std::string_view kStart = "dataloader_start";
constexpr std::string_view kLoader = "loader.";
constexpr std::string_view kSetting = "setting.";
constexpr std::string_view kStage = "stage::";
constexpr std::string_view kExhausted = "loader.exhausted", kRaised = "loader.raised";
constexpr std::string_view kFailed = "loader.failed";

/// Loader counters by process and name, in order of time.
class LoaderCounters {
 public:
  struct Sample {
    TimeNs time;
    double value;
  };
  using Series = std::vector<Sample>;

  explicit LoaderCounters(const TraceStore& store) {
    const auto& rows = store.counters;
    std::unordered_map<StringId, bool> wanted;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      const StringId name = rows.name[row];
      const auto [found, is_new] = wanted.try_emplace(name, false);
      std::string_view text = store.Text(name);
      if (text.starts_with(kSetting)) text.remove_prefix(kSetting.size());
      if (is_new) found->second = text.starts_with(kLoader);
      if (!found->second || !std::isfinite(rows.value[row])) continue;
      const ProcessId process = store.threads.process[rows.thread[row].index()];
      series_[process][std::string(text.substr(kLoader.size()))].push_back(
          {rows.time[row], rows.value[row]});
    }
    for (auto& [process, names] : series_) {
      for (auto& [name, series] : names) std::ranges::stable_sort(series, {}, &Sample::time);
    }
  }

  const Series& Of(ProcessId process, std::string_view name) const {
    static const Series kNone;
    const auto names = series_.find(process);
    if (names == series_.end()) return kNone;
    const auto found = names->second.find(name);
    return found == names->second.end() ? kNone : found->second;
  }

  /// Returns the first value in [from, to).
  std::optional<double> In(ProcessId process, std::string_view name, TimeNs from, TimeNs to) const {
    const Series& series = Of(process, name);
    const auto at = std::ranges::lower_bound(series, from, {}, &Sample::time);
    if (at == series.end() || at->time >= to) return std::nullopt;
    return at->value;
  }

  /// Returns the last value at or before a time.
  std::optional<Sample> Before(ProcessId process, std::string_view name, TimeNs time) const {
    const Series& series = Of(process, name);
    const auto behind = std::ranges::upper_bound(series, time, {}, &Sample::time);
    if (behind == series.begin()) return std::nullopt;
    return *std::prev(behind);
  }

  /// Returns the names with this prefix.
  const std::vector<std::string>& Names(ProcessId process, std::string_view prefix) {
    const auto [found, is_new] = names_.try_emplace({process, std::string(prefix)});
    if (!is_new) return found->second;
    for (const auto& [name, series] : series_[process]) {
      if (name.starts_with(prefix)) found->second.push_back(name);
    }
    return found->second;
  }

  std::vector<ProcessId> Processes() const {
    std::vector<ProcessId> all;
    for (const auto& [process, names] : series_) all.push_back(process);
    return all;
  }

 private:
  std::map<ProcessId, std::map<std::string, Series, std::less<>>> series_;
  std::map<std::pair<ProcessId, std::string>, std::vector<std::string>> names_;
};

std::optional<DurationNs> Microseconds(std::optional<double> us) {
  constexpr double kMax = 1e15;
  if (!us || *us < 0 || *us > kMax) return std::nullopt;
  return DurationNs(std::llround(*us * kNsPerUs));
}

std::optional<std::int64_t> Whole(std::optional<double> value) {
  constexpr double kMax = 1e15;
  if (!value || *value < 0 || *value > kMax) return std::nullopt;
  return std::llround(*value);
}

/// Returns an amount of bytes or objects, or nullopt if no machine can hold it.
std::optional<double> Amount(std::optional<double> value) {
  constexpr double kMax = 1e15;
  if (!value || *value < 0 || *value > kMax) return std::nullopt;
  return value;
}

/// Iterators with the same key belong to one loader.
using SettingsKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t, bool, bool>;
SettingsKey KeyOf(const LoaderSettings& s) {
  return {s.workers, s.prefetch,  s.batch_size.value_or(-1), s.dataset_size.value_or(-1),
          s.pin,     s.persistent};
}

/// Kinds of loader events among the host events.
enum class Kind {
  kNone,
  kFetch,
  kStart,
  kBatch,
  kSample,
  kCollate,
  kIndexWait,
  kSend,
  kPin,
  kStage
};

Kind KindOf(std::string_view name) {
  if (name == kFetch) return Kind::kFetch;
  if (name == kStart) return Kind::kStart;
  if (name.starts_with(kStage)) return Kind::kStage;
  if (!name.starts_with(kLoader)) return Kind::kNone;
  name.remove_prefix(kLoader.size());
  if (name == "batch") return Kind::kBatch;
  if (name == "sample") return Kind::kSample;
  if (name == "collate") return Kind::kCollate;
  if (name == "index_wait") return Kind::kIndexWait;
  if (name == "send") return Kind::kSend;
  if (name == "pin") return Kind::kPin;
  return Kind::kNone;
}

class LoaderFinder {
 public:
  explicit LoaderFinder(const TraceStore& store)
      : store_(store), counters_(store), probes_(ProbeSpans(store)) {}

  std::vector<LoaderProfile> Find() {
    ReadSettings();
    if (profiles_.empty()) return {};
    ReadEvents();
    std::vector<LoaderProfile> found;
    MarkProbed();
    for (Draft& draft : profiles_) {
      // A loader whose epoch began in a probe belongs to the program if it has fetches after the
      // probe.
      if (draft.is_programs || !draft.profile.fetches.empty()) found.push_back(Finish(draft));
    }
    std::ranges::stable_sort(found, std::greater<>(), [](const LoaderProfile& profile) {
      return std::pair(!profile.fetches.empty(), profile.Wait());
    });
    ReadFailures(found);
    return found;
  }

 private:
  struct StageTime {
    std::int64_t count = 0;
    DurationNs total, own;
    std::optional<DurationNs> cpu;
    bool is_stage = false;
  };
  /// An iterator that `process` created at `time`, for the loader in that row of profiles_.
  struct Iterator {
    ProcessId process;
    TimeNs time;
    std::size_t profile;
  };
  struct Draft {
    LoaderProfile profile;
    std::map<std::string, StageTime, std::less<>> stages;
    std::map<ProcessId, std::size_t> workers;
    bool is_programs = false;      ///< Created outside of probes.
    bool behind_probe = false;     ///< Its last fetch belonged to a probe.
    std::optional<TimeNs> probed;  ///< Start of its first fetch in a probe.
  };

  /// An iterator records its seed, and then the settings of its loader.
  void ReadSettings() {
    std::map<SettingsKey, std::size_t> known;
    for (const ProcessId process : counters_.Processes()) {
      const LoaderCounters::Series& starts = counters_.Of(process, "workers");
      for (std::size_t i = 0; i < starts.size(); ++i) {
        const TimeNs from = starts[i].time;
        const TimeNs to = i + 1 < starts.size() ? starts[i + 1].time : TimeNs(INT64_MAX);
        const auto count = [&](std::string_view name) {
          return Whole(counters_.In(process, name, from, to));
        };
        const std::optional<LoaderCounters::Sample> seed = counters_.Before(process, "seed", from);
        if (!seed) continue;
        constexpr std::int64_t kMaxWorkers = 4096, kMaxPrefetch = 100'000;
        LoaderSettings settings{
            .workers = std::min(count("workers").value_or(0), kMaxWorkers),
            .prefetch = std::min(count("prefetch_factor").value_or(0), kMaxPrefetch),
            .batch_size = count("batch_size"),
            .dataset_size = count("dataset_size"),
            .pin = count("pin_memory").value_or(0) != 0,
            .persistent = count("persistent_workers").value_or(0) != 0,
            .cpus = count("cpus"),
            .threads_per_core = counters_.In(process, "threads_per_core", from, to),
            .virtual_machine = count("virtual_machine").value_or(0) != 0,
            .shared_memory = Amount(counters_.In(process, "shared_memory_bytes", from, to))};
        const auto [at, is_new] = known.try_emplace(KeyOf(settings), profiles_.size());
        if (is_new) profiles_.emplace_back().profile.settings = settings;
        if (!Probed(from)) profiles_[at->second].is_programs = true;
        by_seed_[seed->value].push_back({process, from, at->second});
      }
    }
  }

  /// Marks the probed loader: the loader with the first fetch in a probe.
  void MarkProbed() {
    const auto first = std::ranges::min_element(
        profiles_, {}, [](const Draft& draft) { return draft.probed.value_or(TimeNs(INT64_MAX)); });
    if (first != profiles_.end() && first->probed) first->profile.probed = true;
  }

  /// Returns true if a probe ran at `time`. Events that began during a probe do not belong to the
  /// program.
  bool Probed(TimeNs time) const {
    return std::ranges::any_of(
        probes_, [&](const Interval& span) { return time >= span.start && time < span.end; });
  }

  /// Returns the start of the batch that contains an event; otherwise the start of the event.
  TimeNs Begin(std::uint32_t row) const {
    TimeNs begin = store_.host_events.start[row];
    for (HostEventId at = store_.host_events.parent[row]; at.valid();
         at = store_.host_events.parent[at.index()]) {
      if (kinds_[at.index()] == Kind::kBatch) begin = store_.host_events.start[at.index()];
    }
    return begin;
  }

  /// Returns the loader that the process worked for at `time`; nullptr if it is unknown. Several
  /// iterators can have the same seed. A loop then uses the last iterator that it created. A worker
  /// uses the iterator created closest in time to the worker's start.
  Draft* At(ProcessId process, TimeNs time) {
    const std::optional<LoaderCounters::Sample> seed = counters_.Before(process, "seed", time);
    const auto found = seed ? by_seed_.find(seed->value) : by_seed_.end();
    if (found == by_seed_.end()) return nullptr;
    const Iterator* best = nullptr;
    for (const Iterator& iterator : found->second) {
      const auto far = [&](const Iterator& i) {
        const DurationNs off = i.time - seed->time;
        return std::abs(off.ns());
      };
      const bool own = iterator.process == process;
      if (own && iterator.time > time) continue;
      if (best == nullptr || (own ? iterator.time >= best->time : far(iterator) < far(*best)))
        best = &iterator;
    }
    return best == nullptr ? nullptr : &profiles_[best->profile];
  }

  void ReadEvents() {
    const auto& rows = store_.host_events;
    kinds_.assign(rows.rows(), Kind::kNone);
    std::unordered_map<StringId, Kind> by_name;
    for (std::size_t row = 0; row < rows.rows(); ++row) {
      if (rows.kind[row] != HostEventKind::kAnnotation) continue;
      const auto [found, is_new] = by_name.try_emplace(rows.name[row], Kind::kNone);
      if (is_new) found->second = KindOf(store_.Text(rows.name[row]));
      kinds_[row] = found->second;
    }
    for (std::uint32_t thread = 0; thread < store_.threads.rows(); ++thread)
      ReadThread(ThreadId(thread));
  }

  void ReadThread(ThreadId thread) {
    const auto [first, last] = store_.HostEventsOf(thread);
    const ProcessId process = store_.threads.process[thread.index()];
    std::vector<std::uint32_t> fetches, batches;
    std::vector<TimeNs> starts;
    for (std::uint32_t row = first; row < last; ++row) {
      switch (kinds_[row]) {
        case Kind::kNone:
          break;
        case Kind::kFetch:
          fetches.push_back(row);
          break;
        case Kind::kBatch:
          batches.push_back(row);
          break;
        case Kind::kStart:
          starts.push_back(store_.host_events.start[row]);
          ReadPart(process, row);
          break;
        default:
          ReadPart(process, row);
      }
    }
    ReadFetches(process, fetches, starts);
    ReadBatches(process, batches);
  }

  Interval SpanOf(std::uint32_t row) const {
    return {store_.host_events.start[row], store_.HostEnd(HostEventId(row))};
  }

  /// Returns true if a mark with this name is within a span, including its ends.
  bool Marked(ProcessId process, std::string_view prefix, Interval span) {
    const std::vector<TimeNs>& times = MarksOf(process, prefix);
    const auto at = std::ranges::lower_bound(times, span.start);
    return at != times.end() && *at <= span.end;
  }

  const std::vector<TimeNs>& MarksOf(ProcessId process, std::string_view prefix) {
    if (!marks_read_) ReadMarks();
    return marks_[{process, std::string(prefix)}];
  }

  void ReadMarks() {
    marks_read_ = true;
    const auto& instants = store_.instants;
    for (std::size_t row = 0; row < instants.rows(); ++row) {
      const std::string_view name = store_.Text(instants.name[row]);
      for (const std::string_view prefix : {kExhausted, kRaised, kFailed}) {
        if (!name.starts_with(prefix)) continue;
        const ProcessId process = store_.threads.process[instants.thread[row].index()];
        marks_[{process, std::string(prefix)}].push_back(instants.time[row]);
      }
    }
    for (auto& [of, times] : marks_) std::ranges::sort(times);
  }

  /// @param starts  times of iter(loader) on the same thread. Each begins an epoch, even if the
  /// loop left the previous epoch with `break`.
  void ReadFetches(ProcessId process, const std::vector<std::uint32_t>& rows,
                   const std::vector<TimeNs>& starts) {
    const auto started = [&](TimeNs from, TimeNs to) {
      const auto at = std::ranges::lower_bound(starts, from);
      return at != starts.end() && *at < to;
    };
    std::map<Draft*, std::optional<Interval>> before;  // nullopt if an epoch begins.
    for (const std::uint32_t row : rows) {
      const Interval span = SpanOf(row);
      const TimeNs behind = span.end + DurationNs(1);
      Draft* draft = At(process, span.end);
      // Only PyTorch's own iterators record the CPU time that they use.
      const std::optional<double> step_cpu =
          counters_.In(process, "step_cpu_us", span.start, behind);
      if (draft == nullptr || !step_cpu) continue;
      std::optional<Interval>& last = before[draft];
      if (last && started(last->end, span.start)) last.reset();
      if (Probed(span.start)) {
        draft->behind_probe = true;
        draft->probed = std::min(draft->probed.value_or(span.start), span.start);
        continue;
      }
      if (Marked(process, kExhausted, span) || Marked(process, kRaised, span)) {
        last.reset();
        continue;
      }
      if (draft->behind_probe) {  // The probe caused this fetch's wait.
        draft->behind_probe = false;
        last = span;
        continue;
      }
      LoaderFetch fetch{.span = span, .first = !last};
      fetch.ready = Whole(counters_.In(process, "ready", span.start, behind));
      fetch.cpu = Microseconds(counters_.In(process, "next_cpu_us", span.start, behind));
      fetch.queued = Microseconds(counters_.In(process, "next_runqueue_us", span.start, behind));
      if (last) {
        fetch.step = span.start - last->end;
        fetch.step_cpu = Microseconds(step_cpu);
        fetch.step_queued =
            Microseconds(counters_.In(process, "step_runqueue_us", span.start, behind));
      } else {
        ++draft->profile.epochs;
      }
      last = span;
      draft->profile.fetches.push_back(fetch);
    }
  }

  std::size_t WorkerOf(Draft& draft, ProcessId process) {
    std::vector<LoaderWorker>& workers = draft.profile.workers;
    const auto [found, is_new] = draft.workers.try_emplace(process, workers.size());
    if (is_new)
      workers.push_back({.pid = std::string(store_.Text(store_.processes.pid[process.index()]))});
    return found->second;
  }

  static void Extend(LoaderWorker& worker, Interval span) {
    if (worker.alive.length() == DurationNs(0)) worker.alive = span;
    worker.alive.start = std::min(worker.alive.start, span.start);
    worker.alive.end = std::max(worker.alive.end, span.end);
  }

  void ReadBatches(ProcessId process, const std::vector<std::uint32_t>& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Interval span = SpanOf(rows[i]);
      Draft* draft = At(process, span.start);
      if (draft == nullptr || Probed(span.start) || Marked(process, kFailed, span)) continue;
      const TimeNs to =
          i + 1 < rows.size() ? store_.host_events.start[rows[i + 1]] : TimeNs(INT64_MAX);
      const auto value = [&](std::string_view name) {
        return counters_.In(process, name, span.end, to);
      };
      const std::optional<double> cpu = value("batch_thread_cpu_us");
      // Without this counter there is no batch: the preparation was cut off, raised, or ended a
      // stream.
      if (!cpu) continue;
      LoaderBatch batch{.span = span, .worker = WorkerOf(*draft, process)};
      batch.cpu = Microseconds(cpu);
      batch.process_cpu = Microseconds(value("batch_cpu_us"));
      // Queued time is read around the span, so it is limited to the span's own waits.
      batch.queued = Microseconds(value("batch_runqueue_us"));
      if (batch.queued && batch.cpu) {
        const DurationNs rest = std::max(span.length() - *batch.cpu, DurationNs());
        batch.queued = std::min(rest, *batch.queued);
      }
      batch.bytes = Amount(value("batch_bytes"));
      batch.objects = Amount(value("batch_objects"));
      batch.read_bytes = Amount(value("batch_read_bytes"));
      batch.called_bytes = Amount(value("batch_rchar"));
      const auto end = static_cast<std::uint32_t>(kinds_.size());
      for (std::uint32_t row = rows[i] + 1; row < end; ++row) {
        if (store_.host_events.thread[row] != store_.host_events.thread[rows[i]] ||
            store_.host_events.start[row] >= span.end)
          break;
        if (kinds_[row] == Kind::kSample) batch.samples.push_back(store_.host_events.duration[row]);
        if (kinds_[row] == Kind::kCollate) batch.collate += store_.host_events.duration[row];
      }
      AddStageCpu(*draft, process, span.end, to);
      batch.sample_count =
          Whole(value("batch_samples")).value_or(static_cast<std::int64_t>(batch.samples.size()));
      LoaderWorker& worker = draft->profile.workers[batch.worker];
      Extend(worker, span);
      worker.busy += span.length();
      draft->profile.batches.push_back(std::move(batch));
    }
  }

  void AddStageCpu(Draft& draft, ProcessId process, TimeNs from, TimeNs to) {
    constexpr std::string_view kPrefix = "stage_cpu_us stage::";
    for (const std::string& name : counters_.Names(process, kPrefix)) {
      const std::optional<DurationNs> cpu = Microseconds(counters_.In(process, name, from, to));
      if (!cpu) continue;
      std::optional<DurationNs>& sum = draft.stages[name.substr(kPrefix.size())].cpu;
      sum = sum.value_or(DurationNs(0)) + *cpu;
    }
  }

  /// Returns the innermost loader event around an event, except fetches.
  std::optional<std::uint32_t> Around(std::uint32_t row) const {
    HostEventId at = store_.host_events.parent[row];
    while (at.valid() && (kinds_[at.index()] == Kind::kNone || kinds_[at.index()] == Kind::kFetch))
      at = store_.host_events.parent[at.index()];
    return at.valid() ? std::optional(static_cast<std::uint32_t>(at.index())) : std::nullopt;
  }

  void ReadPart(ProcessId process, std::uint32_t row) {
    const Interval span = SpanOf(row);
    Draft* draft = At(process, kinds_[row] == Kind::kStart ? span.end : span.start);
    if (draft == nullptr || (!probes_.empty() && Probed(Begin(row)))) return;
    const DurationNs length = span.length();
    LoaderProfile& profile = draft->profile;
    switch (kinds_[row]) {
      case Kind::kStart:
        profile.starting += length;
        starts_.push_back(span.start);
        return;
      case Kind::kIndexWait: {
        LoaderWorker& worker = profile.workers[WorkerOf(*draft, process)];
        worker.waiting += length;
        Extend(worker, span);
        return;
      }
      case Kind::kSend:
        profile.sending += length;
        return;
      case Kind::kPin:
        profile.pinning += length;
        return;
      default:
        break;
    }
    const std::string_view name = store_.Text(store_.host_events.name[row]);
    const bool stage = kinds_[row] == Kind::kStage;
    const std::optional<std::uint32_t> around = Around(row);
    if (stage && !around) return;  // The program called this stage outside of a loader.
    StageTime& time = draft->stages[std::string(name.substr((stage ? kStage : kLoader).size()))];
    time.is_stage = stage;
    ++time.count;
    time.total += length;
    time.own += length;
    if (around && (kinds_[*around] == Kind::kStage || kinds_[*around] == Kind::kSample ||
                   kinds_[*around] == Kind::kCollate)) {
      const std::string_view outer = store_.Text(store_.host_events.name[*around]);
      const bool outer_stage = kinds_[*around] == Kind::kStage;
      draft->stages[std::string(outer.substr((outer_stage ? kStage : kLoader).size()))].own -=
          length;
    }
  }

  LoaderProfile Finish(Draft& draft) {
    LoaderProfile& profile = draft.profile;
    std::ranges::stable_sort(profile.fetches, {},
                             [](const LoaderFetch& f) { return f.span.start; });
    std::ranges::stable_sort(profile.batches, {}, [](const LoaderBatch& b) { return b.span.end; });
    for (const auto& [name, time] : draft.stages)
      profile.stages.push_back({.name = name,
                                .is_stage = time.is_stage,
                                .count = time.count,
                                .total = time.total,
                                .own = std::max(time.own, DurationNs(0)),
                                .cpu = time.cpu});
    std::ranges::stable_sort(profile.stages, std::greater<>(), &LoaderStage::own);
    std::ranges::sort(starts_);
    for (LoaderWorker& worker : profile.workers) {
      const auto behind = std::ranges::upper_bound(starts_, worker.alive.start);
      if (profile.settings.workers > 0 && behind != starts_.begin())
        worker.starting = worker.alive.start - *std::prev(behind);
      worker.recorded = worker.alive.length();
      for (const Interval& probe : probes_) {
        const Interval both{std::max(probe.start, worker.alive.start),
                            std::min(probe.end, worker.alive.end)};
        if (both.start < both.end) worker.recorded -= both.length();
      }
    }
    return std::move(profile);
  }

  void ReadFailures(std::vector<LoaderProfile>& found) const {
    if (found.empty()) return;
    constexpr std::size_t kMax = 20;
    for (const std::string_view what : {"failed", "worker_died", "nothing_returned"}) {
      const std::string prefix = std::string(kLoader) + std::string(what) + " ";
      for (std::size_t row = 0; row < store_.instants.rows(); ++row) {
        const std::string_view name = store_.Text(store_.instants.name[row]);
        std::vector<std::string>& failures = found.front().failures;
        if (!name.starts_with(prefix) || failures.size() >= kMax) continue;
        std::string failure(name.substr(kLoader.size()));
        // Each worker can report the same failure in each epoch.
        if (std::ranges::find(failures, failure) == failures.end())
          failures.push_back(std::move(failure));
      }
    }
  }

  const TraceStore& store_;
  LoaderCounters counters_;
  std::vector<Interval> probes_;
  std::vector<Draft> profiles_;
  std::map<double, std::vector<Iterator>> by_seed_;
  std::vector<Kind> kinds_;  ///< Kind of each row of host_events.
  std::map<std::pair<ProcessId, std::string>, std::vector<TimeNs>> marks_;
  bool marks_read_ = false;
  std::vector<TimeNs> starts_;
};

}  // namespace

std::optional<DurationNs> LoaderBatch::Blocked() const {
  if (!cpu || !queued) return std::nullopt;
  return std::max(span.length() - *cpu - *queued, DurationNs(0));
}

DurationNs LoaderProfile::Wait() const {
  DurationNs sum;
  for (const LoaderFetch& fetch : fetches) {
    if (!fetch.first) sum += fetch.span.length();
  }
  return sum;
}

std::vector<LoaderProfile> FindLoaders(const TraceStore& store) {
  return LoaderFinder(store).Find();
}

}  // namespace headroom
