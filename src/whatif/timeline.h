// The predicted timeline of a plan: when every call and GPU task of one cycle of steps would run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// How a span differs from the job as it is.
enum class SpanMark : std::uint8_t { kNone, kChanged, kInserted };

struct TimelineSpan {
  std::string_view name;
  TaskIndex origin = kNoTask;  ///< Of the graph; kNoTask: inserted.
  std::int64_t start_ns = 0, duration_ns = 0;
  /// Joins calls to what they launch; 0: launches nothing, or was launched before.
  std::int64_t correlation = 0;
  ThreadId thread = {};  ///< Of a call.
  StreamId stream = {};  ///< Of a GPU task.
  /// Of a transfer: its channel.
  std::int32_t channel = kNoChannel;
  SpanMark mark = SpanMark::kNone;
};

struct TimelineStep {
  std::int64_t index = 0;
  std::int64_t start_ns = 0, duration_ns = 0;
  ThreadId thread;
};

/// Times begin at 0.
struct Timeline {
  std::vector<TimelineStep> steps;
  std::vector<TimelineSpan> calls;
  /// First what an earlier cycle left in the queues when this one begins.
  std::vector<TimelineSpan> gpu_tasks;
  /// What runs on channels, in order of time: neither on a stream, nor launched by a call.
  std::vector<TimelineSpan> transfers;
  std::vector<std::string> channels;  ///< Their names.
};

/// Of the last cycle of a replay, stretched to the step time that forecasts give. What was removed
/// is left out; where a scenario launches GPU work without any call of its step left, the step's
/// first call stands for the launch of a graph.
Timeline PredictTimeline(const Job& job, const EditedPlan& edited);

}  // namespace headroom
