#include "scale/recorded_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "network/collectives.h"
#include "network/gradient_exchange.h"
#include "network/network_fit.h"
#include "ranks/collective_rows.h"
#include "ranks/rank_timeline.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

struct RecordedCollective {
  std::optional<Collective> kind;
  std::optional<double> bytes;          ///< Bytes of the whole tensor.
  std::optional<std::int64_t> members;  ///< Size of its process group.
};

class RecordedCollectives {
 public:
  explicit RecordedCollectives(const Job& job) : job_(job), arguments_(job.store()) {}

  RecordedCollective Of(TaskIndex task) const {
    RecordedCollective found;
    found.kind = CollectiveNamed(job_.NameOf(task));
    const auto arguments = arguments_.Of(job_.graph().tasks[task].row);
    if (!arguments) return found;
    if (const auto kind = CollectiveNamed(arguments->name)) found.kind = kind;
    found.bytes = arguments->bytes;
    found.members = arguments->members;
    return found;
  }

 private:
  const Job& job_;
  CollectiveRows arguments_;
};

IsCollective CollectivesOf(const Job& job) {
  return [&job](std::size_t task) { return job.IsCollective(GpuTaskId(task)); };
}

/// Removes the collectives' slowdown from kernels that overlapped them.
void FreeNeighbours(const Job& job, const GpusOfJob& recorded, Edit& edit) {
  const TraceStore& store = job.store();
  const IntervalSet collectives = TimeOfCollectives(store, CollectivesOf(job));
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    const Task& of_graph = job.graph().tasks[task];
    if (of_graph.kind != TaskKind::kGpu) continue;
    const GpuTaskId row(of_graph.row);
    if (store.gpu_tasks.kind[row.index()] != GpuTaskKind::kKernel) continue;
    if (IsBeside({store.gpu_tasks.start[row.index()], store.TaskEnd(row)}, collectives))
      edit.Scale(task, 1 / recorded.overlap->mid);
  }
}

std::vector<TaskIndex> CollectiveTasks(const Job& job) {
  return SelectTasks(
      job, [&](TaskIndex task) { return job.ClassOf(task).family == WorkFamily::kCommunication; });
}

/// Returns the recorded rank's wait in a collective; nullopt: unknown.
std::optional<DurationNs> WaitIn(const Job& job, TaskIndex collective,
                                 const CollectiveWaits& waits) {
  if (waits.empty()) return std::nullopt;
  const TraceStore& store = job.store();
  const GpuTaskId row(job.graph().tasks[collective].row);
  const DurationNs base = UnixBaseOf(store);
  const auto known =
      waits.find({store.gpu_tasks.start[row.index()] + base, store.TaskEnd(row) + base});
  return known == waits.end() ? std::nullopt : std::optional(known->second);
}

double ShareOf(DurationNs wait, DurationNs took) {
  return wait >= took ? 1 : static_cast<double>(wait.ns()) / static_cast<double>(took.ns());
}

/// Describes how the scaled times include waits for other ranks.
std::string WhatOfWaits(std::size_t scaled, std::size_t waits_known) {
  if (waits_known == 0) return "including their waits for the slowest rank";
  std::string stays = "with this rank's waits for others as recorded";
  if (waits_known == scaled) return stays;
  return fmt::format("{} in {} of them and scaled in the rest", stays, waits_known);
}

}  // namespace

std::optional<OverlapSlowdown> RecordedOverlap(const Job& job) {
  return MeasureOverlapSlowdown(job.store(), CollectivesOf(job));
}

std::optional<std::int64_t> RecordedGpus(const Job& job) {
  if (!Communicates(job)) return 1;
  if (const std::optional<std::int64_t> world = job.store().metadata.world_size) return world;
  const auto& rows = job.store().collectives;
  std::int64_t most = 0;
  for (std::size_t row = 0; row < rows.rows(); ++row) most = std::max(most, rows.group_size[row]);
  return most > 0 ? std::optional(most) : std::nullopt;
}

Result<Topology> FitRecordedNetwork(const Job& job, std::int64_t gpus,
                                    std::span<const MeasuredAllReduce> without_waits) {
  Topology topology;
  if (const Result<NetworkFit> fit = FitNetwork(without_waits, gpus); fit.ok()) {
    topology.between = fit.value().link;
    return topology;
  }
  const RecordedCollectives recording(job);
  std::vector<MeasuredAllReduce> measured;
  std::size_t of_parts = 0;
  for (const TaskIndex task : CollectiveTasks(job)) {
    const RecordedCollective collective = recording.Of(task);
    const bool whole = !collective.members || *collective.members == gpus;
    if (!whole) ++of_parts;
    if (collective.kind == Collective::kAllReduce && collective.bytes && whole)
      measured.push_back({*collective.bytes, job.graph().tasks[task].duration.ms()});
  }
  const Result<NetworkFit> fit = FitNetwork(measured, gpus);
  if (!fit.ok() && of_parts > 0) {
    return Status::NoAnswer(
        fmt::format("the recorded collectives use subgroups of the job's {} GPUs (tensor, pipeline "
                    "or expert parallelism); their time on other GPUs is unknown",
                    gpus));
  }
  if (!fit.ok()) {
    return Status::NoAnswer(
        "the recorded all-reduces do not show their network (PyTorch 2.2 and later record their "
        "sizes), so another network's effect is unknown");
  }
  topology.between = fit.value().link;
  return topology;
}

Effect RescaleCollectives(const Job& job, const GpusOfJob& recorded, const GpusOfJob& target,
                          Edit& edit) {
  const std::vector<TaskIndex> tasks = CollectiveTasks(job);
  Effect effect;
  effect.work =
      static_cast<double>(target.placement.gpus) / static_cast<double>(recorded.placement.gpus);
  effect.gpu_error = kNetworkError;
  if (target.placement.gpus == 1) {
    for (const TaskIndex task : tasks) edit.SetDuration(task, DurationNs(0));
    if (recorded.overlap && recorded.overlap->is_told()) FreeNeighbours(job, recorded, edit);
    CloseGapsDuring(job, tasks, edit);
    effect.why = "without its recorded collectives";
    return effect;
  }
  const RecordedCollectives recording(job);
  std::size_t scaled = 0, waits_known = 0, without_bytes = 0;
  for (const TaskIndex task : tasks) {
    const RecordedCollective collective = recording.Of(task);
    const bool of_a_part = collective.members && *collective.members < recorded.placement.gpus;
    if (!collective.kind || of_a_part) continue;
    const auto on = [&](const GpusOfJob& gpus) {
      return static_cast<double>(FastestTime(*collective.kind,
                                             collective.bytes.value_or(kBucketBytes), gpus.topology,
                                             gpus.placement)
                                     .Total()
                                     .ns());
    };
    const double before = on(recorded);
    if (before <= 0) continue;
    const std::optional<DurationNs> waited = WaitIn(job, task, recorded.waits);
    // Earlier changes that shortened the collective also shortened its wait, because the other
    // ranks compute faster too. So the wait stays the same share of the collective.
    const double stays = waited ? ShareOf(*waited, job.graph().tasks[task].duration) : 0;
    edit.Scale(task, (recorded.without_waits ? 0 : stays) + (1 - stays) * on(target) / before);
    ++scaled;
    if (waited) ++waits_known;
    if (!collective.bytes) ++without_bytes;
  }
  if (scaled == 0) {
    return Effect::Abstain(
        "the recorded communication is point-to-point or of unknown kinds: its time on other GPUs "
        "is unknown");
  }
  effect.why =
      fmt::format("{} recorded collectives scaled from {} to {} GPUs, {}", scaled,
                  recorded.placement.gpus, target.placement.gpus, WhatOfWaits(scaled, waits_known));
  if (without_bytes > 0)
    effect.AlsoBecause(
        fmt::format("for {} of them, no size was recorded and 25 MiB is assumed", without_bytes));
  if (scaled < tasks.size())
    effect.AlsoBecause(
        fmt::format("left unchanged: {} of other kinds or of subgroups", tasks.size() - scaled));
  return effect;
}

}  // namespace headroom
