#include "cost/work_family.h"

#include <array>
#include <utility>

namespace headroom {
namespace {

constexpr std::array<std::pair<WorkFamily, std::string_view>, 17> kNames = {{
    {WorkFamily::kUnclassified, "unclassified"},
    {WorkFamily::kMatmul, "matmul"},
    {WorkFamily::kConvolution, "convolution"},
    {WorkFamily::kAttention, "attention"},
    {WorkFamily::kNormalization, "normalization"},
    {WorkFamily::kSoftmax, "softmax"},
    {WorkFamily::kElementwise, "elementwise"},
    {WorkFamily::kReduction, "reduction"},
    {WorkFamily::kPooling, "pooling"},
    {WorkFamily::kIndexing, "indexing"},
    {WorkFamily::kLoss, "loss"},
    {WorkFamily::kOptimizer, "optimizer"},
    {WorkFamily::kRandom, "random"},
    {WorkFamily::kCopy, "copy"},
    {WorkFamily::kFill, "fill"},
    {WorkFamily::kCommunication, "communication"},
    {WorkFamily::kFused, "fused"},
}};

}  // namespace

std::string_view Name(WorkFamily family) {
  for (const auto& [value, name] : kNames) {
    if (value == family) return name;
  }
  return kNames[0].second;
}

std::optional<WorkFamily> WorkFamilyFromName(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

bool MultipliesMatrices(WorkFamily family) {
  return family == WorkFamily::kMatmul || family == WorkFamily::kConvolution ||
         family == WorkFamily::kAttention;
}

}  // namespace headroom
