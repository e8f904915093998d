// The launch queue: each stream takes so many commands; a call that issues one more returns only
// when the GPU has taken one off. Without this, a job that the GPU paces replays fine and predicts
// nonsense.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace headroom {

/// A call that puts a command into the queue of a stream: a launch, an event record, a stream wait.
struct QueuedCommand {
  StreamId stream;
  TimeNs call_start, call_end;
  /// Of a launch: when its first task started, which takes it and all before it off the queue.
  std::optional<TimeNs> task_start;
};

/// The queues of one process, as far as its calls show them.
struct LaunchQueue {
  std::int64_t depth =
      0;  ///< Commands a stream; 0: calls never waited, and how many may is not known.
  bool measured = false;      ///< Else a default.
  std::vector<bool> blocked;  ///< By command: its call waited for a place.
};

/// NVIDIA's driver holds 1,023 commands a stream (measured on H200: launches return at exactly that
/// many on jobs of one stream; with several, event records and stream waits count).
inline constexpr std::int64_t kUsualQueueDepth = 1023;

/// @param commands  in order of `call_start`; those that were issued before the recording began
///                  have both times at its start
/// @param usual_depth  where the calls do not show one; 0: no limit
LaunchQueue FindLaunchQueue(const std::vector<QueuedCommand>& commands, std::int64_t usual_depth);

}  // namespace headroom
