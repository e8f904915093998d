// What each group of counters implements.
#pragma once

#include "base/time.h"
#include "capture/metrics/board/kernel_file.h"
#include "capture/metrics/board/metric_board.h"

namespace headroom {

/// Whatever one sample hands to its sources.
struct SampleRun {
  MetricBoard& board;
  ReadBuffer& buffer;
  TimeNs now;         ///< When the sample began.
  bool edge = false;  ///< First or last sample of a run: what is read seldom is read now.
  /// Whether to read what changes seldom (limits, lists of children): about once a second.
  bool slow = true;
};

/// A group of metrics of one origin. It adds its metrics to the board when it is made, or when what
/// they tell of appears; it sets those that it can read and leaves the others missing.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  virtual void Read(SampleRun& run) = 0;
};

}  // namespace headroom
