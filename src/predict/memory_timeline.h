// PyTorch's memory timeline: what was allocated over time, by what it is for.
#pragma once

#include <string>

#include "base/status.h"

namespace headroom {

/// Bytes at the moment at which most was allocated, by the profiler's categories
/// (torch.profiler._memory_profiler.Category).
struct RecordedMemory {
  double parameters = 0, optimizer_state = 0, gradients = 0, activations = 0;
  double inputs = 0;
  double temporaries = 0;
  double autograd = 0;  ///< Details of the backward.
  double unknown = 0;

  double Total() const {
    return parameters + optimizer_state + gradients + activations + inputs + temporaries +
           autograd + unknown;
  }
};

/// Reads what `prof.export_memory_timeline("FILE.raw.json.gz")` wrote: a list of [time, action,
/// bytes, category], also gzip or zstd; bytes are signed, and what changes its category leaves one
/// and enters another. Moments between two times count only, not those within one. BadInput names
/// the file, the entry and the remedy.
Result<RecordedMemory> ReadMemoryTimeline(const std::string& path);

}  // namespace headroom
