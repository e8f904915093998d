// Finds the operation that each launch belongs to. The profiler stores the operation with the
// kernel, so the operation of a launch is unknown until all planes are read.
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
  /// Records that the call with this correlation id launched `kernel` for the operation `op`.
  /// `args` contains the kernel's arguments.
  void Note(std::int64_t correlation, StringId op, StringId kernel, StringId args) {
    noted_.push_back({correlation, op, kernel, args});
  }

  /// Finds and completes the operators of calls:
  ///
  /// - Host spans with the name of an operation become operators.
  /// - Some profilers record calls on separate threads, as on AMD GPUs. Such calls move to the only
  ///   thread whose operators contain all of them.
  /// - Calls outside any operator get a new operator. It covers successive calls for one operation,
  ///   until a kernel repeats.
  ///
  /// Call it once, before the store is frozen. O(n log n), multiplied by the number of threads with
  /// operators if calls are on separate threads.
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

  LargeVector<Noted> noted_;  ///< Sorted by correlation id after Settle(), with one entry per call.
};

}  // namespace headroom::xla
