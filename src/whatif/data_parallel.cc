// data-parallel: the job on N GPUs, each with its own batch as recorded. Gradients are summed in
// buckets by ring all-reduces that run beside the backward pass (Li et al., "PyTorch Distributed",
// VLDB 2020); what reads the gradients waits for the last.
#include <fmt/format.h>

#include <cmath>
#include <string>

#include "whatif/catalogue.h"
#include "whatif/gradients.h"
#include "whatif/network.h"
#include "whatif/why_not_found.h"

namespace headroom {
namespace {

/// The first bucket is small, so that communication begins early
/// (torch.distributed's kDefaultFirstBucketBytes).
constexpr double kFirstBucketBytes = 1024.0 * 1024;

/// The first GPU task of the graph: what follows the last step.
TaskIndex FirstGpuTask(const Graph& graph) {
  TaskIndex task = 0;
  while (task < graph.tasks.size() && graph.tasks[task].kind != TaskKind::kGpu) ++task;
  return task;
}

/// One all-reduce a bucket; a bucket is full once it holds `bucket_bytes`.
void InsertAllReduces(const Job& job, const GradientStep& step, std::uint32_t channel,
                      double bucket_bytes, Edit& edit) {
  double bytes = 0, full = std::min(kFirstBucketBytes, bucket_bytes);
  for (std::size_t g = 0; g < step.gradients.size(); ++g) {
    const Gradient& gradient = step.gradients[g];
    bytes += gradient.bytes;
    if (bytes < full && g + 1 < step.gradients.size()) continue;
    Edit::ChannelTask send = RingAllReduce(bytes, edit.ChannelAt(channel));
    send.channel = channel;
    send.step = job.graph().tasks[gradient.ready].step;
    send.after = {{.task = gradient.ready}};
    const bool in_cycle = step.next != kNoTask;
    send.before = {{.task = edit.FrontOf(in_cycle ? step.next : FirstGpuTask(job.graph())),
                    .cycles = static_cast<std::uint8_t>(in_cycle ? 0 : 1)}};
    edit.Insert(std::move(send));
    bytes = 0;
    full = bucket_bytes;
  }
}

bool Communicates(const Job& job) {
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind == TaskKind::kGpu &&
        job.ClassOf(task).family == WorkFamily::kCommunication)
      return true;
  }
  return false;
}

}  // namespace

DurationNs TransferTime(double bytes, const Channel& channel) {
  return DurationNs(std::llround(bytes / channel.bytes_per_ns));
}

Edit::ChannelTask RingAllReduce(double bytes, const Channel& channel) {
  const auto n = static_cast<double>(channel.members);
  Edit::ChannelTask task;
  task.bytes = bytes;
  task.latency = DurationNs(2 * (channel.members - 1) * channel.latency.ns());
  task.duration = task.latency + TransferTime(2 * (n - 1) / n * bytes, channel);
  return task;
}

Effect MakeExchange(const Job& job, const Arguments& arguments, double bucket_bytes, Edit& edit) {
  Effect effect;
  effect.gpu_error = kNetworkError;
  if (edit.FindChannel(kNetwork)) return effect;
  if (Communicates(job)) {
    return Effect::Abstain(
        "the recorded job communicates already; network-speed and scale change what it does");
  }
  const auto gpus = static_cast<std::int64_t>(arguments.Number("gpus"));
  if (gpus < 2) return Effect::Abstain("one GPU has nobody to exchange gradients with");
  const std::vector<GradientStep> steps = FindGradients(job);
  if (steps.empty()) {
    if (!HasBackward(job))
      return Effect::Abstain(WhyNotFound(job,
                                         "the recorded steps have no backward, so no gradients: "
                                         "record training steps, with record_shapes=True"));
    return Effect::Abstain(
        WhyNotFound(job, "no gradient of a parameter is known by its shape",
                    {"operators of the backward", [&](const LaunchingOperator& op) {
                       return job.ContextOf(op.tasks.front()).phase == Phase::kBackward;
                     }}));
  }
  const std::uint32_t channel =
      edit.AddChannel({.name = kNetwork,
                       .policy = Policy::kFifo,
                       .bytes_per_ns = arguments.Number("bandwidth-gbps") / 8,
                       .latency = DurationNs(std::llround(arguments.Number("latency-us") * 1e3)),
                       .members = gpus});
  for (const GradientStep& step : steps) InsertAllReduces(job, step, channel, bucket_bytes, edit);
  effect.why = fmt::format(
      "{} GPUs with the recorded batch each, one a machine, over links of {} Gbit/s each way and "
      "{} us a message; {:.1f} MB of gradients a step",
      gpus, arguments.Text("bandwidth-gbps"), arguments.Text("latency-us"),
      steps.front().Bytes() / 1e6);
  if (const std::string missing =
          WhatShapesMiss(job, Phase::kBackward, kAccumulateGrad, "gradients");
      !missing.empty()) {
    effect.AlsoBecause(missing);
  }
  effect.work = arguments.Number("gpus");
  return effect;
}

Effect ApplyDataParallel(const Job& job, const Arguments& arguments, Edit& edit) {
  return MakeExchange(job, arguments, arguments.Number("bucket-mb") * 1024 * 1024, edit);
}

}  // namespace headroom
