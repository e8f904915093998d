#include "analysis/names/feeders.h"

#include <cstdint>
#include <map>

namespace headroom {
namespace {

struct ThreadFacts {
  bool fetches = false;
  bool has_marks = false;     ///< Has marks of the loop, see FindFeeders().
  std::int64_t launches = 0;  ///< Number of kernel launches outside fetches.
};

ThreadFacts FactsOf(const TraceStore& store, NameFacts& names, ThreadId thread) {
  const auto& events = store.host_events;
  const TraceStore::RowRange range = store.HostEventsOf(thread);
  ThreadFacts facts;
  TimeNs fetching(INT64_MIN);
  for (std::uint32_t row = range.first; row < range.last; ++row) {
    const HostEventKind kind = events.kind[row];
    if (kind == HostEventKind::kGpuAnnotation || kind == HostEventKind::kPythonFrame) continue;
    const HostRoles roles = names.Roles(events.name[row]);
    if (roles.Has(HostRole::kDataWait)) {
      facts.fetches = true;
      fetching = std::max(fetching, store.HostEnd(HostEventId(row)));
    }
    if (roles.Has(HostRole::kOptimizer) || roles.Has(HostRole::kOptimizerStep) ||
        (kind == HostEventKind::kAnnotation &&
         (roles.Has(HostRole::kIteration) || roles.Has(HostRole::kBackward))))
      facts.has_marks = true;
    if (events.start[row] >= fetching &&
        (roles.Has(HostRole::kKernelLaunch) || roles.Has(HostRole::kGraphLaunch)))
      ++facts.launches;
  }
  return facts;
}

}  // namespace

std::vector<bool> FindFeeders(const TraceStore& store, NameFacts& names) {
  std::vector<bool> feeders(store.threads.rows());
  std::vector<ThreadFacts> facts;
  bool any_fetches = false;
  for (std::size_t t = 0; t < store.threads.rows(); ++t) {
    facts.push_back(FactsOf(store, names, ThreadId(t)));
    any_fetches = any_fetches || facts.back().fetches;
  }
  if (!any_fetches) return feeders;
  for (const ThreadId thread : store.steps.thread.values()) facts[thread.index()].has_marks = true;

  struct Loop {
    bool has_marks = false;
    std::int64_t launches = 0;  ///< Maximum over its threads.
  };
  std::map<ProcessId, Loop> loops;
  for (std::size_t t = 0; t < facts.size(); ++t) {
    Loop& loop = loops[store.threads.process[t]];
    loop.has_marks = loop.has_marks || facts[t].has_marks;
    loop.launches = std::max(loop.launches, facts[t].launches);
  }
  for (std::size_t t = 0; t < facts.size(); ++t) {
    const Loop& loop = loops[store.threads.process[t]];
    // The loop's thread launches the forward pass. The autograd thread launches slightly more
    // kernels.
    constexpr std::int64_t kFarMore = 4;
    feeders[t] =
        facts[t].fetches &&
        (loop.has_marks ? !facts[t].has_marks : kFarMore * facts[t].launches < loop.launches);
  }
  return feeders;
}

}  // namespace headroom
