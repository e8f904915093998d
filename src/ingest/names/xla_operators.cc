#include "ingest/names/xla_operators.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "ingest/names/xla_names.h"
#include "store/natural_sort.h"

namespace headroom::xla {
namespace {

/// An operator that is being built around calls.
struct DrawnOperator {
  StringId op, args;
  ThreadId thread;
  TimeNs start, end;
  std::vector<StringId> kernels;
};

void AppendOperator(const DrawnOperator& drawn, StringId category, TraceStore& store) {
  auto& rows = store.host_events;
  const std::size_t row = AppendUnknown(rows);
  rows.start.MutablePending(row) = drawn.start;
  rows.duration.MutablePending(row) = drawn.end - drawn.start;
  rows.name.MutablePending(row) = drawn.op;
  rows.category.MutablePending(row) = category;
  rows.thread.MutablePending(row) = drawn.thread;
  rows.kind.MutablePending(row) = HostEventKind::kOperator;
  rows.args.MutablePending(row) = drawn.args;
}

bool IsApiCall(HostEventKind kind) {
  return kind == HostEventKind::kRuntimeCall || kind == HostEventKind::kDriverCall;
}

}  // namespace

void LaunchedOperators::DropAmbiguous() {
  NaturalStableSort(noted_,
                    [](const Noted& a, const Noted& b) { return a.correlation < b.correlation; });
  std::size_t kept = 0;
  for (std::size_t i = 0, next = 0; i < noted_.size(); i = next) {
    bool same = true;
    for (next = i + 1; next < noted_.size() && noted_[next].correlation == noted_[i].correlation;
         ++next)
      same = same && noted_[next].op == noted_[i].op;
    // A call that launches kernels of several operations (a graph launch) is assigned to none of
    // them.
    if (same) noted_[kept++] = noted_[i];
  }
  noted_.resize(kept);
}

LaunchedOperators::Spans LaunchedOperators::FindSpans(TraceStore& store, StringId category) const {
  auto& rows = store.host_events;
  std::unordered_map<StringId, StringId> args_of;  // Arguments by operation, from its first kernel.
  for (const Noted& noted : noted_) args_of.try_emplace(noted.op, noted.args);
  Spans spans;
  auto of_thread = spans.end();  // Rows are grouped by thread.
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const HostEventKind kind = rows.kind.Pending(row);
    if (kind != HostEventKind::kAnnotation && kind != HostEventKind::kOperator) continue;
    const auto known = args_of.find(rows.name.Pending(row));
    if (known == args_of.end()) continue;
    rows.kind.MutablePending(row) = HostEventKind::kOperator;
    rows.category.MutablePending(row) = category;
    if (!rows.args.Pending(row).valid()) rows.args.MutablePending(row) = known->second;
    const TimeNs start = rows.start.Pending(row);
    const ThreadId thread = rows.thread.Pending(row);
    if (of_thread == spans.end() || of_thread->first != thread)
      of_thread = spans.try_emplace(thread).first;
    of_thread->second[known->first].emplace_back(start, start + rows.duration.Pending(row));
  }
  for (auto& [thread, lists] : spans) {
    for (auto& [op, list] : lists) std::sort(list.begin(), list.end());
  }
  return spans;
}

LargeVector<LaunchedOperators::Call> LaunchedOperators::FindCalls(const TraceStore& store) const {
  const auto& rows = store.host_events;
  LargeVector<Call> calls;
  calls.reserve(noted_.size());
  auto near = noted_.begin();  // Calls are almost sorted by correlation id.
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const std::int64_t correlation = rows.correlation.Pending(row);
    if (correlation == kUnknown || !IsApiCall(rows.kind.Pending(row))) continue;
    if (near == noted_.end() || near->correlation != correlation) {
      near = std::lower_bound(
          noted_.begin(), noted_.end(), correlation,
          [](const Noted& noted, std::int64_t wanted) { return noted.correlation < wanted; });
      if (near == noted_.end() || near->correlation != correlation) continue;
    }
    calls.push_back({row, &*near++});
  }
  return calls;
}

bool LaunchedOperators::IsInside(const Call& call, ThreadId thread, const Spans& spans,
                                 const TraceStore& store) {
  const auto of_thread = spans.find(thread);
  if (of_thread == spans.end()) return false;
  const auto list = of_thread->second.find(call.noted->op);
  if (list == of_thread->second.end()) return false;
  const TimeNs start = store.host_events.start.Pending(call.row);
  const auto after = std::upper_bound(list->second.begin(), list->second.end(),
                                      std::pair(start, TimeNs(INT64_MAX)));
  return after != list->second.begin() && start < std::prev(after)->second;
}

void LaunchedOperators::JoinThreads(const LargeVector<Call>& calls, const Spans& spans,
                                    TraceStore& store) {
  constexpr std::size_t kMinCalls = 3;  // Fewer calls may be inside operators by chance.
  constexpr std::size_t kMaxThreads = 256;
  auto& rows = store.host_events;
  if (spans.empty() || spans.size() > kMaxThreads) return;
  std::vector<bool> has_more(
      store.threads.rows());  // True for threads with events other than calls.
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    if (!IsApiCall(rows.kind.Pending(row))) has_more[rows.thread.Pending(row).index()] = true;
  }
  std::map<ThreadId, std::vector<const Call*>> apart;
  for (const Call& call : calls) {
    const ThreadId thread = rows.thread.Pending(call.row);
    if (!has_more[thread.index()]) apart[thread].push_back(&call);
  }
  std::map<ThreadId, ThreadId> joined;
  for (const auto& [thread, of_thread] : apart) {
    if (of_thread.size() < kMinCalls) continue;
    ThreadId only;
    std::size_t holders = 0;
    for (const auto& of_candidate : spans) {
      const ThreadId candidate = of_candidate.first;
      const bool holds_all = std::all_of(of_thread.begin(), of_thread.end(), [&](const Call* call) {
        return IsInside(*call, candidate, spans, store);
      });
      if (!holds_all) continue;
      only = candidate;
      ++holders;
    }
    if (holders == 1) joined[thread] = only;
  }
  if (joined.empty()) return;
  for (std::size_t row = 0; row < rows.rows(); ++row) {
    const auto found = joined.find(rows.thread.Pending(row));
    if (found != joined.end()) rows.thread.MutablePending(row) = found->second;
  }
}

void LaunchedOperators::Settle(TraceStore& store) {
  if (noted_.empty()) return;
  const auto& rows = store.host_events;
  const StringId category = store.strings.Intern(kOperatorCategory);
  const Spans spans = FindSpans(store, category);
  DropAmbiguous();
  LargeVector<Call> calls = FindCalls(store);
  JoinThreads(calls, spans, store);
  NaturalStableSort(calls, [&](const Call& a, const Call& b) {
    return std::tuple(rows.thread.Pending(a.row), rows.start.Pending(a.row), a.row) <
           std::tuple(rows.thread.Pending(b.row), rows.start.Pending(b.row), b.row);
  });
  DrawnOperator drawn;
  const auto finish = [&] {
    if (drawn.op.valid()) AppendOperator(drawn, category, store);
    drawn = {};
  };
  for (const Call& call : calls) {
    const ThreadId thread = rows.thread.Pending(call.row);
    if (IsInside(call, thread, spans, store)) {
      finish();
      continue;
    }
    const TimeNs start = rows.start.Pending(call.row);
    const TimeNs end = start + rows.duration.Pending(call.row);
    constexpr std::size_t kMaxKernels = 64;  // Bounds the search in drawn.kernels.
    const bool again = drawn.kernels.size() == kMaxKernels ||
                       std::find(drawn.kernels.begin(), drawn.kernels.end(), call.noted->kernel) !=
                           drawn.kernels.end();
    if (again || drawn.op != call.noted->op || drawn.thread != thread ||
        drawn.args != call.noted->args) {
      finish();
      drawn = {call.noted->op, call.noted->args, thread, start, end, {}};
    }
    drawn.end = std::max(drawn.end, end);
    drawn.kernels.push_back(call.noted->kernel);
  }
  finish();
  noted_ = {};
}

}  // namespace headroom::xla
