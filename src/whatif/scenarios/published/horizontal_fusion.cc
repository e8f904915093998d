// horizontal-fusion: N copies of the job train together, with each operator in one kernel (Wang et
// al., "Horizontally Fused Training Array", MLSys 2021). The host launches as many kernels as
// before. Each kernel has N times the blocks, and takes longer only if they need more waves on the
// GPU.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "whatif/job/inserted_kernels.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Blocks that a multiprocessor holds at once, for any block size (CUDA C++ Programming Guide,
/// compute capability 7.0 to 9.0).
constexpr double kMaxBlocks = 32;

/// Returns the number of blocks that run at once on the whole GPU; nullopt if not recorded.
std::optional<double> BlocksAtOnce(const Job& job, std::uint32_t row) {
  const auto& tasks = job.store().gpu_tasks;
  const DeviceSpec* device = job.device();
  if (device == nullptr || !device->sm_count || !device->max_threads_per_sm ||
      tasks.block_x[row] <= 0)
    return std::nullopt;
  const double threads = static_cast<double>(tasks.block_x[row]) * std::max(1, tasks.block_y[row]) *
                         std::max(1, tasks.block_z[row]);
  double blocks = std::min(kMaxBlocks, *device->max_threads_per_sm / threads);
  if (tasks.registers[row] > 0 && device->registers_per_sm)
    blocks = std::min(blocks, *device->registers_per_sm / (tasks.registers[row] * threads));
  if (tasks.shared_memory[row] > 0 && device->shared_memory_per_sm_bytes)
    blocks = std::min(blocks, *device->shared_memory_per_sm_bytes / tasks.shared_memory[row]);
  return std::max(1.0, std::floor(blocks)) * *device->sm_count;
}

}  // namespace

Effect ApplyHorizontalFusion(const Job& job, const Arguments& arguments, Edit& edit) {
  const double jobs = arguments.Number("jobs");
  std::int64_t grids = 0, known = 0;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& recorded = job.graph().tasks[task];
    if (recorded.kind != TaskKind::kGpu) continue;
    const auto& tasks = job.store().gpu_tasks;
    if (tasks.grid_x[recorded.row] > 0 && tasks.block_x[recorded.row] > 0) ++grids;
    double growth = jobs;
    if (const std::optional<double> at_once = BlocksAtOnce(job, recorded.row);
        at_once && tasks.grid_x[recorded.row] > 0 && !edit.HasOtherWork(task)) {
      ++known;
      const double blocks = static_cast<double>(tasks.grid_x[recorded.row]) *
                            std::max(1, tasks.grid_y[recorded.row]) *
                            std::max(1, tasks.grid_z[recorded.row]);
      growth = std::ceil(jobs * blocks / *at_once) / std::ceil(blocks / *at_once);
    }
    edit.SetDuration(task, WithWork(edit.DurationOf(task), growth));
  }
  if (known == 0) {
    return Effect::Abstain(grids == 0 ? "no grid and block sizes of kernels were recorded"
                                      : WhyNoFigure(job, "number of multiprocessors and threads"));
  }
  for (Edit::NewKernel& kernel : edit.inserted()) kernel.duration = WithWork(kernel.duration, jobs);
  for (Edit::ChannelTask& copy : edit.channel_tasks()) copy.Scale(jobs);
  Effect effect;
  effect.gpu_error = 0.2;
  effect.work = jobs;
  effect.why = fmt::format("one step of all {} jobs together", arguments.Text("jobs"));
  return effect;
}

}  // namespace headroom
