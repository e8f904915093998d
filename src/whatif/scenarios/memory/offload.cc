// offload: keeps data of the training in host memory and copies it over PCIe while the GPU
// computes.
// - optimizer: each gradient is copied to the host when it is ready, the CPU updates, and the
//   parameters are copied back. The GPU's next work after the update waits for them.
// - activations: the input of each product or convolution is copied out once its forward starts,
// and
//   back while the backward of the following one runs. The forward does not wait.
// Each direction of PCIe copies one tensor at a time.
//
// Sources: Ren et al., "ZeRO-Offload" (USENIX ATC 2021); torchtune, OffloadActivations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "whatif/job/gradients.h"
#include "whatif/job/operators.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/parameters/frozen_parameters.h"
#include "whatif/scenarios/parameters/optimizer_update.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-width of copies and CPU updates. Assumed: other traffic shares PCIe and host memory.
constexpr double kOffloadError = 0.4;

/// Returns the bytes per ns from or to the host: the fastest copy of at least 1 MiB of pinned
/// memory, else the nominal rate of the GPU's PCIe; nullopt if both are unknown.
std::optional<double> PcieRate(const Job& job) {
  constexpr std::int64_t kMinBytes = 1 << 20;
  const auto& copies = job.store().gpu_tasks;
  double best = 0;
  for (const TaskIndex task : SelectTasks(job, [](TaskIndex) { return true; })) {
    const std::uint32_t row = job.graph().tasks[task].row;
    const bool over_pcie =
        copies.copy[row] == CopyKind::kHostToDevice || copies.copy[row] == CopyKind::kDeviceToHost;
    const std::int64_t ns = job.corrected().duration[task];
    if (!over_pcie || copies.bytes[row] < kMinBytes || ns <= 0 ||
        job.NameOf(task).find("Pageable") != std::string_view::npos)
      continue;
    best = std::max(best, static_cast<double>(copies.bytes[row]) / static_cast<double>(ns));
  }
  if (best > 0) return best;
  return job.device() != nullptr ? job.device()->pcie_bandwidth_gbs : std::nullopt;
}

Edit::ChannelTask CopyOn(std::uint32_t channel, std::int32_t step, double bytes, Edit& edit) {
  Edit::ChannelTask copy;
  copy.channel = channel;
  copy.step = step;
  copy.bytes = bytes;
  copy.duration = TransferTime(bytes, edit.ChannelAt(channel));
  return copy;
}

Effect OffloadOptimizer(const Job& job, double host_rate, double pcie, Edit& edit) {
  const std::vector<OptimizerStep> updates = FindOptimizerSteps(job);
  if (const std::string why = WhyNoUpdate(job, updates); !why.empty()) return Effect::Abstain(why);
  const UpdateAlgorithm* algorithm = AlgorithmOf(job, updates.front());
  if (algorithm == nullptr) return Effect::Abstain("only Adam, AdamW and SGD are supported");
  const std::vector<GradientStep> steps = ExchangedGradients(job, edit);
  if (steps.size() != updates.size()) {
    return Effect::Abstain(
        "the gradients of each update are unknown; record shapes (record_shapes=True)");
  }
  if (!UpdateInOneKernel(job, updates, std::vector<double>(updates.size(), 0.0), 0, edit))
    return Effect::Abstain(std::string(kNoUpdateLaunch));
  const std::uint32_t out = edit.AddChannel({.name = "copies out", .bytes_per_ns = pcie});
  const std::uint32_t in = edit.AddChannel({.name = "copies in", .bytes_per_ns = pcie});
  const std::uint32_t cpu = edit.AddChannel({.name = "CPU update", .bytes_per_ns = host_rate});
  for (std::size_t i = 0; i < updates.size(); ++i) {
    const TaskIndex reader = updates[i].tasks.front();
    const std::int32_t step = job.graph().tasks[reader].step;
    const double bytes = steps[i].Bytes();
    Edit::ChannelTask update = CopyOn(cpu, step, algorithm->fused * bytes, edit);
    for (const Gradient& gradient : steps[i].gradients) {
      Edit::ChannelTask copy = CopyOn(out, step, gradient.bytes, edit);
      copy.after = {{.task = gradient.ready}};
      update.after.push_back({.task = edit.Insert(std::move(copy))});
    }
    Edit::ChannelTask back = CopyOn(in, step, bytes, edit);
    back.after = {{.task = edit.Insert(std::move(update))}};
    back.before = {{.task = reader}};
    edit.Insert(std::move(back));
  }
  Effect effect;
  const double bytes = steps.front().Bytes();
  effect.why = fmt::format(
      "{:.0f} MB of gradients and parameters cross PCIe each way at {:.3g} GB/s, and the CPU's "
      "update moves {:.3g} GB at {:.3g} GB/s",
      bytes / 1e6, pcie, algorithm->fused * bytes / 1e9, host_rate);
  if (const std::optional<TrainingBytes> training = TrainingBytesOf(job))
    effect.memory_delta_bytes = -std::llround(training->optimizer_state);
  return effect;
}

/// A product or convolution with a backward.
struct SavingLayer {
  double input_bytes = 0;
  TaskIndex forward = kNoTask, backward = kNoTask;  ///< First GPU tasks.
};

double InputBytesOf(const OperatorCall& call) {
  if (const std::optional<GemmShape> gemm = GemmShapeOf(call)) {
    if (gemm->batch != 1) return 0;  // Attention, whose operands are not inputs of a layer.
    return static_cast<double>(gemm->m) * static_cast<double>(gemm->k) *
           BytesPerElement(gemm->dtype);
  }
  const TensorArg* input = ConvolutionShapeOf(call) ? FirstTensor(call) : nullptr;
  return input == nullptr ? 0 : ElementsOf(*input) * BytesPerElement(input->dtype);
}

/// Returns the layers of each step, in order of their forward.
std::map<std::int32_t, std::vector<SavingLayer>> FindSavingLayers(const Job& job) {
  std::map<HostEventId, SavingLayer> layers;  // By the operator with autograd's number.
  for (const LaunchingOperator& op : LaunchingOperators(job)) {
    const TaskIndex task = op.tasks.front();
    const HostContext& context = job.ContextOf(task);
    if (context.phase == Phase::kBackward) {
      const auto layer = layers.find(context.forward);
      if (layer != layers.end()) layer->second.backward = std::min(layer->second.backward, task);
      continue;
    }
    const OperatorCall* call = job.CallOf(op.op);
    const double bytes = call != nullptr ? InputBytesOf(*call) : 0;
    const HostEventId around = NumberedOperator(job, op.op);
    if (bytes > 0 && around.valid() && context.phase == Phase::kForward)
      layers.try_emplace(around, SavingLayer{.input_bytes = bytes, .forward = task});
  }
  std::map<std::int32_t, std::vector<SavingLayer>> by_step;
  for (const auto& [op, layer] : layers) {
    if (layer.backward != kNoTask && layer.backward > layer.forward)
      by_step[job.graph().tasks[layer.forward].step].push_back(layer);
  }
  for (auto& [step, of_step] : by_step) {
    std::sort(of_step.begin(), of_step.end(),
              [](const SavingLayer& a, const SavingLayer& b) { return a.forward < b.forward; });
  }
  return by_step;
}

Effect OffloadActivations(const Job& job, double pcie, Edit& edit) {
  const auto steps = FindSavingLayers(job);
  if (steps.empty()) {
    return Effect::Abstain(
        WhyNotFound(job, "no product or convolution has a backward that a sequence number matches",
                    {"matrix products and convolutions",
                     [&](const LaunchingOperator& op) { return IsProduct(job, op); }}));
  }
  const std::uint32_t out = edit.AddChannel({.name = "copies out", .bytes_per_ns = pcie});
  const std::uint32_t in = edit.AddChannel({.name = "copies in", .bytes_per_ns = pcie});
  double saved = 0, copied = 0;
  for (const auto& [step, layers] : steps) {
    double bytes = 0, largest = 0;
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
      const SavingLayer &layer = layers[l], &next = layers[l + 1];
      if (next.backward >= layer.backward) continue;  // Branches may swap two layers.
      const std::optional<Precision> changed = edit.PrecisionOf(layer.forward);
      const bool half = changed == Precision::kF16 || changed == Precision::kBF16;
      Edit::ChannelTask copy = CopyOn(out, step, layer.input_bytes * (half ? 0.5 : 1), edit);
      copy.per_sample = true;
      Edit::ChannelTask back = copy;
      copy.after = {{.task = layer.forward, .from_start = true}};
      back.channel = in;
      bytes += copy.bytes;
      largest = std::max(largest, copy.bytes);
      back.after = {{.task = edit.Insert(std::move(copy))},
                    {.task = next.backward, .from_start = true}};
      back.before = {{.task = layer.backward}};
      edit.Insert(std::move(back));
    }
    saved = std::max(saved, std::max(0.0, bytes - 2 * largest));
    copied = std::max(copied, bytes);
  }
  if (copied == 0) return Effect::Nothing("no layer keeps its input while another layer runs");
  Effect effect;
  effect.memory_delta_bytes = -std::llround(saved);
  effect.why = fmt::format(
      "inputs of products and convolutions, {:.0f} MB per step, are copied at {:.3g} GB/s each way",
      copied / 1e6, pcie);
  return effect;
}

}  // namespace

Effect ApplyOffload(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::optional<double> pcie = PcieRate(job);
  if (!pcie) return Effect::Abstain(WhyNoFigure(job, "PCIe bandwidth"));
  Effect effect = arguments.Text("what") == "optimizer"
                      ? OffloadOptimizer(job, arguments.Number("host-gbs"), *pcie, edit)
                      : OffloadActivations(job, *pcie, edit);
  effect.transfer_error = kOffloadError;
  return effect;
}

}  // namespace headroom
