// gpu-speed and host-speed: a GPU or a host that does all its work in 1/factor of the time. Launch
// latency, gaps between kernels and waits do not scale.
#include <fmt/format.h>

#include <cmath>

#include "whatif/scenarios/catalogue.h"

namespace headroom {
namespace {

DurationNs Shortened(DurationNs duration, double factor) {
  return DurationNs(std::llround(static_cast<double>(duration.ns()) / factor));
}

}  // namespace

Effect ApplyGpuSpeed(const Job& job, const Arguments& arguments, Edit& edit) {
  const double factor = arguments.Number("factor");
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    edit.Scale(task, 1 / factor);
    edit.ScaleUnrecordedWaits(task, 1 / factor);
  }
  for (Edit::NewKernel& kernel : edit.inserted())
    kernel.duration = Shortened(kernel.duration, factor);
  return {.why = fmt::format("every GPU task {} times as fast", arguments.Text("factor")),
          .memory_delta_bytes = 0};
}

Effect ApplyHostSpeed(const Job& job, const Arguments& arguments, Edit& edit) {
  const double factor = arguments.Number("factor");
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kCall) continue;
    edit.Scale(task, 1 / factor);
    edit.ScaleWorkBefore(task, 1 / factor);
  }
  for (Edit::NewKernel& kernel : edit.inserted()) {
    kernel.host_work = Shortened(kernel.host_work, factor);
    kernel.launch = Shortened(kernel.launch, factor);
  }
  return {.why = fmt::format("all host work {} times as fast", arguments.Text("factor")),
          .memory_delta_bytes = 0};
}

}  // namespace headroom
