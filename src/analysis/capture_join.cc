#include "analysis/capture_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/gpu/graph_capture.h"
#include "analysis/names/name_facts.h"
#include "analysis/steps/step_kind.h"
#include "cost/operator_cost.h"
#include "render/number_format.h"
#include "store/kineto_args.h"
#include "store/row_copier.h"

namespace headroom {
namespace {

/// A replay matches a capture if the kernels of at least this percentage of its tasks agree.
/// Libraries may choose other kernels for the remaining tasks.
constexpr std::size_t kAgreeingPct = 90;

/// Work of a captured launch. `kernel` is empty for copies and memsets, and if the launch does not
/// name its kernel.
struct Work {
  GpuTaskKind kind = GpuTaskKind::kKernel;
  std::string_view kernel = {};
  auto operator<=>(const Work&) const = default;
};

using Positions = std::map<Work, std::vector<std::uint32_t>>;

Positions PositionsOf(const std::vector<Work>& sequence) {
  Positions positions;
  for (std::uint32_t i = 0; i < sequence.size(); ++i) positions[sequence[i]].push_back(i);
  return positions;
}

struct Capture {
  std::size_t trace;  ///< Index of the trace that holds the capture.
  Interval time;
  std::vector<HostEventId> launches = {};  ///< In order of time.
  std::vector<Work> work = {};             ///< One entry per element of `launches`.
  Positions positions = {};                ///< Positions in `work`.
  bool names_kernels = false;
};

bool IsCall(HostEventKind kind) {
  return kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
}

/// A trace with captures, and the facts about its names.
struct Source {
  const TraceStore* store;
  NameFacts names;
  std::optional<std::int64_t> batch_size;
};

/// Returns the kind of GPU work that a call launches, if any.
std::optional<GpuTaskKind> KindOfWork(const TraceStore& store, NameFacts& names,
                                      std::uint32_t row) {
  if (!IsCall(store.host_events.kind[row])) return std::nullopt;
  const StringId name = store.host_events.name[row];
  const HostRoles roles = names.Roles(name);
  if (roles.Has(HostRole::kKernelLaunch)) return GpuTaskKind::kKernel;
  if (roles.Has(HostRole::kAsyncCopy)) return GpuTaskKind::kMemcpy;
  const std::string_view text = store.Text(name);
  if (text.find("Memset") != std::string_view::npos) return GpuTaskKind::kMemset;
  return std::nullopt;
}

/// Returns the kernel name that HIP's profiler records with a launch.
std::string_view NotedKernel(const TraceStore& store, HostEventId launch) {
  std::string_view name = store.Arg(store.host_events.args[launch.index()], "kernel");
  if (name.size() < 2 || name.front() != '"') return {};
  return name.substr(1, name.size() - 2);
}

/// Launches without a GPU task, per process in order of time. Those that begin during a capture are
/// its captured launches.
using LaunchesOfProcess = std::map<ProcessId, std::vector<HostEventId>>;

LaunchesOfProcess FindLaunches(const TraceStore& store, NameFacts& names) {
  std::vector<bool> ran(store.host_events.rows());
  for (const HostEventId launch : store.gpu_tasks.launch.values()) {
    if (launch.valid()) ran[launch.index()] = true;
  }
  LaunchesOfProcess launches;
  for (std::uint32_t row = 0; row < ran.size(); ++row) {
    if (ran[row] || !KindOfWork(store, names, row)) continue;
    // A runtime call may forward its launch to a driver call.
    const HostEventId parent = store.host_events.parent[row];
    if (parent.valid() && KindOfWork(store, names, parent.index())) continue;
    const ThreadId thread = store.host_events.thread[row];
    launches[store.threads.process[thread.index()]].emplace_back(row);
  }
  for (auto& [process, of_process] : launches) {
    std::stable_sort(of_process.begin(), of_process.end(), [&](HostEventId a, HostEventId b) {
      return store.host_events.start[a.index()] < store.host_events.start[b.index()];
    });
  }
  return launches;
}

/// Adds the captures of a trace. Drops captures of one process that overlap in time, because their
/// launches are ambiguous.
void AddCaptures(Source& source, std::size_t trace, std::vector<Capture>& captures) {
  const TraceStore& store = *source.store;
  std::vector<GraphCapture> found = ListGraphCaptures(store, source.names);
  if (found.empty()) return;
  std::stable_sort(found.begin(), found.end(), [](const GraphCapture& a, const GraphCapture& b) {
    return a.process != b.process ? a.process < b.process : a.time.start < b.time.start;
  });
  LaunchesOfProcess launches = FindLaunches(store, source.names);
  const auto overlap = [&](std::size_t a, std::size_t b) {
    return found[a].process == found[b].process && found[b].time.start < found[a].time.end;
  };
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!found[i].has_end || (i > 0 && overlap(i - 1, i)) ||
        (i + 1 < found.size() && overlap(i, i + 1)))
      continue;
    Capture capture{.trace = trace, .time = found[i].time};
    const std::vector<HostEventId>& of_process = launches[found[i].process];
    const auto from = [&](TimeNs when) {
      return std::partition_point(of_process.begin(), of_process.end(), [&](HostEventId launch) {
        return store.host_events.start[launch.index()] < when;
      });
    };
    capture.launches.assign(from(found[i].time.start), from(found[i].time.end));
    if (capture.launches.empty()) continue;
    for (const HostEventId launch : capture.launches) {
      Work work{.kind = *KindOfWork(store, source.names, launch.index())};
      if (work.kind == GpuTaskKind::kKernel) work.kernel = NotedKernel(store, launch);
      capture.names_kernels = capture.names_kernels || !work.kernel.empty();
      capture.work.push_back(work);
    }
    capture.positions = PositionsOf(capture.work);
    captures.push_back(std::move(capture));
  }
}

/// Returns the innermost operator around a captured launch.
HostEventId OperatorOf(const TraceStore& store, HostEventId launch) {
  HostEventId at = launch;
  while (at.valid() && store.host_events.kind[at.index()] != HostEventKind::kOperator)
    at = store.host_events.parent[at.index()];
  return at;
}

/// GPU work of a graph launch.
struct Replay {
  std::vector<GpuTaskId> tasks;  ///< By graph node if the nodes are known, else by start.
  std::vector<Work> work;        ///< One entry per element of `tasks`.
};

/// Match of a replay with a capture. `launch_of` maps each task to the index of its captured
/// launch, or to kNone.
struct Fit {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  const Capture* capture = nullptr;
  std::vector<std::uint32_t> launch_of;
  std::size_t joined = 0;
};

class Joiner {
 public:
  Joiner(TraceStore& store, const ReferenceData& reference, std::span<const CaptureTrace> traces)
      : store_(store), names_(store, reference) {
    sources_.reserve(traces.size() + 1);
    sources_.push_back({&store, NameFacts(store, reference), std::nullopt});
    const std::optional<std::int64_t> rank = store.metadata.rank;
    for (const CaptureTrace& trace : traces) {
      const std::optional<std::int64_t> of_trace = trace.store->metadata.rank;
      if (rank && of_trace && *rank != *of_trace) continue;
      sources_.push_back({trace.store, NameFacts(*trace.store, reference), trace.batch_size});
    }
  }

  CaptureJoin Run() {
    CaptureJoin out;
    const std::vector<HostEventId> launches = FindReplays();
    if (launches.empty()) return out;
    for (std::size_t i = 0; i < sources_.size(); ++i) AddCaptures(sources_[i], i, captures_);
    IndexCaptures();
    for (Source& source : sources_) copiers_.emplace_back(*source.store, store_);
    most_events_ =
        std::max(kMinEvents, kEventsPerRow * (store_.host_events.rows() + store_.gpu_tasks.rows()));
    for (const HostEventId launch : launches) {
      const Replay& replay = replays_.at(launch);
      ++out.launches;
      out.tasks += std::ssize(replay.tasks);
      const std::int64_t joined = Join(launch, replay);
      if (joined > 0) ++out.joined_launches;
      out.joined_tasks += joined;
    }
    if (out.joined_tasks > 0) store_.AddReplayed(std::move(replayed_));
    return out;
  }

 private:
  // Bounds the number of copied events, because a damaged file may nest without limit.
  static constexpr std::size_t kMinEvents = 1'000'000;
  static constexpr std::size_t kEventsPerRow = 8;
  /// Limits the comparisons of tasks with launches. Many captures that almost match would otherwise
  /// take too long.
  static constexpr std::size_t kMaxCompared = 20'000'000;

  /// Fills replays_. Returns the launches in order of time.
  std::vector<HostEventId> FindReplays() {
    std::vector<HostEventId> launches;
    const auto& tasks = store_.gpu_tasks;
    for (std::size_t i = 0; i < tasks.rows(); ++i) {
      const HostEventId launch = tasks.launch[i];
      if (!launch.valid() ||
          !names_.Roles(store_.host_events.name[launch.index()]).Has(HostRole::kGraphLaunch))
        continue;
      Replay& replay = replays_[launch];
      if (replay.tasks.empty()) launches.push_back(launch);
      replay.tasks.emplace_back(i);
    }
    for (auto& [launch, replay] : replays_) {
      const auto node = [&](GpuTaskId task) { return tasks.graph_node[task.index()]; };
      if (std::none_of(replay.tasks.begin(), replay.tasks.end(),
                       [&](GpuTaskId task) { return node(task) == kUnknown; })) {
        std::stable_sort(replay.tasks.begin(), replay.tasks.end(),
                         [&](GpuTaskId a, GpuTaskId b) { return node(a) < node(b); });
      }
      for (const GpuTaskId task : replay.tasks) {
        Work work{.kind = tasks.kind[task.index()]};
        if (work.kind == GpuTaskKind::kKernel) work.kernel = store_.Text(tasks.name[task.index()]);
        replay.work.push_back(work);
      }
    }
    std::sort(launches.begin(), launches.end(), [&](HostEventId a, HostEventId b) {
      const TimeNs start_a = store_.host_events.start[a.index()];
      const TimeNs start_b = store_.host_events.start[b.index()];
      return start_a != start_b ? start_a < start_b : a < b;
    });
    return launches;
  }

  /// Matches by kernel name. `wanted` maps the replay's work to its positions.
  static Fit FitByName(const Replay& replay, const Positions& wanted, const Capture& capture) {
    Fit fit{.capture = &capture,
            .launch_of = std::vector<std::uint32_t>(replay.work.size(), Fit::kNone)};
    for (const auto& [work, tasks] : wanted) {
      const auto captured = capture.positions.find(work);
      if (captured == capture.positions.end() || captured->second.size() != tasks.size()) continue;
      for (std::size_t i = 0; i < tasks.size(); ++i) fit.launch_of[tasks[i]] = captured->second[i];
      fit.joined += tasks.size();
    }
    const std::size_t most = std::max(replay.work.size(), capture.work.size());
    return fit.joined * 100 >= most * kAgreeingPct ? fit : Fit();
  }

  /// Matches by order alone. At least half of the operators that compute matrix products or
  /// convolutions must launch a kernel of that kind. Libraries add kernels around the product that
  /// reorder its operands.
  Fit FitByOrder(const Replay& replay, const Capture& capture) {
    if (replay.work.size() != capture.work.size()) return {};
    const Source& source = sources_[capture.trace];
    std::map<HostEventId, bool> agrees;  // One entry per operator that computes products.
    for (std::size_t i = 0; i < replay.work.size(); ++i) {
      if (replay.work[i].kind != capture.work[i].kind) return {};
      const HostEventId op = OperatorOf(*source.store, capture.launches[i]);
      if (!op.valid() || replay.work[i].kind != GpuTaskKind::kKernel) continue;
      const WorkFamily family =
          FamilyOfOperator(source.store->Text(source.store->host_events.name[op.index()]));
      if (family != WorkFamily::kMatmul && family != WorkFamily::kConvolution) continue;
      const StringId kernel = store_.gpu_tasks.name[replay.tasks[i].index()];
      agrees[op] = agrees[op] || names_.Kernel(kernel).family == family;
    }
    const std::ptrdiff_t agreeing =
        std::count_if(agrees.begin(), agrees.end(), [](const auto& op) { return op.second; });
    if (agreeing * 2 < std::ssize(agrees)) return {};
    Fit fit{.capture = &capture, .launch_of = {}, .joined = replay.work.size()};
    for (std::uint32_t i = 0; i < replay.work.size(); ++i) fit.launch_of.push_back(i);
    return fit;
  }

  void IndexCaptures() {
    for (std::size_t i = 0; i < captures_.size(); ++i) {
      if (captures_[i].names_kernels) {
        for (const auto& [work, positions] : captures_[i].positions) by_work_[work].push_back(i);
      } else {
        by_length_[captures_[i].work.size()].push_back(i);
      }
    }
  }

  /// Returns the captures that contain the replay's rarest work.
  const std::vector<std::size_t>& CapturesWith(const Positions& wanted) const {
    static const std::vector<std::size_t> kNone;
    const std::vector<std::size_t>* fewest = &kNone;
    for (const auto& [work, tasks] : wanted) {
      const auto known = by_work_.find(work);
      if (known != by_work_.end() && (fewest->empty() || known->second.size() < fewest->size()))
        fewest = &known->second;
    }
    return *fewest;
  }

  /// Returns the captures with the best match, first those that name their kernels. Returns none if
  /// several match by order alone and differ in an operator.
  std::vector<Fit> FindFits(const Replay& replay) {
    std::vector<Fit> best;
    const auto consider = [&](Fit fit) {
      if (fit.capture == nullptr || (!best.empty() && fit.joined < best.front().joined)) return;
      if (!best.empty() && fit.joined > best.front().joined) best.clear();
      best.push_back(std::move(fit));
    };
    const Positions wanted = PositionsOf(replay.work);
    for (const std::size_t i : CapturesWith(wanted)) {
      if (Spend(replay)) consider(FitByName(replay, wanted, captures_[i]));
    }
    if (!best.empty()) return best;
    const auto of_length = by_length_.find(replay.work.size());
    if (of_length == by_length_.end()) return best;
    for (const std::size_t i : of_length->second) {
      if (Spend(replay)) consider(FitByOrder(replay, captures_[i]));
    }
    const bool all_alike = std::all_of(best.begin(), best.end(), [&](const Fit& fit) {
      return AreAlike(*fit.capture, *best.front().capture, /*shapes=*/false);
    });
    return all_alike ? best : std::vector<Fit>();
  }

  /// Spends budget for one more comparison with the replay. Returns false once the budget is spent.
  bool Spend(const Replay& replay) {
    const std::size_t price = replay.work.size() + 1;
    if (budget_ < price) return false;
    budget_ -= price;
    return true;
  }

  /// Returns true if both captures launch from the same operators in the same order, and with
  /// `shapes` also from the same shapes.
  bool AreAlike(const Capture& a, const Capture& b, bool shapes) const {
    if (&a == &b) return true;
    if (a.launches.size() != b.launches.size()) return false;
    const TraceStore &of_a = *sources_[a.trace].store, &of_b = *sources_[b.trace].store;
    for (std::size_t i = 0; i < a.launches.size(); ++i) {
      const HostEventId op_a = OperatorOf(of_a, a.launches[i]),
                        op_b = OperatorOf(of_b, b.launches[i]);
      if (op_a.valid() != op_b.valid()) return false;
      if (!op_a.valid()) continue;
      if (of_a.Text(of_a.host_events.name[op_a.index()]) !=
          of_b.Text(of_b.host_events.name[op_b.index()]))
        return false;
      if (shapes && of_a.Arg(of_a.host_events.args[op_a.index()], kInputDimsArg) !=
                        of_b.Arg(of_b.host_events.args[op_b.index()], kInputDimsArg))
        return false;
    }
    return true;
  }

  /// Returns the number of tokens that the marks around a launch state.
  std::optional<std::int64_t> TokensAround(HostEventId launch) const {
    for (HostEventId at = launch; at.valid(); at = store_.host_events.parent[at.index()]) {
      if (store_.host_events.kind[at.index()] != HostEventKind::kAnnotation) continue;
      if (const auto tokens = KindOfMark(store_.Text(store_.host_events.name[at.index()])).tokens)
        return tokens;
    }
    return std::nullopt;
  }

  /// Captures of one trace that match equally well.
  struct Alike {
    std::vector<Fit> fits;
    bool same_shapes = true;
    std::size_t replays = 0;  ///< Number of replays joined so far.
  };
  struct KnownFits {
    std::map<std::size_t, Alike> of_trace;
    bool same_shapes = true;  ///< True if captures of different traces have the same shapes.
  };

  KnownFits Group(std::vector<Fit> fits) const {
    KnownFits known;
    for (Fit& fit : fits) {
      Alike& alike = known.of_trace[fit.capture->trace];
      const Capture& first = alike.fits.empty() ? *fit.capture : *alike.fits.front().capture;
      alike.same_shapes = alike.same_shapes && AreAlike(*fit.capture, first, /*shapes=*/true);
      alike.fits.push_back(std::move(fit));
    }
    for (const auto& [trace, alike] : known.of_trace) {
      const Capture& first = *known.of_trace.begin()->second.fits.front().capture;
      known.same_shapes =
          known.same_shapes && AreAlike(*alike.fits.front().capture, first, /*shapes=*/true);
    }
    return known;
  }

  struct Choice {
    const Fit* fit;
    bool knows_shapes;
  };

  /// Picks one of the captures that match equally well. Chooses the trace with the smallest batch
  /// size that fits the launch's tokens, else the first trace. Cycles through the captures of that
  /// trace.
  Choice Choose(HostEventId launch, KnownFits& known) {
    std::size_t trace = known.of_trace.begin()->first;
    std::optional<std::int64_t> size;
    const std::optional<std::int64_t> tokens =
        known.of_trace.size() > 1 ? TokensAround(launch) : std::nullopt;
    if (tokens) {
      for (const auto& [other, alike] : known.of_trace) {
        const std::optional<std::int64_t> of_trace = sources_[other].batch_size;
        if (!of_trace || *of_trace < *tokens || (size && *size <= *of_trace)) continue;
        size = of_trace;
        trace = other;
      }
    }
    Alike& alike = known.of_trace.at(trace);
    return {&alike.fits[alike.replays++ % alike.fits.size()],
            alike.same_shapes && (size || known.same_shapes)};
  }

  /// Returns the number of joined tasks of the replay.
  std::int64_t Join(HostEventId launch, const Replay& replay) {
    if (captures_.empty() || replayed_.events.rows() > most_events_) return 0;
    const auto [known, is_new] = fits_.try_emplace(replay.work);
    if (is_new) known->second = Group(FindFits(replay));
    if (known->second.of_trace.empty()) return 0;
    const Choice choice = Choose(launch, known->second);
    if (replayed_.ran.empty()) replayed_.ran.resize(store_.gpu_tasks.rows());
    // Uses the order of the capture, so that an outer event precedes the events inside it.
    std::vector<std::pair<std::uint32_t, GpuTaskId>> order;
    for (std::size_t i = 0; i < replay.tasks.size(); ++i) {
      if (choice.fit->launch_of[i] != Fit::kNone)
        order.emplace_back(choice.fit->launch_of[i], replay.tasks[i]);
    }
    std::sort(order.begin(), order.end());
    std::unordered_map<HostEventId, HostEventId> copies;
    for (const auto& [captured, task] : order)
      replayed_.ran[task.index()] =
          Copy(*choice.fit->capture, captured, launch, choice.knows_shapes, copies);
    return std::ssize(order);
  }

  /// Returns true if a replay gets a copy of the event: an operator, a module, a source line, or a
  /// range of a layer or phase.
  bool Tells(Source& source, HostEventId event) {
    const auto& events = source.store->host_events;
    switch (events.kind[event.index()]) {
      case HostEventKind::kOperator:
        return true;
      case HostEventKind::kPythonFrame: {
        const HostRoles roles = source.names.Roles(events.name[event.index()]);
        return roles.Has(HostRole::kModuleFrame) || !roles.Has(HostRole::kLibraryFrame);
      }
      case HostEventKind::kAnnotation: {
        const HostRoles roles = source.names.Roles(events.name[event.index()]);
        return roles.Has(HostRole::kLayerRange) || roles.Has(HostRole::kForward) ||
               roles.Has(HostRole::kBackward) || roles.Has(HostRole::kOptimizer) ||
               roles.Has(HostRole::kCommunication);
      }
      default:
        return false;
    }
  }

  /// Copies the events around a captured launch that are not yet among `copies`. Returns the copy
  /// of the innermost event, or None() if no event surrounds the launch.
  HostEventId Copy(const Capture& capture, std::uint32_t captured, HostEventId launch,
                   bool with_shapes, std::unordered_map<HostEventId, HostEventId>& copies) {
    Source& source = sources_[capture.trace];
    const auto& events = source.store->host_events;
    std::vector<HostEventId> missing;  // The innermost first.
    HostEventId innermost;
    for (HostEventId at = events.parent[capture.launches[captured].index()];
         at.valid() && events.start[at.index()] >= capture.time.start;
         at = events.parent[at.index()]) {
      if (!Tells(source, at)) continue;
      const auto copied = copies.find(at);
      if (copied != copies.end()) {
        innermost = copied->second;
        break;
      }
      missing.push_back(at);
    }
    std::reverse(missing.begin(), missing.end());
    for (const HostEventId event : missing) {
      const std::size_t row = replayed_.events.rows();
      copiers_[capture.trace].Copy(events, event.index(), replayed_.events);
      replayed_.events.start.MutablePending(row) = store_.host_events.start[launch.index()];
      replayed_.events.duration.MutablePending(row) = DurationNs(0);
      if (!with_shapes) replayed_.events.args.MutablePending(row) = StringId::None();
      replayed_.parents.push_back(innermost);
      innermost = HostEventId(row);
      copies.emplace(event, innermost);
    }
    return innermost;
  }

  TraceStore& store_;
  NameFacts names_;
  std::vector<Source> sources_;  ///< The replaying trace first.
  std::vector<RowCopier> copiers_;
  std::vector<Capture> captures_;
  /// Indices of the captures that name their kernels, by work that they contain.
  std::map<Work, std::vector<std::size_t>> by_work_;
  /// Indices of the captures that do not name their kernels, by number of launches.
  std::map<std::size_t, std::vector<std::size_t>> by_length_;
  std::size_t budget_ = kMaxCompared;
  std::unordered_map<HostEventId, Replay> replays_;  ///< By graph launch.
  std::map<std::vector<Work>, KnownFits> fits_;
  TraceStore::ReplayedEvents replayed_;
  std::size_t most_events_ = 0;
};

}  // namespace

CaptureJoin JoinCaptures(TraceStore& store, const ReferenceData& reference,
                         std::span<const CaptureTrace> captures) {
  const CaptureJoin join = Joiner(store, reference, captures).Run();
  if (!captures.empty() && join.joined_launches < join.launches) {
    store.log.Add(ImportIssue::kUnmatchedCapture, -1,
                  fmt::format("{} of {}", FormatCount(join.launches - join.joined_launches),
                              FormatCount(join.launches)),
                  join.launches - join.joined_launches);
  }
  return join;
}

}  // namespace headroom
