// Operators with known FLOPs and bytes, with their GPU time and their place on the roofline.
#pragma once

#include <vector>

#include "analysis/names/attribution.h"
#include "cost/device_spec.h"
#include "cost/roofline.h"
#include "store/trace_store.h"

namespace headroom {

/// One call of a costed operator that launched work on the device.
struct CostedCall {
  HostEventId op;
  const OperatorCost* cost;  ///< Never null; lives as long as the OperatorCosts.
  /// GPU time of the tasks whose innermost costed operator is `op`, without copies from or to the
  /// host.
  DurationNs time;
  GpuTaskId main_task;  ///< The longest task; its kernel name shows the type of arithmetic.
  DType math_dtype;
  RooflinePoint point;
  bool recomputed;  ///< Runs a second time in backward (checkpointing).
};

/// Returns all such calls in order of operator row. `device` may be null (unknown GPU).
std::vector<CostedCall> CollectCostedWork(const TraceStore& store, NameFacts& names,
                                          const Attribution& attribution, OperatorCosts& costs,
                                          const DeviceSpec* device);

}  // namespace headroom
