// Sampled stacks of a program, by part of the step and by line of the program's own code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "analysis/loop/breakdown.h"
#include "analysis/steps/steps.h"
#include "analysis/values/report.h"
#include "base/interval_set.h"
#include "store/trace_store.h"

namespace headroom {

/// Category of the instants that hold samples: the name is the stack, frames separated by ';',
/// outermost first; the argument `samples` is their number (docs/recording.md).
inline constexpr std::string_view kStackCategory = "stack";

/// Frame of Python's import system.
inline constexpr std::string_view kImportFrame = "import";

/// Samples of one thread, in order of time.
struct StackSamples {
  struct Sample {
    TimeNs time;
    StringId stack;
    std::int64_t count = 0;  ///< Requests that one call of the thread kept waiting.
  };
  std::vector<Sample> list;
  DurationNs interval;  ///< Mean time between two requests; 0 for fewer than two.

  /// Returns the time from each sample that `is_wanted` accepts to the next one.
  IntervalSet TimeOf(const std::function<bool(StringId stack)>& is_wanted) const;
};

/// Returns the samples of all threads that have some.
std::map<ThreadId, StackSamples> StacksByThread(const TraceStore& store);

/// Returns true if a frame of the stack is `frame`.
bool HasFrame(std::string_view stack, std::string_view frame);

/// Returns the innermost frame of the program's own code, or the innermost frame of all if no code
/// is the program's. Code of libraries is below `site-packages/`, `dist-packages/` or `python3.`.
std::string_view OwnFrame(std::string_view stack);

/// Returns one row per stack and part, the longest first. Frames of libraries have no line number,
/// and repeated frames of a recursion count once.
///
/// The part of a sample of the loop's thread is the part of the step at its time; in other threads
/// of the loop's process it is "other threads", in other processes "loader workers".
///
/// @param steps  the judged steps
/// @param host   covers the steps
std::vector<StackRow> StackTable(const TraceStore& store, const StepAnalysis& steps,
                                 const HostActivity& host);

/// Joins the rows whose innermost own frame and part agree, the longest first. `stack` is that
/// frame.
std::vector<StackRow> ByOwnLine(const std::vector<StackRow>& rows);

}  // namespace headroom
