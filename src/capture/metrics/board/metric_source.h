// Interface of each group of counters.
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
  /// First or last sample of a run, which also reads the rarely read sources.
  bool edge = false;
  /// Also reads rarely changing values (limits, lists of children): about once per second.
  bool slow = true;
};

/// A group of metrics of one origin. Adds its metrics to the board at its construction, or when
/// their subjects appear. Sets the metrics that it can read and leaves the others missing.
class MetricSource {
 public:
  virtual ~MetricSource() = default;
  virtual void Read(SampleRun& run) = 0;
};

}  // namespace headroom
