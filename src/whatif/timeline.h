// The predicted timeline of a plan: when every call and GPU task of one cycle of steps would run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// Difference of a span from the unchanged job.
enum class SpanMark : std::uint8_t { kNone, kChanged, kInserted };

struct TimelineSpan {
  std::string_view name;
  TaskIndex origin = kNoTask;  ///< Task of the graph; kNoTask if inserted.
  std::int64_t start_ns = 0, duration_ns = 0;
  /// Joins calls to their GPU tasks; 0 if the call launches nothing, or if the task was launched in
  /// an earlier cycle.
  std::int64_t correlation = 0;
  ThreadId thread = {};  ///< Thread of a call.
  StreamId stream = {};  ///< Stream of a GPU task.
  /// Channel of a transfer.
  std::int32_t channel = kNoChannel;
  SpanMark mark = SpanMark::kNone;
};

struct TimelineStep {
  std::int64_t index = 0;
  std::int64_t start_ns = 0, duration_ns = 0;
  ThreadId thread;
};

/// Times are in ns and begin at 0.
struct Timeline {
  std::vector<TimelineStep> steps;
  std::vector<TimelineSpan> calls;
  /// Begins with the tasks that an earlier cycle left in the queues.
  std::vector<TimelineSpan> gpu_tasks;
  /// Tasks on channels in order of time. They run on no stream, and no call launches them.
  std::vector<TimelineSpan> transfers;
  std::vector<std::string> channels;  ///< Names of the channels.
};

/// Returns the last cycle of a replay, stretched to the forecast step time. Leaves out removed
/// tasks. If none of a step's calls remains but a scenario launches GPU work, the step's first call
/// stands for the launch of a graph.
Timeline PredictTimeline(const Job& job, const EditedPlan& edited);

}  // namespace headroom
