// Effect of another number of samples per step on the step's work.
#pragma once

#include "base/time.h"
#include "cost/device_spec.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// GPU time at the new batch size that is especially uncertain.
struct DoubtfulAtBatch {
  DurationNs all{};  ///< GPU time of all tasks.
  /// Convolutions for which the library may choose an algorithm with fewer FLOPs.
  DurationNs may_become_fast{};
  DurationNs recurrent{};
};

/// Scales every GPU task of an edit to `ratio` times as many samples; the host's work stays
/// unchanged.
///
/// @param device  GPU of the edit's times; nullptr if unknown: products then scale in full
DoubtfulAtBatch ScaleToBatch(const Job& job, const DeviceSpec* device, double ratio, Edit& edit);

/// Returns the duration of a GPU task in an edit with `ratio` <= 1 of its work. A product with
/// fewer blocks fills its last wave of multiprocessors less, and that part of its time does not
/// shrink.
DurationNs WithLessWork(const Job& job, const DeviceSpec* device, TaskIndex task, double ratio,
                        const Edit& edit);

/// Returns the half-width of the GPU times at another batch size, as a share.
double ErrorAtBatch(const DoubtfulAtBatch& doubtful, double ratio);

}  // namespace headroom
