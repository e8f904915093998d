// Interface of a group of metrics with a common source.
#pragma once

#include "base/time.h"
#include "capture/metrics/board/kernel_file.h"
#include "capture/metrics/board/metric_board.h"

namespace headroom {

/// Context of one sample for its sources.
struct SampleRun {
  MetricBoard& board;
  ReadBuffer& buffer;
  TimeNs now;  ///< Begin of the sample.
  /// First or last sample of a run: also reads sources that are otherwise read rarely.
  bool edge = false;
  /// Also reads values that rarely change, such as limits and lists of children. Set about once per
  /// second.
  bool slow = true;
};

/// A group of metrics with a common source. Adds its metrics to the board at construction, or when
/// a device or process appears. Read() sets the metrics that can be read and leaves the others
/// missing.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  virtual void Read(SampleRun& run) = 0;
};

}  // namespace headroom
