// optimizer: another algorithm updates the parameters, in its fused form. The update is
// memory-bound; its bytes per parameter follow from the algorithm:
// - sgd (with momentum) and adamw: the operands of torch.optim's fused kernels.
// - 8bit-adam: one byte per state, and a float32 scale per block of 2,048 (Dettmers et al., "8-bit
//   Optimizers via Block-wise Quantization", ICLR 2022).
// - muon: momentum, its 16-bit copy and the norm of that copy for hidden matrices, and AdamW for
//   other parameters. Newton-Schulz iterations add products (muon.h).
// A recorded fused or foreach update changes its time as its bytes. The model does not know if the
// job converges in as many steps.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "whatif/job/operators.h"
#include "whatif/job/optimizer_steps.h"
#include "whatif/memory/tensor_lifetimes.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/parameters/muon.h"
#include "whatif/scenarios/parameters/optimizer_update.h"
#include "whatif/scenarios/selection.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// Half-widths of times that no measurement of the algorithm supports. 8-bit states need a search
/// in a table for each element; products of Muon have the error of products on tensor cores.
constexpr double kUntriedUpdateError = 0.3, kMuonError = 0.2;

/// A fused update. Accesses and states count tensors of the parameter's type.
struct UpdateKind {
  std::string_view key;                      ///< Value of the scenario's key.
  std::array<std::string_view, 3> recorded;  ///< Names of the optimizer's class.
  double accesses = 0;                       ///< Operands that are read or written.
  double other_bytes = 0;  ///< Bytes per element that are read or written, of other types.
  double states = 0;
  double other_state_bytes = 0;  ///< Bytes per element of states of other types.
  double error = kUpdateError;
};

constexpr double kBlockElements = 2048, kScaleBytes = 4;
constexpr double kScalesPerElement = 2 * kScaleBytes / kBlockElements;  ///< Bytes, of two states.

constexpr UpdateKind kSgd{"sgd", {"SGD", "FusedSGD"}, 5, 0, 1, 0};
constexpr UpdateKind kAdamW{"adamw", {"AdamW", "Adam", "FusedAdam"}, 7, 0, 2, 0};
/// Reads and writes both states and their scales.
constexpr UpdateKind k8BitAdam{
    "8bit-adam",           {"AdamW8bit", "Adam8bit"}, 3, 2 * (2 + kScalesPerElement), 0,
    2 + kScalesPerElement, kUntriedUpdateError};
/// A hidden matrix: reads gradient and momentum, writes the momentum, and reads and writes the
/// parameter. In 16 bits: writes the momentum, reads it for its norm, scales it, and reads the
/// result.
constexpr UpdateKind kMuon{"muon", {"Muon"}, 5, 10, 1, 0, kMuonError};

const UpdateKind& UpdateKindCalled(std::string_view key) {
  for (const UpdateKind* algorithm : {&kSgd, &k8BitAdam, &kMuon}) {
    if (algorithm->key == key) return *algorithm;
  }
  return kAdamW;
}

/// An update of all parameters.
struct WholeUpdate {
  double parameters = 0;         ///< Elements.
  double parameter_bytes = 0;    ///< 0 if the shapes are unknown.
  double bytes = 0;              ///< Read and written.
  double state_bytes = 0;        ///< Kept from step to step.
  std::vector<double> products;  ///< Nanoseconds of each.
};

WholeUpdate UpdateOf(const Job& job, const OptimizerStep& step, const UpdateKind& algorithm) {
  std::vector<TensorArg> parameters = CountedParameters(job, step);
  const bool counted = !parameters.empty();
  if (!counted) parameters = AccumulatedParameters(job, step);
  std::vector<bool> matrix(parameters.size());
  if (&algorithm == &kMuon) matrix = MuonMatrices(job, parameters, !counted);
  WholeUpdate update;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const UpdateKind& own = &algorithm == &kMuon && !matrix[i] ? kAdamW : algorithm;
    const double elements = ElementsOf(parameters[i]);
    const double bytes = elements * BytesPerElement(parameters[i].dtype);
    update.parameters += elements;
    update.parameter_bytes += bytes;
    update.bytes += own.accesses * bytes + own.other_bytes * elements;
    update.state_bytes += own.states * AllocatedBytes(bytes) + own.other_state_bytes * elements;
    if (!matrix[i]) continue;
    const std::vector<double> products = NewtonSchulzNs(parameters[i], *job.device());
    update.products.insert(update.products.end(), products.begin(), products.end());
  }
  return update;
}

/// Returns the class in the name of the optimizer's range: "AdamW" in "Optimizer.step#AdamW.step".
std::string_view ClassOfOptimizer(const Job& job, const OptimizerStep& step) {
  std::string_view name = job.store().Text(job.store().host_events.name[step.range.index()]);
  name.remove_prefix(std::min(name.size(), name.find('#') + 1));
  return name.substr(0, name.rfind('.'));
}

/// Returns true if the recorded update is the algorithm's fused form. Muon and 8-bit optimizers
/// exist in one form only.
bool IsRecordedUpdate(const Job& job, const OptimizerStep& step, const UpdateKind& algorithm) {
  const std::string_view name = ClassOfOptimizer(job, step);
  const auto& names = algorithm.recorded;
  if (name.empty() || std::find(names.begin(), names.end(), name) == names.end()) return false;
  const bool only_form = name.starts_with("Fused") || name.ends_with("8bit") || name == "Muon";
  return only_form || UpdatesBy(job, step, "_fused_");
}

/// Returns true if the recorded update works on all parameters at once.
bool WorksOnLists(const Job& job, const OptimizerStep& step) {
  return UpdatesBy(job, step, "_fused_") || UpdatesBy(job, step, "_foreach_");
}

bool KnowsBytes(const Job& job, const WholeUpdate& update) {
  return update.parameter_bytes > 0 && KnowsBandwidth(job);
}

/// Returns the nanoseconds of the update's kernel without products.
double KernelTime(const Job& job, const OptimizerStep& step, const WholeUpdate& update,
                  const UpdateKind& algorithm) {
  const UpdateAlgorithm* recorded = AlgorithmOf(job, step);
  if (recorded == nullptr || (KnowsBytes(job, update) && !WorksOnLists(job, step)))
    return UpdateNs(job, update.bytes);
  constexpr double kAssumedBytes = 4;  // Without shapes, float32.
  const double accesses = update.parameter_bytes > 0
                              ? update.bytes / update.parameter_bytes
                              : algorithm.accesses + algorithm.other_bytes / kAssumedBytes;
  return RecordedUpdateNs(job, step) * accesses /
         (UpdatesBy(job, step, "_fused_") ? recorded->fused : recorded->foreach);
}

std::string WhyThisTime(const Job& job, const OptimizerStep& step, const WholeUpdate& update) {
  if (WorksOnLists(job, step) && AlgorithmOf(job, step) != nullptr)
    return "the recorded update changes its time as its bytes";
  if (!KnowsBytes(job, update)) return WhyOnlyRecordedUpdate(job);
  return fmt::format("the update moves {:.3g} bytes for each of {:.3g} million parameters",
                     update.bytes / update.parameters, update.parameters / 1e6);
}

/// Gives each update its new time, in one kernel. A recorded fused update keeps its kernels and its
/// host work. Returns false as UpdateInOneKernel() does.
bool ReplaceUpdates(const Job& job, const std::vector<OptimizerStep>& steps,
                    const std::vector<double>& kernel_ns, Edit& edit) {
  const bool fused = UpdatesBy(job, steps.front(), "_fused_");
  if (!fused && !IsReplaced(steps.front().tasks, edit)) {
    return UpdateInOneKernel(job, steps, kernel_ns, job.calibration().host.fused_optimizer, edit);
  }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::vector<TaskIndex>& tasks = steps[i].tasks;
    if (job.LaunchOf(tasks.front()) == kNoTask) return false;
    if (fused) {
      for (const TaskIndex task : tasks)
        edit.Scale(task, kernel_ns[i] / RecordedUpdateNs(job, steps[i]));
    } else {  // fused-optimizer already left one kernel.
      edit.ReplaceWork(tasks.front(), Nanoseconds(kernel_ns[i]), std::nullopt);
    }
  }
  return true;
}

/// Inserts the products before the kernel of an update.
void InsertProducts(const Job& job, const OptimizerStep& step, const WholeUpdate& update,
                    Edit& edit) {
  for (const double ns : update.products) {
    edit.Insert({.before_task = step.tasks.front(),
                 .before_call = job.LaunchOf(step.tasks.front()),
                 .duration = Nanoseconds(ns),
                 .host_work = Nanoseconds(job.calibration().host.cast_work),
                 .launch = Nanoseconds(job.calibration().host.cast_launch)});
  }
}

/// Returns the reason why the algorithm's time is unknown; "" if it is known.
std::string WhyNoTime(const Job& job, const OptimizerStep& step, const UpdateKind& algorithm) {
  const bool has_shapes =
      !CountedParameters(job, step).empty() || !AccumulatedParameters(job, step).empty();
  if (&algorithm != &kMuon) {
    if (AlgorithmOf(job, step) != nullptr || (has_shapes && KnowsBandwidth(job))) return {};
    return "the recorded algorithm is unknown, and so are the parameters' shapes or the GPU's "
           "memory bandwidth; record shapes (record_shapes=True)";
  }
  if (!KnowsBandwidth(job)) return WhyNoFigure(job, "memory bandwidth");
  if (!job.device()->bf16_tensor_tflops) return "this GPU has no tensor cores for bfloat16";
  return has_shapes ? ""
                    : "the products of Muon need the parameters' shapes, which were not recorded; "
                      "record shapes (record_shapes=True)";
}

}  // namespace

Effect ApplyOptimizer(const Job& job, const Arguments& arguments, Edit& edit) {
  const UpdateKind& algorithm = UpdateKindCalled(arguments.Text("kind"));
  const std::vector<OptimizerStep> steps = FindOptimizerSteps(job);
  if (const std::string why = WhyNoUpdate(job, steps); !why.empty()) return Effect::Abstain(why);
  const OptimizerStep& first = steps.front();
  if (IsRecordedUpdate(job, first, algorithm)) {
    return Effect::Already(fmt::format("the optimizer is {}", ClassOfOptimizer(job, first)));
  }
  if (const std::string why = WhyNoTime(job, first, algorithm); !why.empty())
    return Effect::Abstain(why);
  std::vector<WholeUpdate> updates;
  std::vector<double> kernel_ns;
  for (const OptimizerStep& step : steps) {
    updates.push_back(UpdateOf(job, step, algorithm));
    kernel_ns.push_back(KernelTime(job, step, updates.back(), algorithm));
  }
  if (!ReplaceUpdates(job, steps, kernel_ns, edit))
    return Effect::Abstain(std::string(kNoUpdateLaunch));
  for (std::size_t i = 0; i < steps.size(); ++i) InsertProducts(job, steps[i], updates[i], edit);

  const WholeUpdate& update = updates.front();
  Effect effect{.why = WhyThisTime(job, first, update)};
  if (!update.products.empty()) {
    effect.AlsoBecause(
        fmt::format("{} products in bfloat16 orthogonalize the momentum", update.products.size()));
  }
  effect.gpu_error = WorksOnLists(job, first) || KnowsBytes(job, update)
                         ? algorithm.error
                         : std::max(algorithm.error, kUpdateErrorWithoutShapes);
  if (update.parameter_bytes > 0) {
    double state = 0;
    for (const WholeUpdate& each : updates) state += each.state_bytes;
    effect.memory_delta_bytes = 0;
    effect.memory_change.fused_update = true;
    effect.memory_change.optimizer_state_bytes = state / std::max(1, job.graph().steps);
  }
  return effect;
}

}  // namespace headroom
