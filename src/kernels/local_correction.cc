#include "kernels/local_correction.h"

#include <algorithm>
#include <cmath>
#include <variant>

namespace headroom {
namespace {

enum Shape : int {
  kSingle,
  kBatched,
  kConvolution,
  kPointwise,
  kSoftmax,
  kNorm,
  kAttention,
  kGrouped,
  kRecurrent,
  kInstructions,  ///< And the kinds of InstructionKind after it.
};

/// Returns a coordinate that separates misaligned from aligned rows.
double Alignment(double extent, DType dtype) {
  constexpr double kFar = 2, kAlignedBytes = 16;
  return std::fmod(extent * static_cast<double>(BytesPerElement(dtype)), kAlignedBytes) == 0 ? 0
                                                                                             : kFar;
}

/// Returns a coordinate that separates layouts. Another layout runs another kernel with the same
/// tiles, so half of the evidence counts.
double Layout(bool along_k) {
  constexpr double kNear = 1;
  return along_k ? kNear : 0;
}

}  // namespace

std::pair<LocalCorrection::Kind, LocalCorrection::Point> LocalCorrection::Place(
    const KernelWork& work) {
  if (const auto* product = std::get_if<ProductWork>(&work.shape)) {
    return {
        {product->batched ? kBatched : kSingle, work.dtype},
        {std::log(product->batch), std::log(product->m), std::log(product->k), std::log(product->n),
         Alignment(product->k, work.dtype), Alignment(product->n, work.dtype),
         Layout(product->first_along_k), Layout(product->second_along_k)}};
  }
  if (const auto* general = std::get_if<ConvolutionShape>(&work.shape))
    return Place({.shape = SquareOf(*general), .dtype = work.dtype});
  if (const auto* recurrent = std::get_if<RecurrentWork>(&work.shape)) {
    return {{kRecurrent, work.dtype},
            {std::log(recurrent->batch), std::log(recurrent->steps), std::log(recurrent->hidden),
             std::log(recurrent->layers)}};
  }
  if (const auto* convolution = std::get_if<ConvolutionWork>(&work.shape)) {
    return {{kConvolution, work.dtype},
            {std::log(convolution->batch), std::log(convolution->in_channels),
             std::log(convolution->out_channels), std::log(convolution->kernel),
             std::log(convolution->image), std::log(convolution->stride)}};
  }
  if (const auto* rows = std::get_if<RowwiseWork>(&work.shape)) {
    return {{rows->softmax ? kSoftmax : kNorm, DType::kUnknown},
            {std::log(rows->rows), std::log(rows->columns)}};
  }
  if (const auto* attention = std::get_if<AttentionWork>(&work.shape)) {
    return {{kAttention, work.dtype},
            {std::log(attention->batch * attention->query_heads), std::log(attention->queries),
             std::log(attention->keys), std::log(attention->head_size)}};
  }
  if (const auto* grouped = std::get_if<GroupedWork>(&work.shape)) {
    return {{kGrouped, work.dtype},
            {std::log(grouped->rows), std::log(grouped->groups), std::log(grouped->hidden),
             std::log(grouped->expert_hidden)}};
  }
  if (const auto* instructions = std::get_if<InstructionWork>(&work.shape)) {
    return {{kInstructions + static_cast<int>(instructions->kind), DType::kUnknown},
            {std::log(instructions->bytes)}};
  }
  return {{kPointwise, DType::kUnknown}, {std::log(std::get<PointwiseWork>(work.shape).bytes)}};
}

LocalCorrection::LocalCorrection(const std::vector<Sample>& samples,
                                 const KernelConstants& constants)
    : radius_(constants.local_radius), prior_(constants.local_prior), size_(samples.size()) {
  for (const Sample& sample : samples) {
    const auto [kind, point] = Place(sample.work);
    errors_[kind].emplace_back(point, sample.log_error);
  }
}

Correction LocalCorrection::At(const KernelWork& work) const {
  const auto [kind, point] = Place(work);
  const auto found = errors_.find(kind);
  if (found == errors_.end()) return {};
  double near = 0;
  std::vector<std::pair<double, double>> weighted = {{0, prior_}};  // Error, weight.
  weighted.reserve(found->second.size() + 1);
  for (const auto& [other, error] : found->second) {
    double squares = 0;
    for (std::size_t i = 0; i < kMaxExtents; ++i)
      squares += (point[i] - other[i]) * (point[i] - other[i]);
    const double weight = std::exp(-squares / (2 * radius_ * radius_));
    near += weight;
    weighted.emplace_back(error, weight);
  }
  std::sort(weighted.begin(), weighted.end());
  double below = 0;
  const auto middle = std::find_if(weighted.begin(), weighted.end(), [&](const auto& entry) {
    below += entry.second;
    return below >= (near + prior_) / 2;
  });
  return {.log_factor = middle == weighted.end() ? 0 : middle->first,
          .evidence = near / (prior_ + near)};
}

}  // namespace headroom
