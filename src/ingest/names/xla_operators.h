// Which operation of the program each launch is for. The profiler writes that beside the kernel, so
// it is known only when all planes are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/large_vector.h"
#include "base/time.h"
#include "store/trace_store.h"

namespace headroom::xla {

class LaunchedOperators {
 public:
  /// Notes that a call with this number launched a kernel for an operation; `args` holds what is
  /// known of it.
  void Note(std::int64_t correlation, StringId op, StringId kernel, StringId args) {
    noted_.push_back({correlation, op, kernel, args});
  }

  /// Makes operators of host spans that bear the name of an operation. Calls that were recorded
  /// apart, as on AMD GPUs, are put on the one thread whose operators hold all of them. Around
  /// calls that still are in no operator, one is drawn: calls in a row for one operation are one
  /// operator, until a kernel comes again. To be called once, before the store is frozen.
  /// O(n log n), and for calls that were recorded apart times the threads of operators.
  void Settle(TraceStore& store);

 private:
  struct Noted {
    std::int64_t correlation;
    StringId op, kernel, args;
  };
  struct Call {
    std::size_t row;
    const Noted* noted;
  };
  /// Spans of one thread and operation, in order of start.
  using SpanList = std::vector<std::pair<TimeNs, TimeNs>>;
  using Spans = std::map<ThreadId, std::unordered_map<StringId, SpanList>>;

  void DropAmbiguous();
  Spans FindSpans(TraceStore& store, StringId category) const;
  LargeVector<Call> FindCalls(const TraceStore& store) const;
  static bool IsInside(const Call& call, ThreadId thread, const Spans& spans,
                       const TraceStore& store);
  static void JoinThreads(const LargeVector<Call>& calls, const Spans& spans, TraceStore& store);

  LargeVector<Noted> noted_;  ///< By correlation once settled; one a call.
};

}  // namespace headroom::xla
