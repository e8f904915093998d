// The launch queue: each stream accepts a limited number of commands. A call that finds the queue
// full returns only after the GPU has taken a command off the queue. Without this rule, a GPU-bound
// job replays well, but its forecasts are wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace headroom {

/// A call that adds a command to the queue of a stream: a launch, an event record, a stream wait.
struct QueuedCommand {
  StreamId stream;
  TimeNs call_start, call_end;
  /// For a launch: start of its first task. That start takes this and all earlier commands off the
  /// queue.
  std::optional<TimeNs> task_start;
};

/// The queues of one process, as its calls show them.
struct LaunchQueue {
  /// Commands per stream; 0 if calls never waited, so that the limit is unknown.
  std::int64_t depth = 0;
  bool measured = false;      ///< False if `depth` is a default.
  std::vector<bool> blocked;  ///< By command: true if its call waited for space.
};

/// Depth of the NVIDIA driver's queue per stream. Measured on H200: in jobs with one stream,
/// launches return at exactly this number. With several streams, event records and stream waits
/// also count.
inline constexpr std::int64_t kUsualQueueDepth = 1023;

/// Returns the depth that the calls show, and the calls that waited.
///
/// @param commands  commands in order of `call_start`; commands issued before the recording have
///   both call times at its start
/// @param usual_depth  depth to use if the calls do not show one; 0: no limit
LaunchQueue FindLaunchQueue(const std::vector<QueuedCommand>& commands, std::int64_t usual_depth);

}  // namespace headroom
