#include "analysis/tables/costed_work.h"

#include "base/large_vector.h"

namespace headroom {

std::vector<CostedCall> CollectCostedWork(const TraceStore& store, NameFacts& names,
                                          const Attribution& attribution, OperatorCosts& costs,
                                          const DeviceSpec* device) {
  const auto& tasks = store.gpu_tasks;
  struct Below {
    DurationNs time;
    GpuTaskId longest;
    bool fast_algorithm = false;
  };
  LargeVector<std::uint32_t> slots(tasks.rows() == 0 ? 0 : store.host_events.rows());
  LargeVector<Below> below(1);  // Slot 0 means that there is no entry.
  for (std::size_t i = 0; i < tasks.rows(); ++i) {
    const HostEventId op = attribution.Of(GpuTaskId(i)).costed;
    if (!op.valid()) continue;
    // The bus limits these copies, not the device's memory.
    if (tasks.kind[i] == GpuTaskKind::kMemcpy && tasks.copy[i] != CopyKind::kDeviceToDevice)
      continue;
    std::uint32_t& slot = slots[op.index()];
    if (slot == 0) {
      slot = static_cast<std::uint32_t>(below.size());
      below.emplace_back();
    }
    Below& sums = below[slot];
    sums.time += tasks.duration[i];
    if (tasks.kind[i] == GpuTaskKind::kKernel && names.Kernel(tasks.name[i]).fast_algorithm)
      sums.fast_algorithm = true;
    if (!sums.longest.valid() || tasks.duration[i] > tasks.duration[sums.longest.index()]) {
      sums.longest = GpuTaskId(i);
    }
  }
  std::vector<CostedCall> calls;
  calls.reserve(below.size() - 1);
  for (std::size_t row = 0; row < slots.size(); ++row) {
    if (slots[row] == 0) continue;
    const Below& sums = below[slots[row]];
    const OperatorCost* cost = costs.Of(HostEventId(row));
    const std::size_t longest = sums.longest.index();
    const KernelClass main = tasks.kind[longest] == GpuTaskKind::kKernel
                                 ? names.Kernel(tasks.name[longest])
                                 : KernelClass();
    const DType math_dtype = ResolveMathDType(cost->math_dtype, main);
    const RooflinePoint point = PlaceOnRoofline({.flops = cost->flops,
                                                 .bytes = cost->bytes,
                                                 .time = sums.time,
                                                 .math_dtype = math_dtype,
                                                 .tensor_cores = main.tensor_cores,
                                                 .fast_algorithm = sums.fast_algorithm,
                                                 .assumed_dtype = cost->assumes_fp32},
                                                device);
    calls.push_back({HostEventId(row), cost, sums.time, sums.longest, math_dtype, point,
                     attribution.Of(HostEventId(row)).recomputed});
  }
  return calls;
}

}  // namespace headroom
