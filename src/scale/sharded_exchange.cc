#include "scale/sharded_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "network/collectives.h"
#include "network/gradient_exchange.h"
#include "render/number_format.h"
#include "scale/model_parallel.h"
#include "whatif/job/blocks.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/optimizer_steps.h"

namespace headroom {
namespace {

/// Parameters that are gathered and scattered together.
struct Unit {
  double bytes = 0;
  TaskIndex forward = kNoTask;   ///< First task of its forward.
  TaskIndex backward = kNoTask;  ///< First task of its backward.
  TaskIndex ready = kNoTask;     ///< Task whose end completes its gradients.
};

class ShardedExchange {
 public:
  ShardedExchange(const Job& job, const Exchange& exchange, Edit& edit)
      : job_(job), exchange_(exchange), edit_(edit), updates_(FindOptimizerSteps(job)) {}

  Effect Insert(const ZeroSharding& sharding) {
    if (Effect placed = PlaceCopies(sharding); !placed.applies) return placed;
    OpenedExchange opened = OpenExchange(job_, exchange_, edit_);
    if (!opened.effect.applies) return opened.effect;
    steps_ = std::move(opened.steps);
    channel_ = opened.channel;
    if (updates_.empty()) {
      return Effect::Abstain(
          "no optimizer step was recorded (a range \"Optimizer.step#...\"), so there is no update "
          "to "
          "shard");
    }
    if (!StepsFollowEachOther()) {
      return Effect::Abstain(
          "the recorded steps overlap or differ, so the tasks that wait for the parameters are "
          "unknown");
    }
    if (AccumulatesMoreThanItUpdates()) {
      return Effect::Abstain(
          "a step accumulates the gradients of several batches before it updates, and it is "
          "unknown which of these gradients are exchanged");
    }
    ShareUpdates();
    Effect effect = std::move(opened.effect);
    effect.AlsoBecause(
        fmt::format("each rank updates 1/{} of the parameters", shard_.placement.gpus));
    if (copies_.placement.gpus > 1) {
      copies_channel_ = edit_.AddChannel({.name = "network between copies",
                                          .policy = Policy::kFifo,
                                          .bytes_per_ns = copies_.topology.between.bytes_per_ns,
                                          .latency = copies_.topology.between.latency,
                                          .members = copies_.placement.gpus});
      effect.AlsoBecause(
          fmt::format("gradients are summed over {} copies", copies_.placement.gpus));
    }
    if (sharding.stage == ZeroStage::kParameters) {
      const std::vector<TaskIndex> cuts = BlockBegins();
      std::size_t units = 0;
      for (std::size_t s = 0; s < steps_.size(); ++s) units = InsertUnits(s, UnitsOf(s, cuts));
      effect.AlsoBecause(fmt::format("parameters are gathered in {}, each {}",
                                     Plural(static_cast<std::int64_t>(units), "unit"),
                                     cuts.empty() ? "the size of a bucket" : "a repeated block"));
    } else {
      for (std::size_t s = 0; s < steps_.size(); ++s) InsertForWholeModel(s, sharding.stage);
    }
    return effect;
  }

 private:
  /// Sets the groups of ranks that share a copy, and of those with the same share.
  Effect PlaceCopies(const ZeroSharding& sharding) {
    const Placement& job = exchange_.placement;
    const std::int64_t gpus = std::min(job.gpus, sharding.gpus.value_or(job.gpus));
    if (job.gpus % gpus != 0) {
      return Effect::Abstain(
          fmt::format("{1} GPUs is not a multiple of shard={0}", gpus, job.gpus));
    }
    if (!FillNodes({.tensor = gpus}, job)) {
      return Effect::Abstain(fmt::format(
          "{} GPUs that share a copy do not fill machines of {} GPUs: some copies span two "
          "machines, and their time is unknown",
          gpus, job.PerNode()));
    }
    shard_ = {.topology = exchange_.topology, .placement = job};
    if (gpus < job.gpus) {
      shard_ = GroupOf(exchange_.topology, job, gpus, 1);
      copies_ = GroupOf(exchange_.topology, job, job.gpus / gpus, gpus);
    }
    return {};
  }

  /// Returns the first task that needs a parameter in a step; for the step after the last one,
  /// returns the first such task of the next cycle.
  Dependency FirstForward(std::size_t step) const {
    const bool wraps = step == steps_.size();
    const GradientStep& of = steps_[wraps ? 0 : step];
    TaskIndex first = of.gradients.front().ready;
    for (const Gradient& gradient : of.gradients) first = std::min(first, gradient.forward);
    return {.task = first, .cycles = static_cast<std::uint8_t>(wraps ? 1 : 0)};
  }

  /// Returns the last task of a step's update.
  TaskIndex LastOfUpdate(std::size_t step) const { return updates_[step].tasks.back(); }

  bool StepsFollowEachOther() const {
    if (updates_.size() != steps_.size()) return false;
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (FirstForward(s).task > steps_[s].gradients.front().ready) return false;
      if (LastOfUpdate(s) <= steps_[s].gradients.back().ready) return false;
      if (s + 1 < steps_.size() && FirstForward(s + 1).task <= LastOfUpdate(s)) return false;
    }
    return true;
  }

  bool AccumulatesMoreThanItUpdates() const {
    constexpr double kMax = 1.5;
    const double parameters = ParameterBytes(job_, updates_.front());
    return parameters > 0 && steps_.front().Bytes() > kMax * parameters;
  }

  void ShareUpdates() {
    const double share = 1 / static_cast<double>(shard_.placement.gpus);
    for (const OptimizerStep& update : updates_) {
      for (const TaskIndex task : update.tasks) {
        if (!edit_.IsRemoved(task))
          edit_.SetDuration(task, WithWork(edit_.DurationOf(task), share));
      }
    }
  }

  Edit::ChannelTask Send(Collective collective, double bytes, TaskIndex beside) const {
    return Send(collective, bytes, beside, shard_, channel_);
  }

  Edit::ChannelTask Send(Collective collective, double bytes, TaskIndex beside,
                         const GpuGroup& group, std::uint32_t channel) const {
    const CollectiveTime time = FastestTime(collective, bytes, group.topology, group.placement);
    Edit::ChannelTask send;
    send.channel = channel;
    send.step = job_.graph().tasks[beside].step;
    send.bytes = bytes;
    send.latency = time.latency;
    send.duration = time.Total();
    return send;
  }

  void InsertForWholeModel(std::size_t s, ZeroStage sharding) {
    const GradientStep& step = steps_[s];
    const Collective collective =
        sharding == ZeroStage::kOptimizer ? Collective::kAllReduce : Collective::kReduceScatter;
    InsertBucketCopies(job_, step, exchange_.transfer, edit_);
    InsertBuckets(
        job_.graph(), step, exchange_.transfer, channel_,
        [&](double bytes) {
          return FastestTime(collective, bytes, exchange_.topology, exchange_.placement);
        },
        edit_);
    const TaskIndex updated = LastOfUpdate(s);
    Edit::ChannelTask gather = Send(Collective::kAllGather, step.Bytes(), updated);
    gather.after = {{.task = updated}};
    Dependency needed = FirstForward(s + 1);
    needed.task = edit_.FrontOf(needed.task);
    gather.before = {needed};
    edit_.Insert(std::move(gather));
  }

  /// Returns the first tasks of the repeated blocks, in order.
  std::vector<TaskIndex> BlockBegins() const {
    std::vector<TaskIndex> begins;
    for (const Block& block : FindBlocks(job_))
      begins.push_back(block.operators.front().tasks.front());
    std::sort(begins.begin(), begins.end());
    return begins;
  }

  /// Returns units in order of the backward. A unit is a part of the backward whose forward
  /// operators ran in the opposite order.
  std::vector<Unit> UnitsOf(std::size_t s, const std::vector<TaskIndex>& cuts) const {
    const auto block_of = [&](TaskIndex forward) {
      return std::upper_bound(cuts.begin(), cuts.end(), forward) - cuts.begin();
    };
    std::vector<Unit> units;
    for (const Gradient& gradient : steps_[s].gradients) {
      // A gradient with unknown forward joins the unit of the next gradient.
      const bool may_begin = !units.empty() && units.back().forward != kNoTask &&
                             gradient.forward < units.back().forward &&
                             gradient.ready > units.back().ready;
      const bool begins =
          may_begin && (cuts.empty() ? units.back().bytes >= exchange_.transfer.bucket_bytes
                                     : block_of(gradient.forward) < block_of(units.back().forward));
      if (units.empty() || begins) units.emplace_back();
      Unit& unit = units.back();
      unit.bytes += gradient.bytes;
      unit.forward = std::min(unit.forward, gradient.forward);
      unit.ready = gradient.ready;
    }
    // Parameters with unknown forward are gathered before the first forward task.
    if (units.back().forward == kNoTask) units.back().forward = FirstForward(s).task;
    units.front().backward = FirstBackward(s);
    for (std::size_t u = 1; u < units.size(); ++u)
      units[u].backward = NextGpuTask(units[u - 1].ready);
    return units;
  }

  TaskIndex NextGpuTask(TaskIndex task) const {
    do {
      ++task;
    } while (job_.graph().tasks[task].kind != TaskKind::kGpu);
    return task;
  }

  TaskIndex FirstBackward(std::size_t s) const {
    const TaskIndex first_ready = steps_[s].gradients.front().ready;
    for (TaskIndex task = FirstForward(s).task; task < first_ready; ++task) {
      if (job_.graph().tasks[task].kind == TaskKind::kGpu &&
          job_.ContextOf(task).phase == Phase::kBackward)
        return task;
    }
    return first_ready;
  }

  /// @param units  units of the step, in order of the backward
  std::size_t InsertUnits(std::size_t s, const std::vector<Unit>& units) {
    const bool wraps = s == 0;
    const Dependency updated = {.task = LastOfUpdate(wraps ? steps_.size() - 1 : s - 1),
                                .cycles = static_cast<std::uint8_t>(wraps ? 1 : 0)};
    // Two units have all their parameters at a time: the unit that computes and the next.
    for (std::size_t u = units.size(); u-- > 0;) {
      const bool early = u + 2 >= units.size();
      InsertGather(units[u], units[u].forward,
                   early ? updated : Dependency{.task = units[u + 1].forward, .from_start = true});
    }
    for (std::size_t u = 0; u < units.size(); ++u) {
      if (u > 0) {
        InsertGather(units[u], units[u].backward,
                     {.task = units[u - 1].backward, .from_start = true});
      }
      InsertScatter(steps_[s], units[u]);
    }
    return units.size();
  }

  void InsertGather(const Unit& unit, TaskIndex needed_by, const Dependency& after) {
    Edit::ChannelTask gather = Send(Collective::kAllGather, unit.bytes, needed_by);
    gather.after = {after};
    if (job_.LaunchOf(needed_by) == kNoTask) {
      gather.before = {{.task = edit_.FrontOf(needed_by)}};
      edit_.Insert(std::move(gather));
      return;
    }
    Edit::NewKernel copy = KernelBefore(job_, needed_by, CopyTime(job_, unit.bytes));
    copy.after = {{.task = edit_.Insert(std::move(gather))}};
    copy.in_front = true;
    edit_.Insert(std::move(copy));
  }

  /// Returns the bytes that gradients send, as a share of the bytes of the gradients.
  double SentShare(const GradientStep& step) const {
    return exchange_.transfer.Sent(step).Bytes() / step.Bytes();
  }

  void InsertScatter(const GradientStep& step, const Unit& unit) {
    const double sent = unit.bytes * SentShare(step);
    Edit::ChannelTask scatter = Send(Collective::kReduceScatter, sent, unit.ready);
    // The scatter precedes the reader of the gradients. The copy may be inserted in front of that
    // reader and then becomes the reader.
    scatter.before = {ReaderOf(job_.graph(), step, edit_)};
    const TaskIndex behind = NextOnStream(job_, unit.ready);
    scatter.after = {{.task = unit.ready}};
    if (behind != kNoTask) {
      Edit::NewKernel copy = KernelBefore(job_, behind, CopyTime(job_, unit.bytes));
      copy.in_front = true;
      const bool reads = scatter.before.front().task == behind;
      const TaskIndex inserted = edit_.Insert(std::move(copy));
      if (!reads) scatter.before = {ReaderOf(job_.graph(), step, edit_)};
      scatter.after = {{.task = inserted}};
    }
    if (copies_.placement.gpus == 1) {
      edit_.Insert(std::move(scatter));
      return;
    }
    const auto shares = static_cast<double>(shard_.placement.gpus);
    Edit::ChannelTask sum =
        Send(Collective::kAllReduce, sent / shares, unit.ready, copies_, copies_channel_);
    sum.before = std::exchange(scatter.before, {});
    sum.after = {{.task = edit_.Insert(std::move(scatter))}};
    edit_.Insert(std::move(sum));
  }

  const Job& job_;
  const Exchange& exchange_;
  Edit& edit_;
  const std::vector<OptimizerStep> updates_;
  std::vector<GradientStep> steps_;
  GpuGroup shard_;   ///< Ranks that share a copy of the parameters.
  GpuGroup copies_;  ///< Ranks with the same share; one rank if all ranks share one copy.
  std::uint32_t channel_ = 0, copies_channel_ = 0;
};

}  // namespace

Effect InsertShardedExchange(const Job& job, const Exchange& exchange, const ZeroSharding& sharding,
                             Edit& edit) {
  return ShardedExchange(job, exchange, edit).Insert(sharding);
}

}  // namespace headroom
