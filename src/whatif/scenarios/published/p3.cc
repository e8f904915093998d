// p3: gradients go to a parameter server in slices; the layers nearest the input go first. Each
// layer of the next step's forward waits only for its own parameters (Jayarajan et al.,
// "Priority-based Parameter Propagation for Distributed DNN Training", MLSys 2019). The members are
// the servers, each for its share of every slice. The servers update the parameters.
#include <algorithm>
#include <cmath>

#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/selection.h"

namespace headroom {
namespace {

/// 50,000 parameters, the paper's best size.
constexpr double kSliceBytes = 200e3;

/// The next task that reads a gradient's parameter.
struct Consumer {
  TaskIndex task = kNoTask;
  std::uint8_t cycles = 0;
};

/// Returns the forward task of the same parameter in the next step. If the parameter's forward
/// operator is unknown, returns the first forward task of any parameter.
Consumer NextForward(const std::vector<GradientStep>& steps, std::size_t step,
                     std::size_t gradient) {
  const bool last = step + 1 == steps.size();
  const std::vector<Gradient>& next = steps[last ? 0 : step + 1].gradients;
  TaskIndex task = next[gradient].forward;
  if (task == kNoTask) {
    for (const Gradient& other : next) task = std::min(task, other.forward);
  }
  return {.task = task, .cycles = static_cast<std::uint8_t>(last ? 1 : 0)};
}

/// Removes the members' own updates, because the servers update.
void RemoveUpdates(const Job& job, Edit& edit) {
  const std::vector<OptimizerStep> updates = FindOptimizerSteps(job);
  const std::vector<bool> inside = SelectHost(job, [&](HostEventId event) {
    return std::any_of(updates.begin(), updates.end(),
                       [&](const OptimizerStep& update) { return update.range == event; });
  });
  std::vector<TaskIndex> gone;
  for (const OptimizerStep& update : updates) {
    std::copy_if(update.tasks.begin(), update.tasks.end(), std::back_inserter(gone),
                 [&](TaskIndex task) { return !edit.IsRemoved(task); });
  }
  ScaleHost(job, inside, 0, edit);
  for (const TaskIndex task : gone) edit.Remove(task);
}

}  // namespace

Effect ApplyP3(const Job& job, const Arguments& arguments, Edit& edit) {
  Effect effect = MakeExchange(job, arguments, kBucketBytes, edit);
  if (!effect.applies) return effect;
  const std::vector<GradientStep> steps = ExchangedGradients(job, edit);
  const bool alike = std::all_of(steps.begin(), steps.end(), [&](const GradientStep& step) {
    return step.gradients.size() == steps.front().gradients.size();
  });
  if (!job.graph().periodic || !alike) {
    return Effect::Abstain(
        "the next step's forward is unknown: record at least two complete, similar steps");
  }
  // In the graph's order, a transfer precedes the task that needs it.
  for (std::size_t s = 0; s + 1 < steps.size(); ++s) {
    for (std::size_t g = 0; g < steps[s].gradients.size(); ++g) {
      if (NextForward(steps, s, g).task <= steps[s].gradients[g].ready)
        return Effect::Abstain(
            "the recorded steps overlap, so the next forward is unknown: record steps that do not "
            "overlap");
    }
  }
  const bool linked =
      std::any_of(steps.front().gradients.begin(), steps.front().gradients.end(),
                  [](const Gradient& gradient) { return gradient.forward != kNoTask; });
  if (!linked)
    return Effect::Abstain("no sequence number matches a gradient with its forward operator");

  const std::uint32_t network = *edit.FindChannel(kNetwork);
  edit.Clear(network);
  edit.Reschedule(network, Policy::kPriority);
  const Channel& channel = edit.ChannelAt(network);
  const auto n = static_cast<double>(channel.members);
  const auto sharing = static_cast<double>(channel.members_per_link);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (std::size_t g = 0; g < steps[s].gradients.size(); ++g) {
      const Gradient& gradient = steps[s].gradients[g];
      const Consumer consumer = NextForward(steps, s, g);
      const double slices = std::max(1.0, std::ceil(gradient.bytes / kSliceBytes));
      Edit::ChannelTask send;
      send.channel = network;
      send.step = job.graph().tasks[gradient.ready].step;
      // The share of a server in the same machine does not use the link.
      send.bytes = gradient.bytes / slices;
      send.duration = TransferTime(sharing * (n - sharing) / n * send.bytes, channel);
      // Lower values are sent first: gradients whose parameters the forward reads earlier. Steps
      // are identical, so the tasks of the first step suffice.
      send.priority = static_cast<std::int32_t>(NextForward(steps, steps.size() - 1, g).task);
      const Dependency needed = {
          .task = edit.FrontOf(consumer.task), .lag = channel.latency, .cycles = consumer.cycles};
      for (double slice = 0; slice < slices; ++slice) {
        Edit::ChannelTask push = send, pull = send;
        push.after = {{.task = gradient.ready}};
        const TaskIndex pushed = edit.Insert(std::move(push));
        pull.after = {{.task = pushed, .lag = channel.latency}};
        pull.before = {needed};
        edit.Insert(std::move(pull));
      }
    }
  }
  RemoveUpdates(job, edit);
  effect.AlsoBecause("excludes the servers' time for the update");
  return effect;
}

}  // namespace headroom
