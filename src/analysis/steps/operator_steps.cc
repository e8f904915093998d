#include "analysis/steps/operator_steps.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "analysis/steps/repetition.h"

namespace headroom {
namespace {

/// The outermost operators of a thread in order.
struct OperatorSequence {
  ThreadId thread;
  std::vector<HostEventId> operators;
  std::vector<std::uint32_t> symbols;
  std::vector<std::int64_t> weight_before = {0};

  std::int64_t Weight() const { return weight_before.back(); }
};

OperatorSequence SequenceOf(const TraceStore& store, ThreadId thread) {
  const auto& events = store.host_events;
  const TraceStore::RowRange range = store.HostEventsOf(thread);
  OperatorSequence sequence;
  sequence.thread = thread;
  TimeNs until(INT64_MIN);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    if (events.kind[row] != HostEventKind::kOperator || events.start[row] < until) continue;
    until = store.HostEnd(HostEventId(row));
    sequence.operators.emplace_back(row);
    sequence.symbols.push_back(static_cast<std::uint32_t>(events.name[row].index()));
    sequence.weight_before.push_back(sequence.Weight() +
                                     std::max<std::int64_t>(events.duration[row].ns(), 0));
  }
  return sequence;
}

}  // namespace

OperatorSteps FindOperatorSteps(const TraceStore& store) {
  constexpr std::size_t kMinCount = 3;
  OperatorSteps found;
  if (store.gpu_tasks.rows() > 0) return found;
  OperatorSequence longest;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    OperatorSequence sequence = SequenceOf(store, ThreadId(t));
    if (sequence.Weight() > longest.Weight()) longest = std::move(sequence);
  }
  for (const Repetition& repetition :
       FindRepetitions(longest.symbols, longest.weight_before, kMinCount)) {
    // A repetition includes partial units at its ends, so operators outside it are other work.
    if (repetition.first > 0 || repetition.last < longest.symbols.size()) continue;
    const auto& start = store.host_events.start;
    for (std::size_t at = repetition.first; at + repetition.period <= repetition.last;
         at += repetition.period) {
      const std::size_t next = at + repetition.period;
      const TimeNs begin = start[longest.operators[at].index()];
      const TimeNs end = next < longest.operators.size() ? start[longest.operators[next].index()]
                                                         : store.HostEnd(longest.operators.back());
      found.spans.push_back({begin, end});
    }
    found.process = store.threads.process[longest.thread.index()];
    found.operators = repetition.period;
    break;
  }
  return found;
}

}  // namespace headroom
