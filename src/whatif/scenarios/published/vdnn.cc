// vdnn: keeps inputs of convolutions in host memory until the backward (Rhu et al., "vDNN", MICRO
// 2016, policy vDNN-conv). Each input is copied out while its convolution runs, and the next
// convolution waits for the copy. The input is copied back during the backward of the following
// convolution. The last input stays on the GPU, because its backward follows immediately.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "analysis/names/operator_costs.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/distributed/network.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// A convolution of a step.
struct Layer {
  double input_bytes = 0;
  TaskIndex forward = kNoTask;   ///< First GPU task of its forward.
  TaskIndex backward = kNoTask;  ///< First GPU task of its backward.
};

double InputBytes(const ConvolutionShape& shape) {
  double elements = static_cast<double>(shape.batch) * static_cast<double>(shape.in_channels);
  for (const std::int64_t extent : shape.in) elements *= static_cast<double>(extent);
  return elements * BytesPerElement(shape.dtype);
}

/// Returns an input's share of the recorded bytes: half if a scenario made the convolution 16-bit.
double BytesKept(std::optional<Precision> precision) {
  return precision == Precision::kF16 || precision == Precision::kBF16 ? 0.5 : 1;
}

/// Returns the convolutions of each step that have a backward, in order of their forward.
std::map<std::int32_t, std::vector<Layer>> FindLayers(const Job& job) {
  // Keyed by the surrounding forward operator. The outer operator (aten::convolution) has the
  // sequence number, and the innermost has the shapes.
  std::map<HostEventId, Layer> layers;
  HostEventId last;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostContext& context = job.ContextOf(task);
    if (context.phase == Phase::kBackward) {
      if (!context.forward.valid()) continue;
      const auto layer = layers.find(context.forward);
      if (layer != layers.end()) layer->second.backward = std::min(layer->second.backward, task);
      continue;
    }
    if (!context.costed.valid() || context.costed == last) continue;
    last = context.costed;
    const OperatorCall* call = job.CallOf(context.costed);
    const std::optional<ConvolutionShape> shape = call ? ConvolutionShapeOf(*call) : std::nullopt;
    if (!shape) continue;
    const HostEventId around = NumberedOperator(job, context.costed);
    if (around.valid())
      layers.try_emplace(around, Layer{.input_bytes = InputBytes(*shape), .forward = task});
  }
  std::map<std::int32_t, std::vector<Layer>> by_step;
  for (const auto& [op, layer] : layers) {
    if (layer.backward != kNoTask && layer.backward > layer.forward)
      by_step[job.graph().tasks[layer.forward].step].push_back(layer);
  }
  for (auto& [step, of_step] : by_step) {
    std::sort(of_step.begin(), of_step.end(),
              [](const Layer& a, const Layer& b) { return a.forward < b.forward; });
  }
  return by_step;
}

}  // namespace

Effect ApplyVdnn(const Job& job, const Arguments& arguments, Edit& edit) {
  const std::map<std::int32_t, std::vector<Layer>> steps = FindLayers(job);
  if (steps.empty()) {
    const auto is_convolution = [&](const LaunchingOperator& op) {
      return IsOfFamily(job, op, WorkFamily::kConvolution);
    };
    const Wanted wanted = {"convolutions", is_convolution};
    if (HasAny(job, is_convolution) && HasBackward(job)) {
      return Effect::Abstain(WhyNotFound(
          job, "no sequence number matches a convolution's backward with its forward", wanted));
    }
    return NotFound(job,
                    HasAny(job, is_convolution)
                        ? "the recorded steps have no backward, so they save nothing for it"
                        : "the job has no convolutions",
                    wanted);
  }
  const double bytes_per_ns = arguments.Number("pcie-gbps") / 8;
  const std::uint32_t out = edit.AddChannel({.name = "copies out", .bytes_per_ns = bytes_per_ns});
  const std::uint32_t in = edit.AddChannel({.name = "copies in", .bytes_per_ns = bytes_per_ns});
  double most_saved = 0;
  for (const auto& [step, layers] : steps) {
    double saved = 0, largest = 0;
    for (std::size_t l = 0; l + 1 < layers.size(); ++l) {
      const Layer &layer = layers[l], &next = layers[l + 1];
      // Branches may swap two layers. The input of such a layer stays on the GPU.
      if (next.backward >= layer.backward) continue;
      Edit::ChannelTask copy;
      copy.step = step;
      copy.per_sample = true;
      copy.bytes = layer.input_bytes * BytesKept(edit.PrecisionOf(layer.forward));
      copy.duration = TransferTime(copy.bytes, edit.ChannelAt(out));
      Edit::ChannelTask back = copy;
      copy.channel = out;
      copy.after = {{.task = layer.forward, .from_start = true}};
      copy.before = {{.task = next.forward}};
      back.channel = in;
      back.after = {{.task = edit.Insert(std::move(copy))},
                    {.task = next.backward, .from_start = true}};
      back.before = {{.task = layer.backward}};
      saved += back.bytes;
      largest = std::max(largest, back.bytes);
      edit.Insert(std::move(back));
    }
    // One input is in use while another is copied.
    most_saved = std::max(most_saved, std::max(0.0, saved - 2 * largest));
  }
  Effect effect;
  effect.gpu_error = 0.1;
  effect.memory_delta_bytes = -static_cast<std::int64_t>(most_saved);
  effect.why = fmt::format(
      "uses {:.0f} MB less at the recorded batch size; inputs are copied over a link of {} Gbit/s "
      "each way",
      most_saved / 1e6, arguments.Text("pcie-gbps"));
  return effect;
}

}  // namespace headroom
