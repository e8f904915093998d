#include "whatif/catalogue.h"

#include <array>

namespace headroom {
namespace {

constexpr std::array kFactor = {ScenarioKey{.name = "factor", .otherwise = "2"}};
constexpr std::array kOptimizer = {ScenarioKey{
    .name = "kind", .kind = KeyKind::kChoice, .choices = "fused|foreach", .otherwise = "fused"}};
constexpr std::array kBatchSize = {ScenarioKey{.name = "n", .kind = KeyKind::kCount}};
constexpr std::array kAmp = {ScenarioKey{
    .name = "dtype", .kind = KeyKind::kChoice, .choices = "fp16|bf16", .otherwise = "bf16"}};
constexpr std::array kScale = {
    ScenarioKey{.name = "match", .kind = KeyKind::kRegex},
    ScenarioKey{.name = "factor"},
};
constexpr std::array kRemove = {ScenarioKey{.name = "match", .kind = KeyKind::kRegex}};

// In the order in which the parts of A+B are applied: first what changes which kernels there are,
// then what changes their times, then their number of samples, then who launches and waits.
constexpr std::array kScenarios = {
    Scenario{"fused-optimizer", "One kernel a step, or a few over lists, update all parameters",
             kOptimizer, ApplyFusedOptimizer},
    Scenario{"flash-attention",
             "One fused attention kernel each way; scores are not written",
             {},
             ApplyFlashAttention},
    Scenario{"amp", "Automatic mixed precision (autocast)", kAmp, ApplyAmp},
    Scenario{"tf32", "Products and convolutions of float32 on tensor cores", {}, ApplyTf32},
    Scenario{"channels-last",
             "Activations lie as tensor cores read them: convolutions reorder nothing",
             {},
             ApplyChannelsLast},
    Scenario{"restructured-batchnorm",
             "Batch norms are split and fused with the layers around them",
             {},
             ApplyRestructuredBatchnorm},
    Scenario{"metaflow",
             "Products of one input are merged; bias and ReLU run inside convolutions",
             {},
             ApplyMetaflow},
    Scenario{"fuse-pointwise",
             "Chains of elementwise kernels become one kernel, as a compiler makes of them",
             {},
             ApplyFusePointwise},
    Scenario{"batch-size", "Another number of samples a step", kBatchSize, ApplyBatchSize},
    Scenario{"checkpointing",
             "Repeated blocks keep no activations and run their forward again",
             {},
             ApplyCheckpointing},
    Scenario{"remove-syncs", "The host waits for the GPU in no call", {}, ApplyRemoveSyncs},
    Scenario{"cuda-graph",
             "The whole step is captured once and launched as one CUDA graph",
             {},
             ApplyCudaGraph},
    Scenario{"gpu-speed", "Every GPU task takes 1/factor of its time", kFactor, ApplyGpuSpeed},
    Scenario{"host-speed", "All host work and calls take 1/factor of their time", kFactor,
             ApplyHostSpeed},
    Scenario{"scale", "GPU tasks whose kernel, operator or layer matches take factor x their time",
             kScale, ApplyScale},
    Scenario{"remove", "GPU tasks that match, and their launches, are gone", kRemove, ApplyRemove},
};

}  // namespace

std::span<const Scenario> Catalogue() { return kScenarios; }

}  // namespace headroom
