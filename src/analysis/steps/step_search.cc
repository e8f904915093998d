#include "analysis/steps/step_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "analysis/gpu/gpu_time.h"
#include "analysis/steps/kernel_steps.h"
#include "analysis/steps/operator_steps.h"
#include "base/ascii.h"
#include "render/number_format.h"

namespace headroom {
namespace {

/// Prefix of the marks of engines that serve language models (vLLM, SGLang).
constexpr std::string_view kMarkOfEngine = "execute_";

/// Host work in a step, except waits for data.
struct HostWork {
  std::int64_t operators = 0;  ///< On the thread of the steps, outside the loader's ranges.
  std::int64_t launches = 0;   ///< On any thread of the process.
};

HostWork CountWork(const TraceStore& store, NameFacts& names, ThreadId loop, Interval when) {
  const auto& events = store.host_events;
  std::vector<bool> loads_data(events.rows());
  const TraceStore::RowRange of_loop = store.HostEventsOf(loop);
  for (std::uint32_t row = of_loop.first; row < of_loop.last; ++row) {
    const HostEventId parent = events.parent[row];
    loads_data[row] = (parent.valid() && loads_data[parent.index()]) ||
                      names.Roles(events.name[row]).Has(HostRole::kDataWait);
  }
  HostWork work;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (store.threads.process[t] != store.threads.process[loop.index()]) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    const std::span<const TimeNs> starts =
        events.start.values().subspan(range.first, range.last - range.first);
    const auto first = std::lower_bound(starts.begin(), starts.end(), when.start);
    for (auto row = range.first + static_cast<std::uint32_t>(first - starts.begin());
         row < range.last && events.start[row] < when.end; ++row) {
      const HostEventKind kind = events.kind[row];
      if (kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall) {
        const HostRoles roles = names.Roles(events.name[row]);
        if (roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch))
          ++work.launches;
      } else if (kind == HostEventKind::kOperator && ThreadId(t) == loop &&
                 events.start[row] > when.start && !loads_data[row]) {
        ++work.operators;
      }
    }
  }
  return work;
}

/// Returns true if the last range is not a step. A profiler begins the next step at the end of an
/// iteration, even after the last one. That step then only asks the loader for a batch that does
/// not come.
bool IsEndOfLoop(const TraceStore& store, NameFacts& names, ThreadId loop, Interval before,
                 Interval last) {
  constexpr std::int64_t kNextToNothing = 10;  // Less than 1/10 of the previous step.
  const HostWork of_before = CountWork(store, names, loop, before);
  const HostWork of_last = CountWork(store, names, loop, last);
  if (of_last.launches > 0 || of_before.launches + of_before.operators == 0) return false;
  return of_last.operators == 0 || of_last.operators * kNextToNothing < of_before.operators;
}

/// Returns "ProfilerStep#N" for "ProfilerStep#12", "step N" for "step 12", "train_step" unchanged,
/// and "execute_..." for the marks of an engine.
std::string MarkerOf(std::string_view name) {
  if (name.starts_with(kMarkOfEngine)) return fmt::format("{}...", kMarkOfEngine);
  if (name.find_first_of("#0123456789") == std::string_view::npos) return std::string(name);
  if (name.find('#') == std::string_view::npos && name.find_first_of("0123456789") != name.npos)
    return fmt::format("{}N", name.substr(0, name.find_last_not_of("0123456789") + 1));
  return fmt::format("{}#N", name.substr(0, name.find('#')));
}

FoundSteps FromAnnotations(const TraceStore& store, NameFacts& names) {
  FoundSteps found;
  if (store.steps.rows() == 0) return found;
  found.source = StepSource::kAnnotation;
  const HostEventId first = store.steps.event[0];
  const std::string_view name =
      first.valid() ? store.Text(store.host_events.name[first.index()]) : "step";
  found.marker = MarkerOf(name);
  found.process = store.threads.process[store.steps.thread[0].index()];
  for (std::size_t s = 0; s < store.steps.rows(); ++s) {
    if (store.threads.process[store.steps.thread[s].index()] != found.process) continue;
    const TimeNs start = store.steps.start[s];
    const HostStep step = {
        store.steps.index[s], {start, start + store.steps.duration[s]}, store.steps.event[s]};
    if (!found.steps.empty()) {
      HostStep& last = found.steps.back();
      // Some profilers write the range twice, as an operator and as an annotation.
      if (step.index == last.index && start < last.host.end) continue;
      last.host.end = std::min(last.host.end, start);
      if (last.host.length().ns() == 0) found.steps.pop_back();
    }
    found.steps.push_back(step);
  }
  if (const std::size_t n = found.steps.size();
      n > 1 && IsEndOfLoop(store, names, store.steps.thread[0], found.steps[n - 2].host,
                           found.steps[n - 1].host)) {
    found.steps.pop_back();
  }
  // A damaged name may lack its number.
  for (std::size_t i = 0; i < found.steps.size(); ++i) {
    if (found.steps[i].index < 0) found.steps[i].index = static_cast<std::int64_t>(i);
  }
  return found;
}

/// Returns the intervals between marks as steps: each runs from one mark to the next.
std::vector<HostStep> BetweenMarks(const std::vector<TimeNs>& marks) {
  std::vector<HostStep> steps;
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    steps.push_back({static_cast<std::int64_t>(i), {marks[i], marks[i + 1]}});
  }
  return steps;
}

/// Returns the standard deviation over the mean of the intervals between marks: 0 is perfectly
/// periodic.
double Unevenness(const std::vector<TimeNs>& marks) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(marks.size() - 1);
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) {
    const auto d = static_cast<double>((marks[i + 1] - marks[i]).ns());
    sum += d;
    squares += d * d;
  }
  const double mean = sum / n;
  return mean <= 0 ? INFINITY : std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
}

/// Minimum number and maximum unevenness of marks that count as steps.
constexpr std::size_t kMinMarks = 3;
constexpr double kEven = 0.05;
constexpr double kUneven = 0.3;

/// @param count  number of marks
std::string ConfidenceOf(double unevenness, std::size_t count) {
  if (unevenness < kEven && count >= 5) return "high";
  return unevenness < kEven * 2 || count >= 5 ? "medium" : "low";
}

/// Events that share a process and a name.
struct MarkSeries {
  std::vector<TimeNs> times;  ///< Sorted.
  DurationNs covered;         ///< Sum of the events' lengths.

  DurationNs Period() const {
    return DurationNs((times.back() - times.front()).ns() /
                      static_cast<std::int64_t>(times.size() - 1));
  }
};
using Marks = std::map<std::pair<ProcessId, StringId>, MarkSeries>;

enum class MarkAt { kStart, kEnd };

/// Returns the host events that satisfy `accept`.
template <typename Accept>
Marks CollectMarks(const TraceStore& store, MarkAt at, Accept accept) {
  Marks marks;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!accept(row)) continue;
    const ProcessId process = store.threads.process[events.thread[row].index()];
    MarkSeries& series = marks[{process, events.name[row]}];
    series.times.push_back(at == MarkAt::kEnd ? store.HostEnd(HostEventId(row))
                                              : events.start[row]);
    series.covered += events.duration[row];
  }
  for (auto& [key, series] : marks) std::sort(series.times.begin(), series.times.end());
  return marks;
}

bool IsPeriodic(const MarkSeries& series, double uneven) {
  return series.times.size() >= kMinMarks && Unevenness(series.times) <= uneven;
}

FoundSteps StepsBetween(const TraceStore& store, const Marks::value_type& marks) {
  FoundSteps found;
  found.source = StepSource::kInferred;
  found.process = marks.first.first;
  found.marker = std::string(store.Text(marks.first.second));
  found.confidence = ConfidenceOf(Unevenness(marks.second.times), marks.second.times.size());
  found.reason = fmt::format("{} marks, and the time between them varies by {:.0f} %",
                             FormatCount(std::ssize(marks.second.times)),
                             100 * Unevenness(marks.second.times));
  found.steps = BetweenMarks(marks.second.times);
  return found;
}

/// Profilers without categories write annotations as operators.
bool IsRange(HostEventKind kind) {
  return kind == HostEventKind::kAnnotation || kind == HostEventKind::kOperator;
}

/// Returns the marks with the longest interval removed, because the first step may compile, or a
/// step may contain an evaluation.
std::vector<TimeNs> WithoutLongestDistance(std::vector<TimeNs> marks) {
  if (marks.size() <= kMinMarks) return marks;
  std::size_t longest = 1;
  for (std::size_t i = 2; i < marks.size(); ++i) {
    if (marks[i] - marks[i - 1] > marks[longest] - marks[longest - 1]) longest = i;
  }
  const DurationNs without = marks[longest] - marks[longest - 1];
  for (std::size_t i = longest; i < marks.size(); ++i) marks[i] = marks[i] - without;
  marks.erase(marks.begin() + static_cast<std::ptrdiff_t>(longest));
  return marks;
}

/// Returns true if similar work runs between the marks of a group and between groups. Then each
/// mark is a step, and occasional events delay some steps. Examples: a loader that delivers in
/// bursts, garbage collection, a checkpoint. Each step has a wait for a batch or, without a loader,
/// operators.
bool GroupsAreOfSteps(const TraceStore& store, NameFacts& names, ProcessId process,
                      const std::vector<TimeNs>& marks, std::size_t group) {
  struct Sums {
    std::map<StringId, std::int64_t> operators;
    std::int64_t waits = 0, stretches = 0;
  };
  Sums inner, between;
  const auto sums_of = [&](std::size_t after) -> Sums& {
    return (after + 1) % group == 0 ? between : inner;
  };
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) ++sums_of(i).stretches;
  const auto& events = store.host_events;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (!IsRange(events.kind[row]) ||
        store.threads.process[events.thread[row].index()] != process ||
        events.start[row] < marks.front() || events.start[row] >= marks.back())
      continue;
    const auto next = std::upper_bound(marks.begin(), marks.end(), events.start[row]);
    Sums& sums = sums_of(static_cast<std::size_t>(next - marks.begin()) - 1);
    if (names.Roles(events.name[row]).Has(HostRole::kDataWait)) ++sums.waits;
    if (events.kind[row] == HostEventKind::kOperator) ++sums.operators[events.name[row]];
  }
  constexpr double kNearly = 0.9, kHalf = 0.5;
  const auto per_stretch = [](std::int64_t count, const Sums& of) {
    return static_cast<double>(count) / static_cast<double>(of.stretches);
  };
  if (inner.waits + between.waits > 0) return per_stretch(inner.waits, inner) >= kNearly;
  double of_inner = 0, of_between = 0, same = 0;
  for (const auto& [name, count] : between.operators) of_between += per_stretch(count, between);
  for (const auto& [name, count] : inner.operators) {
    const auto also = between.operators.find(name);
    of_inner += per_stretch(count, inner);
    if (also != between.operators.end())
      same += std::min(per_stretch(count, inner), per_stretch(also->second, between));
  }
  return of_inner > 0 && same >= kNearly * of_inner && of_inner >= kHalf * of_between;
}

/// Calls visit(interval, row) for each operator between two marks, on the process's threads that
/// update or run backward. Skips the loaders' threads.
template <typename Visit>
void ForOperatorsBetween(const TraceStore& store, NameFacts& names, ProcessId process,
                         const std::vector<TimeNs>& marks, Visit visit) {
  const auto& events = store.host_events;
  const auto trains = [&](std::uint32_t row) {
    return IsRange(events.kind[row]) &&
           (events.forward_thread[row] > 0 ||
            names.Roles(events.name[row]).Has(HostRole::kOptimizerStep) ||
            names.Roles(events.name[row]).Has(HostRole::kBackward));
  };
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (store.threads.process[t] != process) continue;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    bool is_of_training = false;
    for (std::uint32_t row = range.first; row < range.last && !is_of_training; ++row)
      is_of_training = trains(row);
    std::size_t next = 0;  // The first mark after the row.
    for (std::uint32_t row = range.first; row < range.last && is_of_training; ++row) {
      while (next < marks.size() && marks[next] <= events.start[row]) ++next;
      if (next == marks.size()) break;
      if (events.kind[row] == HostEventKind::kOperator && next > 0) visit(next - 1, row);
    }
  }
}

/// Returns the number of marks per step. It is 2 or 3 if a step updates several networks and all
/// updates have the same name (a GAN), else 1.
///
/// In a GAN, nearly every interval between marks resembles the interval two or three before it far
/// more than the previous interval. Each of two successive intervals has operators that the other
/// lacks. An evaluation or a log adds operators and removes none. Two heads that are trained
/// alternately look the same as a GAN and count as one step.
std::size_t UpdatesInTurn(const TraceStore& store, NameFacts& names, ProcessId process,
                          const std::vector<TimeNs>& marks) {
  constexpr std::size_t kMaxTurn = 3, kMinTurns = 3;
  if (marks.size() < 2 * kMinTurns) return 1;
  const std::size_t count = marks.size() - 1;
  const auto nearly_all = [](std::size_t part, std::size_t all) { return part * 10 >= all * 9; };

  // Skips the costly comparison for most jobs. Misses alternating networks with equally many
  // operators.
  std::vector<std::int64_t> totals(count);
  ForOperatorsBetween(store, names, process, marks,
                      [&](std::size_t i, std::uint32_t) { ++totals[i]; });
  std::size_t unequal = 0;
  for (std::size_t i = 1; i < count; ++i) unequal += totals[i] != totals[i - 1] ? 1 : 0;
  if (!nearly_all(unequal, count - 1)) return 1;

  using Counts = std::map<StringId, std::int64_t>;
  std::vector<Counts> stretches(count);
  ForOperatorsBetween(store, names, process, marks, [&](std::size_t i, std::uint32_t row) {
    ++stretches[i][store.host_events.name[row]];
  });
  const auto is_backward = [&](StringId name) {
    const HostRoles roles = names.Roles(name);
    return roles.Has(HostRole::kBackward) || roles.Has(HostRole::kBackwardOperator);
  };
  struct Own {
    std::int64_t count = 0;
    bool backward = false;
  };
  /// Returns the operators of interval `of` that are missing in `than`.
  const auto own = [&](std::size_t of, std::size_t than) {
    Own operators;
    for (const auto& [name, times] : stretches[of]) {
      const auto other = stretches[than].find(name);
      const std::int64_t of_other = other == stretches[than].end() ? 0 : other->second;
      if (times <= of_other) continue;
      operators.count += times - of_other;
      operators.backward = operators.backward || is_backward(name);
    }
    return operators;
  };
  // Augmentation and logs also differ between steps, but have no backward pass and few operators.
  constexpr std::int64_t kMinPart = 20;  // At least 1/20.
  const bool any_backward = std::ranges::any_of(
      stretches.front(), [&](const auto& counted) { return is_backward(counted.first); });
  std::size_t differ = 0;
  std::vector<std::int64_t> from_previous(count);
  for (std::size_t i = 1; i < count; ++i) {
    const Own here = own(i, i - 1), before = own(i - 1, i);
    const bool trains =
        any_backward ? here.backward || before.backward
                     : here.count > totals[i] / kMinPart && before.count > totals[i - 1] / kMinPart;
    differ += here.count > 0 && before.count > 0 && trains ? 1 : 0;
    from_previous[i] = here.count + before.count;
  }
  if (!nearly_all(differ, count - 1)) return 1;
  constexpr std::int64_t kFarLess = 4;
  for (std::size_t turn = 2; turn <= kMaxTurn && count + 1 >= turn * kMinTurns; ++turn) {
    std::size_t alike = 0;
    for (std::size_t i = turn; i < count; ++i) {
      const std::int64_t differing = own(i, i - turn).count + own(i - turn, i).count;
      alike += differing * kFarLess <= from_previous[i] ? 1 : 0;
    }
    if (nearly_all(alike, count - turn)) return turn;
  }
  return 1;
}

/// Returns the last mark of each group if marks come in groups, else all marks. Returns an empty
/// list if the intervals are uneven for every size of group. Ignores the longest interval.
std::vector<TimeNs> LastOfGroups(const TraceStore& store, NameFacts& names, ProcessId process,
                                 const std::vector<TimeNs>& marks) {
  constexpr std::size_t kLargestGroup = 8;
  for (std::size_t group = 1; group <= kLargestGroup && marks.size() >= kMinMarks * group;
       ++group) {
    std::vector<TimeNs> last;
    for (std::size_t i = group - 1; i < marks.size(); i += group) last.push_back(marks[i]);
    const double unevenness = Unevenness(WithoutLongestDistance(last));
    // Few groups may be even by chance.
    constexpr std::size_t kMinGroups = 5;
    if (group == 1 ? unevenness <= kUneven : unevenness <= 2 * kEven && last.size() >= kMinGroups)
      return group > 1 && GroupsAreOfSteps(store, names, process, marks, group) ? marks : last;
  }
  return {};
}

/// Returns the intervals between the ends of Optimizer.step as steps, because it runs once per step
/// by definition. If there are several optimizers, uses the one that steps least often. If several
/// updates have one name (alternating networks, or one update per layer), uses the last of each
/// step.
///
/// @param regular  true to reject uneven marks; if false, two marks suffice
FoundSteps FromOptimizer(const TraceStore& store, NameFacts& names, bool regular) {
  const auto& events = store.host_events;
  const Marks marks = CollectMarks(store, MarkAt::kEnd, [&](std::size_t row) {
    return IsRange(events.kind[row]) && names.Roles(events.name[row]).Has(HostRole::kOptimizerStep);
  });
  std::optional<Marks::value_type> rarest;
  for (const auto& [key, series] : marks) {
    MarkSeries ends = series;
    const std::size_t turn = UpdatesInTurn(store, names, key.first, series.times);
    if (turn > 1) {
      ends.times.clear();
      for (std::size_t i = turn - 1; i < series.times.size(); i += turn)
        ends.times.push_back(series.times[i]);
    } else if (std::vector<TimeNs> last = LastOfGroups(store, names, key.first, series.times);
               !last.empty()) {
      ends.times = std::move(last);
    } else if (regular || series.times.size() < 2) {
      continue;
    }
    if (!rarest || ends.Period() > rarest->second.Period()) rarest.emplace(key, std::move(ends));
  }
  if (!rarest) return {};
  FoundSteps found = StepsBetween(store, *rarest);
  const std::vector<TimeNs>& times = rarest->second.times;
  found.confidence = times.size() < kMinMarks
                         ? "low"
                         : ConfidenceOf(Unevenness(WithoutLongestDistance(times)), times.size());
  return found;
}

/// Returns, by row of host_events, true if the event is inside the range of a layer.
std::vector<bool> FindInsideLayers(const TraceStore& store, NameFacts& names) {
  const auto& events = store.host_events;
  std::vector<bool> inside(events.rows());
  for (std::size_t row = 0; row < events.rows(); ++row) {
    const HostEventId parent = events.parent[row];  // Comes before its children.
    if (!parent.valid()) continue;
    const HostRoles roles = names.Roles(events.name[parent.index()]);
    inside[row] = inside[parent.index()] || roles.Has(HostRole::kLayerRange) ||
                  roles.Has(HostRole::kModuleFrame);
  }
  return inside;
}

/// Returns steps from an annotation that repeats evenly. If several do, takes those that cover the
/// most time, and among these the most frequent one. An epoch covers as much time as its batches,
/// and occasional log ranges cover almost none. Ignores annotations inside a layer, which are part
/// of a pass.
FoundSteps FromRepeatedAnnotation(const TraceStore& store, NameFacts& names) {
  const auto may_mark = [&](std::size_t row) {
    return store.host_events.kind[row] == HostEventKind::kAnnotation &&
           !IsOccasional(names.Roles(store.host_events.name[row]));
  };
  Marks marks = CollectMarks(store, MarkAt::kStart, may_mark);
  constexpr double kAsMuch = 0.9;
  const auto periodic = [](const Marks::value_type& candidate) {
    return IsPeriodic(candidate.second, kUneven / 3);
  };
  if (std::none_of(marks.begin(), marks.end(), periodic)) return {};
  const std::vector<bool> in_layer = FindInsideLayers(store, names);
  marks = CollectMarks(store, MarkAt::kStart,
                       [&](std::size_t row) { return may_mark(row) && !in_layer[row]; });
  DurationNs most;
  for (const Marks::value_type& candidate : marks) {
    if (periodic(candidate)) most = std::max(most, candidate.second.covered);
  }
  const Marks::value_type* best = nullptr;
  for (const Marks::value_type& candidate : marks) {
    const MarkSeries& series = candidate.second;
    if (!periodic(candidate) ||
        static_cast<double>(series.covered.ns()) < kAsMuch * static_cast<double>(most.ns())) {
      continue;
    }
    if (best == nullptr || series.times.size() > best->second.times.size() ||
        (series.times.size() == best->second.times.size() &&
         series.covered > best->second.covered)) {
      best = &candidate;
    }
  }
  if (best == nullptr) return {};
  FoundSteps found = StepsBetween(store, *best);
  // Only the regularity of the annotation suggests a step.
  if (found.confidence == "high") found.confidence = "medium";
  found.reason += "; nothing else suggests that they mark steps";
  return found;
}

/// Returns the leading letters of a mark: the common part of "denoise_step_3" and "denoise_step_4",
/// of "step[DECODE bs=32]" and "step[PREFILL bs=1]", or of "execute_32_context_0..." and
/// "execute_context_1...".
std::string_view WordsOf(std::string_view name) {
  if (name.starts_with(kMarkOfEngine)) return kMarkOfEngine;
  const bool is_bracketed = name.starts_with('[');
  const auto is_word = [&](char c) {
    return IsLetter(c) || c == '_' || (is_bracketed && (c == '[' || c == ']'));
  };
  const std::size_t begin = name.find_first_not_of("# ");
  if (begin == std::string_view::npos) return name;
  std::size_t end = begin;
  while (end < name.size() && is_word(name[end])) ++end;
  return name.substr(begin, end - begin);
}

/// Returns steps from ranges whose names count iterations. If there are several kinds, takes the
/// kind that covers the most time. A step lasts until the next range, but excludes a pause. Work
/// between two ranges (a fetch) belongs to the first range's step.
FoundSteps FromIterationMarks(const TraceStore& store, NameFacts& names) {
  struct Series {
    std::vector<HostEventId> ranges;
    DurationNs covered;
  };
  const auto& events = store.host_events;
  std::map<std::pair<ProcessId, std::string_view>, Series> by_words;
  for (std::size_t row = 0; row < events.rows(); ++row) {
    if (events.kind[row] != HostEventKind::kAnnotation ||
        !names.Roles(events.name[row]).Has(HostRole::kIteration))
      continue;
    Series& series = by_words[{store.threads.process[events.thread[row].index()],
                               WordsOf(store.Text(events.name[row]))}];
    series.ranges.emplace_back(row);
  }
  const decltype(by_words)::value_type* best = nullptr;
  for (auto& entry : by_words) {
    std::vector<HostEventId>& ranges = entry.second.ranges;
    std::stable_sort(ranges.begin(), ranges.end(), [&](HostEventId a, HostEventId b) {
      return events.start[a.index()] < events.start[b.index()];
    });
    // Ranges inside another range, or on a second thread at the same time, are parts of a step.
    std::vector<HostEventId> outer;
    for (const HostEventId range : ranges) {
      if (!outer.empty() && events.start[range.index()] < store.HostEnd(outer.back())) continue;
      outer.push_back(range);
      entry.second.covered += events.duration[range.index()];
    }
    ranges = std::move(outer);
    if (best == nullptr || entry.second.covered > best->second.covered) best = &entry;
  }
  FoundSteps found;
  if (best == nullptr || best->second.covered.ns() <= 0) return found;
  const std::vector<HostEventId>& ranges = best->second.ranges;
  std::vector<DurationNs> gaps;
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i)
    gaps.push_back(events.start[ranges[i + 1].index()] - store.HostEnd(ranges[i]));
  std::vector<DurationNs> sorted = gaps;
  std::sort(sorted.begin(), sorted.end());
  // If the ranges cover only part of a step, the recording lacks the rest of the last step.
  constexpr std::int64_t kNextToNothing = 20;
  const DurationNs gap = sorted.empty() ? DurationNs(0) : sorted[sorted.size() / 2];
  const bool is_whole = ranges.size() < kMinMarks ||
                        gap.ns() <= best->second.covered.ns() /
                                        (kNextToNothing * static_cast<std::int64_t>(ranges.size()));
  found.source = is_whole ? StepSource::kAnnotation : StepSource::kInferred;
  if (!is_whole) {
    found.confidence = ranges.size() >= 5 ? "high" : "medium";
    found.reason =
        fmt::format("the names of {} ranges count iterations, but time passes between the ranges",
                    FormatCount(std::ssize(ranges)));
  }
  found.marker = MarkerOf(store.Text(events.name[ranges.front().index()]));
  found.process = best->first.first;
  const IntervalSet busy = FindBusyTime(store, ProcessId());
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Interval span = {events.start[ranges[i].index()], store.HostEnd(ranges[i])};
    if (i == gaps.size() && !is_whole) break;
    // GPU work in a gap is not part of a pause, because the host waits for work that it launched.
    const bool pauses =
        i == gaps.size() ||
        gaps[i] - busy.MeasureWithin({span.end, span.end + gaps[i]}) > gap + gap + span.length();
    if (!pauses) span.end += gaps[i];
    if (span.length().ns() > 0)
      found.steps.push_back({static_cast<std::int64_t>(found.steps.size()), span, ranges[i]});
  }
  return found;
}

/// Returns the smallest number of names after which the sequence repeats, or 0 if it does not.
std::size_t PeriodOf(const std::vector<StringId>& names) {
  // By position: the length of the longest shorter prefix that ends there.
  std::vector<std::size_t> border(names.size());
  for (std::size_t i = 1; i < names.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && names[i] != names[length]) length = border[length - 1];
    border[i] = names[i] == names[length] ? length + 1 : 0;
  }
  const std::size_t period = names.size() - (names.empty() ? 0 : border.back());
  return 2 * period <= names.size() ? period : 0;
}

/// Runs of programs on a track of a device, in order.
struct ProgramRuns {
  std::vector<Interval> spans;
  std::vector<StringId> names;
  DurationNs covered;
};

/// Returns the steps of a track. Alternating programs form one step, which ends with the rarest
/// program (the update after the gradients of micro-batches). Otherwise each run of the program
/// with the most time is a step.
ProgramRuns StepsOfPrograms(const ProgramRuns& runs) {
  std::map<StringId, DurationNs> time;
  std::map<StringId, std::size_t> count;
  for (std::size_t i = 0; i < runs.names.size(); ++i) {
    time[runs.names[i]] += runs.spans[i].length();
    ++count[runs.names[i]];
  }
  ProgramRuns steps;
  const std::size_t period = PeriodOf(runs.names);
  if (period > 1) {
    const auto rarest =
        std::min_element(count.begin(), count.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const StringId last = rarest->first;
    const auto in_period = std::count(
        runs.names.begin(), runs.names.begin() + static_cast<std::ptrdiff_t>(period), last);
    std::size_t first = 0;
    for (std::size_t i = 0; i < runs.names.size() && in_period == 1; ++i) {
      if (runs.names[i] != last) continue;
      if (i + 1 - first == period) {
        steps.spans.push_back({runs.spans[first].start, runs.spans[i].end});
        steps.names.push_back(last);
      }
      first = i + 1;
    }
  }
  if (steps.spans.size() < 2) {
    steps = {};
    const auto most = std::max_element(
        time.begin(), time.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (std::size_t i = 0; i < runs.names.size(); ++i) {
      if (runs.names[i] != most->first) continue;
      steps.spans.push_back(runs.spans[i]);
      steps.names.push_back(runs.names[i]);
    }
  }
  for (const Interval& span : steps.spans) steps.covered += span.length();
  return steps;
}

/// Returns runs of the programs with most of a device's time, from the device's program track.
/// Applies if the profiler records no launches (XLA on TPUs), because the host only dispatches
/// programs, far ahead of the device.
FoundSteps FromProgramRuns(const TraceStore& store) {
  constexpr std::string_view kTrack = "XLA Modules";
  const auto& events = store.host_events;
  const auto& tasks = store.gpu_tasks;
  if (std::any_of(tasks.launch.values().begin(), tasks.launch.values().end(),
                  [](HostEventId launch) { return launch.valid(); }))
    return {};
  ProgramRuns best;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    if (store.Text(store.threads.name[t]) != kTrack) continue;
    ProgramRuns runs;
    const TraceStore::RowRange range = store.HostEventsOf(ThreadId(t));
    for (std::uint32_t row = range.first; row < range.last; ++row) {
      runs.spans.push_back({events.start[row], store.HostEnd(HostEventId(row))});
      runs.names.push_back(events.name[row]);
    }
    if (runs.spans.empty()) continue;
    if (ProgramRuns steps = StepsOfPrograms(runs); steps.covered > best.covered)
      best = std::move(steps);
  }
  FoundSteps found;
  if (best.spans.empty()) return found;
  found.source = StepSource::kInferred;
  found.on_gpu = true;
  found.marker = store.Text(best.names.front());
  found.confidence = best.spans.size() >= kMinMarks ? "high" : "medium";
  found.reason = fmt::format("{} of the programs that take most of the device's time",
                             Plural(std::ssize(best.spans), "run"));
  for (std::size_t i = 0; i < best.spans.size(); ++i) {
    Interval span = best.spans[i];
    if (i + 1 < best.spans.size()) span.end = best.spans[i + 1].start;
    if (span.length().ns() > 0) found.steps.push_back({static_cast<std::int64_t>(i), span});
  }
  return found;
}

/// Returns true if the host's marks cover far less time than the programs on the device. Then they
/// mark dispatches, which run far ahead of the device.
bool MarkDispatches(const FoundSteps& marks, const FoundSteps& runs) {
  const auto covered = [](const FoundSteps& found) {
    DurationNs sum;
    for (const HostStep& step : found.steps) sum += step.host.length();
    return static_cast<double>(sum.ns());
  };
  constexpr double kNearly = 0.9;
  return covered(marks) < kNearly * covered(runs);
}

/// Returns steps from kernels that repeat in the same order.
///
/// @param updates  true to require an optimizer update in each step
FoundSteps FromKernelSequence(const TraceStore& store, NameFacts& names, bool updates = false) {
  constexpr std::size_t kMany = 5;
  constexpr double kNearlyAll = 0.8;
  KernelSteps repeated = FindKernelSteps(store, names);
  FoundSteps found;
  if (repeated.spans.empty() || (updates && !repeated.has_update)) return found;
  const std::size_t count = repeated.spans.size();
  const bool exact =
      repeated.exact * 10 >= count * 9 && !repeated.of_families && !repeated.by_times;
  found.source = StepSource::kInferred;
  found.process = repeated.process;
  found.on_gpu = repeated.on_gpu;
  found.marker =
      fmt::format("{}{} kernels in the same order", exact ? "" : "about ", repeated.kernels);
  found.confidence = exact && count >= kMany && repeated.covered >= kNearlyAll ? "high"
                     : exact || count >= kMany                                 ? "medium"
                                                                               : "low";
  found.reason = fmt::format(
      "{} of {} repetitions {}; the repetitions take {:.0f} % of the stream's kernel time{}",
      FormatCount(static_cast<std::int64_t>(std::min(repeated.exact, count))),
      FormatCount(static_cast<std::int64_t>(count)),
      repeated.of_families ? "are identical except for the sizes of products and convolutions"
                           : "are identical",
      100 * repeated.covered,
      repeated.by_times ? "; only the timing shows where a repetition ends" : "");
  for (std::size_t i = 0; i < count; ++i)
    found.steps.push_back({static_cast<std::int64_t>(i), repeated.spans[i]});
  return found;
}

/// Returns steps from operators that repeat in the same order, if there is no GPU work.
FoundSteps FromOperatorSequence(const TraceStore& store) {
  const OperatorSteps repeated = FindOperatorSteps(store);
  FoundSteps found;
  if (repeated.spans.empty()) return found;
  found.source = StepSource::kInferred;
  found.process = repeated.process;
  found.marker = fmt::format("{} in the same order",
                             Plural(static_cast<std::int64_t>(repeated.operators), "operator"));
  found.confidence = "medium";
  found.reason = fmt::format(
      "{} identical repetitions, and no other operators; no range marks the repetitions",
      FormatCount(std::ssize(repeated.spans)));
  for (std::size_t i = 0; i < repeated.spans.size(); ++i)
    found.steps.push_back({static_cast<std::int64_t>(i), repeated.spans[i]});
  return found;
}

Result<FoundSteps> FromMarker(const TraceStore& store, const std::string& marker) {
  const Marks by_name = CollectMarks(store, MarkAt::kStart, [&](std::size_t row) {
    return store.host_events.kind[row] != HostEventKind::kGpuAnnotation &&
           store.Text(store.host_events.name[row]).starts_with(marker);
  });
  // The names may contain numbers, so this combines all names. If several processes have such
  // events, the one that begins first has the steps.
  std::map<ProcessId, std::vector<TimeNs>> by_process;
  for (const auto& [key, series] : by_name) {
    std::vector<TimeNs>& of_process = by_process[key.first];
    of_process.insert(of_process.end(), series.times.begin(), series.times.end());
  }
  FoundSteps found;
  std::vector<TimeNs> times;
  for (auto& [process, of_process] : by_process) {
    std::sort(of_process.begin(), of_process.end());
    of_process.erase(std::unique(of_process.begin(), of_process.end()), of_process.end());
    const auto rank = [](const std::vector<TimeNs>& t) {
      return std::tuple(t.size() < 2, t.front());
    };
    if (!times.empty() && rank(times) <= rank(of_process)) continue;
    times = of_process;
    found.process = process;
  }
  if (times.size() < 2) {
    return Status::Usage(
        fmt::format("--step-marker: {} event in the trace has a name that starts with the marker; "
                    "use a marker that begins the names of at least two events",
                    times.empty() ? "no" : "only one"));
  }
  found.source = StepSource::kGiven;
  found.marker = marker;
  found.steps = BetweenMarks(times);
  return found;
}

}  // namespace

bool IsOccasional(HostRoles roles) {
  constexpr HostRole kOccasional[] = {HostRole::kEvaluation,        HostRole::kCheckpoint,
                                      HostRole::kEpochEdge,         HostRole::kCompilation,
                                      HostRole::kGarbageCollection, HostRole::kAutotuning};
  return std::any_of(std::begin(kOccasional), std::end(kOccasional),
                     [&](HostRole role) { return roles.Has(role); });
}

Result<FoundSteps> FindSteps(const TraceStore& store, NameFacts& names,
                             const AnalysisOptions& options) {
  if (!options.known_steps.empty()) {
    return FoundSteps{.source = StepSource::kGiven,
                      .confidence = {},
                      .reason = {},
                      .marker = {},
                      .process = options.process_of_steps,
                      .steps = options.known_steps};
  }
  if (!options.step_marker.empty()) return FromMarker(store, options.step_marker);
  FoundSteps found = FromAnnotations(store, names);
  if (found.steps.empty()) found = FromIterationMarks(store, names);
  FoundSteps runs = FromProgramRuns(store);
  if (!runs.steps.empty() && (found.steps.empty() || MarkDispatches(found, runs)))
    found = std::move(runs);
  if (found.steps.empty()) found = FromOptimizer(store, names, /*regular=*/true);
  // Without a GPU, even an uneven optimizer is the most reliable mark.
  const bool has_gpu = store.gpu_tasks.rows() > 0;
  if (found.steps.empty() && !has_gpu) found = FromOptimizer(store, names, /*regular=*/false);
  if (found.steps.empty()) {
    found = FromRepeatedAnnotation(store, names);
    // A range that recurs only every few updates does not mark steps. Example: logging.
    const std::size_t least = 2 * found.steps.size();
    if (least > 0) {
      FoundSteps updates = FromOptimizer(store, names, /*regular=*/false);
      if (updates.steps.size() < least)
        updates = FromKernelSequence(store, names, /*updates=*/true);
      if (updates.steps.size() >= least) found = std::move(updates);
    }
  }
  if (found.steps.empty()) found = FromKernelSequence(store, names);
  if (found.steps.empty()) found = FromOptimizer(store, names, /*regular=*/false);
  if (found.steps.empty()) found = FromOperatorSequence(store);
  return found;
}

}  // namespace headroom
