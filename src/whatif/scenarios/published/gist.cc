// gist: keeps the outputs of ReLUs encoded between forward and backward (Jain et al., "Gist", ISCA
// 2018).
// - Before a pooling, whose backward needs only their sign: one bit per element. The pooling keeps
//   four bits per output element for the position of its maximum.
// - Before a convolution: the elements above zero, with one byte for the position of each.
//
// Kernels encode the outputs after the forward reads them. Outputs that a convolution reads again
// are decoded before its backward.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>

#include "analysis/names/operator_costs.h"
#include "whatif/job/inserted_kernels.h"
#include "whatif/job/operators.h"
#include "whatif/scenarios/catalogue.h"
#include "whatif/scenarios/why_not_found.h"

namespace headroom {
namespace {

/// The next reader of a ReLU's output.
enum class Reader : std::uint8_t { kOther, kPooling, kConvolution };

/// A saved output of a ReLU.
struct Saved {
  double elements = 0;
  double element_bytes = 4;
  Reader reader = Reader::kOther;
  TaskIndex read = kNoTask;      ///< First GPU task of the next reader.
  TaskIndex backward = kNoTask;  ///< First GPU task of that reader's backward.
};

bool IsRelu(std::string_view op) {
  return op == "aten::relu" || op == "aten::relu_" || op == "aten::clamp_min" ||
         op == "aten::clamp_min_";
}

Reader ReaderOf(std::string_view op) {
  if (op.find("max_pool") != std::string_view::npos) return Reader::kPooling;
  if (op.find("convolution") != std::string_view::npos) return Reader::kConvolution;
  return Reader::kOther;
}

std::vector<Saved> FindSaved(const Job& job) {
  std::vector<Saved> saved;
  // Index of the saved output, keyed by the reader's numbered operator.
  std::map<HostEventId, std::size_t> reader;
  bool behind_relu = false;
  HostEventId last;
  for (TaskIndex task = 0; task < job.graph().tasks.size(); ++task) {
    if (job.graph().tasks[task].kind != TaskKind::kGpu) continue;
    const HostContext& context = job.ContextOf(task);
    if (context.phase == Phase::kBackward) {
      const auto known = reader.find(context.forward);
      if (context.forward.valid() && known != reader.end())
        saved[known->second].backward = std::min(saved[known->second].backward, task);
      continue;
    }
    if (!context.op.valid() || context.op == last) continue;
    last = context.op;
    const std::string_view name = NameOfOperator(job, context.op);
    if (behind_relu) {
      saved.back().reader = ReaderOf(name);
      saved.back().read = task;
      if (saved.back().reader != Reader::kOther)
        reader.emplace(NumberedOperator(job, context.op), saved.size() - 1);
    }
    behind_relu = IsRelu(name);
    if (!behind_relu) continue;
    const OperatorCall* call = job.CallOf(context.op);
    behind_relu = call && !call->args.empty() && call->args[0].tensors.size() == 1;
    if (!behind_relu) continue;
    Saved output;
    output.elements = ElementsOf(call->args[0].tensors[0]);
    output.element_bytes = BytesPerElement(call->args[0].tensors[0].dtype);
    saved.push_back(output);
  }
  std::erase_if(saved, [](const Saved& output) {
    return output.reader == Reader::kOther || output.backward == kNoTask;
  });
  return saved;
}

}  // namespace

Effect ApplyGist(const Job& job, const Arguments& arguments, Edit& edit) {
  if (job.device() == nullptr || !job.device()->memory_bandwidth_gbs)
    return Effect::Abstain(WhyNoFigure(job, "memory bandwidth"));
  const double sparsity = arguments.Number("sparsity");
  if (sparsity >= 1) return Effect::Abstain("sparsity must be below 1: it is the share of zeros");
  const std::vector<Saved> outputs = FindSaved(job);
  std::map<std::int32_t, double> saved_bytes, largest;
  for (const Saved& output : outputs) {
    const double raw = output.elements * output.element_bytes;
    const double encoded = output.reader == Reader::kPooling
                               ? output.elements / 8
                               : output.elements * (1 - sparsity) * (output.element_bytes + 1);
    const TaskIndex behind = NextOnStream(job, output.read);
    if (encoded >= raw || behind == kNoTask || job.LaunchOf(output.backward) == kNoTask) continue;
    Edit::NewKernel encode =
        KernelBefore(job, behind, MemoryPassTime(raw + encoded, *job.device()));
    encode.per_sample = true;
    edit.Insert(std::move(encode));
    const std::int32_t step = job.graph().tasks[output.read].step;
    saved_bytes[step] += raw - encoded;
    if (output.reader == Reader::kPooling) continue;
    Edit::NewKernel decode =
        KernelBefore(job, output.backward, MemoryPassTime(raw + encoded, *job.device()));
    decode.per_sample = true;
    edit.Insert(std::move(decode));
    largest[step] = std::max(largest[step], raw);
  }
  if (saved_bytes.empty()) {
    const auto is_relu = [&](const LaunchingOperator& op) {
      return IsRelu(NameOfOperator(job, op.op));
    };
    return NotFound(job,
                    !HasAny(job, is_relu) ? "no ReLU runs in the job"
                    : !HasBackward(job)
                        ? "the recorded steps have no backward, so they save nothing for it"
                        : "no ReLU before a pooling or convolution is saved for the backward",
                    {"ReLUs", is_relu});
  }
  // One decoded output exists at a time.
  const std::int32_t step = saved_bytes.begin()->first;
  const double bytes = std::max(0.0, saved_bytes[step] - largest[step]);
  Effect effect;
  effect.gpu_error = 0.2;
  effect.memory_delta_bytes = -static_cast<std::int64_t>(bytes);
  effect.why = fmt::format(
      "uses {:.0f} MB less at the recorded batch size, if a share of {} of the elements is zero",
      bytes / 1e6, arguments.Text("sparsity"));
  return effect;
}

}  // namespace headroom
