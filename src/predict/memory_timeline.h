// PyTorch's memory timeline: allocated bytes over time, by purpose.
#pragma once

#include <string>

#include "base/status.h"

namespace headroom {

/// Bytes at the moment with the most allocated bytes, by the profiler's categories
/// (torch.profiler._memory_profiler.Category).
struct RecordedMemory {
  double parameters = 0, optimizer_state = 0, gradients = 0, activations = 0;
  double inputs = 0;
  double temporaries = 0;
  double autograd = 0;  ///< Internal tensors of autograd (AUTOGRAD_DETAIL).
  double unknown = 0;

  double Total() const {
    return parameters + optimizer_state + gradients + activations + inputs + temporaries +
           autograd + unknown;
  }
};

/// Reads a file of `prof.export_memory_timeline("FILE.raw.json.gz")`, plain or compressed with gzip
/// or zstd. Fails with kBadInput and names the file, the entry and the fix.
///
/// The file is a list of [time, action, bytes, category] with signed bytes. A tensor that changes
/// its category has two entries: one leaves the old category, and one enters the new category. Only
/// the state after all entries of the same time counts.
Result<RecordedMemory> ReadMemoryTimeline(const std::string& path);

}  // namespace headroom
