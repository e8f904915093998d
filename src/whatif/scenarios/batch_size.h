// What another number of samples per step makes of its work.
#pragma once

#include "base/time.h"
#include "cost/device_spec.h"
#include "sim/edit.h"
#include "whatif/job/job.h"

namespace headroom {

/// GPU time at the new batch of what is known less well.
struct DoubtfulAtBatch {
  DurationNs all{};              ///< GPU time of all tasks.
  DurationNs may_become_fast{};  ///< Convolutions for which an algorithm of fewer FLOPs may come.
  DurationNs recurrent{};
};

/// Takes every GPU task of an edit to `ratio` times as many samples; the host's work stays.
///
/// @param device  that the edit's times are of; nullptr: unknown, so that all of a product grows
DoubtfulAtBatch ScaleToBatch(const Job& job, const DeviceSpec* device, double ratio, Edit& edit);

/// What a GPU task takes in an edit with `ratio` of its work, at most all: a product loses by how
/// badly its fewer blocks fill their last wave of processors.
DurationNs WithLessWork(const Job& job, const DeviceSpec* device, TaskIndex task, double ratio,
                        const Edit& edit);

/// Half-width, as a share, of the GPU times that another batch makes.
double ErrorAtBatch(const DoubtfulAtBatch& doubtful, double ratio);

}  // namespace headroom
