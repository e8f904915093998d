#include "whatif/memory/lifetime_recorder.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "cost/operator_args.h"
#include "whatif/job/attention.h"
#include "whatif/memory/convolution_workspace.h"

namespace headroom {

WeightShape ShapeOfWeight(std::vector<std::int64_t> dims) {
  std::sort(dims.begin(), dims.end());
  return dims;
}

LifetimeRecorder::LifetimeRecorder(const Job& job, const StepOperators& step,
                                   const MemoryChange& change)
    : job_(job), step_(step), change_(change) {
  out_.operators = step.list.size();
  if (!change.fused_attention) return;
  for (const EagerAttention& attention : FindEagerAttention(job)) {
    const AttentionShape& shape = attention.shape;
    scores_.insert(shape.sequences * shape.queries * shape.keys);
  }
}

std::size_t LifetimeRecorder::Make(const TensorArg& tensor, std::size_t op, StorageKind kind,
                                   std::optional<double> element_bytes) {
  const double recorded = BytesPerElement(tensor.dtype), elements = Elements(tensor.dims);
  const bool is_float = IsFloating(tensor.dtype);
  out_.storages.push_back({.elements = elements,
                           .dtype = tensor.dtype,
                           .element_bytes = is_float ? element_bytes.value_or(recorded) : recorded,
                           .kind = kind,
                           .grows = kind != StorageKind::kUpdate,
                           .removed = scores_.contains(elements),
                           .life = {.birth = op, .death = op},
                           .readers = {}});
  return out_.storages.size() - 1;
}

void LifetimeRecorder::MakeForAllParameters(std::size_t op) {
  for (const double bytes : out_.parameters) {
    Make({.dims = {std::llround(bytes)}, .strides = {}, .dtype = DType::kI8}, op,
         StorageKind::kUpdate);
  }
}

void LifetimeRecorder::ReadWeight(std::string_view operation, const TensorArg& weight) {
  WeightReads& reads = weights_read_[{operation, ShapeOfWeight(weight.dims)}];
  ++reads.count;
  reads.bytes = AllocatedBytes(Elements(weight.dims) * BytesPerElement(weight.dtype));
}

void LifetimeRecorder::AddFrozenWeights(const std::map<WeightShape, std::size_t>& trained,
                                        std::size_t micro_batches) {
  std::map<WeightShape, double> frozen;  // Bytes.
  for (const auto& [key, reads] : weights_read_) {
    const auto& [operation, shape] = key;
    const auto known = trained.find(shape);
    const std::size_t gradients = known == trained.end() ? 0 : known->second;
    if (reads.count <= gradients) continue;
    const std::size_t rest = (reads.count - gradients + micro_batches - 1) / micro_batches;
    double& bytes = frozen[shape];
    bytes = std::max(bytes, static_cast<double>(rest) * reads.bytes);
  }
  for (const auto& [shape, bytes] : frozen) out_.frozen_bytes += bytes;
}

void LifetimeRecorder::LiveUntil(std::size_t storage, std::size_t op) {
  std::size_t& death = out_.storages[storage].life.death;
  death = std::max(death, op);
}

void LifetimeRecorder::AddWorkspace(std::size_t op) {
  if (Op(op).name.find("convolution") == std::string_view::npos) return;
  const bool on_tensor_cores = change_.autocast || change_.tensor_core_convolutions;
  std::vector<GrowingBytes> calls;
  if (!on_tensor_cores) {
    calls = ConvolutionWorkspace(job_, Op(op), change_.channels_last);
  } else if (!change_.channels_last) {
    calls = TensorCoreWorkspace(Op(op), change_.autocast ? kHalfBytes : kFloatBytes);
  }
  out_.workspaces.push_back({.op = op, .calls = std::move(calls)});
}

}  // namespace headroom
