#include "predict/listed_update.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headroom {
namespace {

struct UpdateKind {
  std::string_view name;
  double tensors;  ///< Tensors that are read or written per parameter.
  double passes;
  double share;  ///< Share of the rate of other elementwise kernels.
};

/// AdamW of gpt2 and bert_base on one H200 (h200/): the kernels of fused updates, and the
/// difference of the steps for foreach.
constexpr double kFusedShare = 0.62, kForeachShare = 0.76;

/// Operations of torch/optim/sgd.py and adamw.py: a foreach operation reads its operands and writes
/// its result. AdamW: decay, first moment, two of the second moment, and four of the step; two of
/// these write a temporary.
constexpr std::array kUpdateKinds = {UpdateKind{"SGD", 3, 1, kForeachShare},
                                     UpdateKind{"SGD_MOMENTUM", 8, 3, kForeachShare},
                                     UpdateKind{"ADAMW", 20, 8, kForeachShare},
                                     UpdateKind{"FUSED_SGD", 3, 1, kFusedShare},
                                     UpdateKind{"FUSED_SGD_MOMENTUM", 5, 1, kFusedShare},
                                     UpdateKind{"FUSED_ADAMW", 7, 1, kFusedShare}};

/// One launch of PyTorch's multi_tensor_apply takes at most these tensors (of passes with three)
/// and chunks.
constexpr double kTensorsPerLaunch = 48, kChunksPerLaunch = 320, kChunkElements = 65536;

}  // namespace

std::optional<PointwiseWork> UpdateWorkOf(std::string_view kind, double parameters,
                                          double tensors) {
  const auto found = std::find_if(kUpdateKinds.begin(), kUpdateKinds.end(),
                                  [&](const UpdateKind& update) { return update.name == kind; });
  if (found == kUpdateKinds.end()) return std::nullopt;
  constexpr double kFloatBytes = 4;
  const double launches = std::max(std::ceil(tensors / kTensorsPerLaunch),
                                   std::ceil(parameters / kChunkElements / kChunksPerLaunch));
  return PointwiseWork{.bytes = found->tensors * kFloatBytes * parameters / found->share,
                       .kernels = found->passes * launches};
}

}  // namespace headroom
