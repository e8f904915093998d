#include "whatif/job/inserted_kernels.h"

#include <algorithm>
#include <cmath>

namespace headroom {
DurationNs WithWork(DurationNs duration, double ratio) {
  const auto time = static_cast<double>(duration.ns());
  const double start = std::min(time, kKernelStart);
  return DurationNs(std::llround(start + (time - start) * ratio));
}

DurationNs MemoryPassTime(double bytes, const DeviceSpec& device) {
  return DurationNs(std::llround(
      kKernelStart + bytes / (*device.memory_bandwidth_gbs * device.sustained.cast_bytes)));
}

TaskIndex NextOnStream(const Job& job, TaskIndex task) {
  const Graph& graph = job.graph();
  const auto& tasks = job.store().gpu_tasks;
  for (TaskIndex next = task + 1; next < graph.tasks.size(); ++next) {
    if (graph.tasks[next].kind != TaskKind::kGpu) continue;
    if (tasks.stream[graph.tasks[next].row] != tasks.stream[graph.tasks[task].row]) continue;
    return job.LaunchOf(next) == kNoTask ? kNoTask : next;
  }
  return kNoTask;
}

Edit::NewKernel KernelBefore(const Job& job, TaskIndex task, DurationNs duration) {
  return {.before_task = task,
          .before_call = job.LaunchOf(task),
          .duration = duration,
          .host_work = Nanoseconds(job.calibration().host.cast_work),
          .launch = Nanoseconds(job.calibration().host.cast_launch)};
}

}  // namespace headroom
