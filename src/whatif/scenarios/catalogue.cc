#include "whatif/scenarios/catalogue.h"

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

constexpr std::array kVdnn = {ScenarioKey{.name = "pcie-gbps", .otherwise = "200"}};
constexpr std::array kGist = {ScenarioKey{.name = "sparsity", .otherwise = "0.5"}};
constexpr std::array kCudaGraph = {
    ScenarioKey{.name = "region", .kind = KeyKind::kRegex, .otherwise = ".*"}};
constexpr std::array kJobs = {ScenarioKey{.name = "jobs", .kind = KeyKind::kCount}};
constexpr std::array kDataLoading = {
    ScenarioKey{.name = "wait", .kind = KeyKind::kChoice, .choices = "ideal", .otherwise = "ideal"},
    ScenarioKey{.name = "workers", .kind = KeyKind::kCount, .otherwise = "0"},
};
constexpr std::array kCallbacks = {
    ScenarioKey{.name = "run", .kind = KeyKind::kChoice, .choices = "async", .otherwise = "async"},
    ScenarioKey{.name = "every", .kind = KeyKind::kCount, .otherwise = "1"},
};

// Of all that exchange gradients. 100 Gbit/s are 12.5 GB/s; 14 us are what NCCL 2.20's tuning model
// takes for a message of a ring over a network (nccl/src/graph/tuning.cc).
constexpr ScenarioKey kBandwidth = {.name = "bandwidth-gbps", .otherwise = "100"};
constexpr ScenarioKey kLatency = {.name = "latency-us", .otherwise = "14"};
constexpr ScenarioKey kGpus = {.name = "gpus", .kind = KeyKind::kCount, .otherwise = "4"};
constexpr std::array kDataParallel = {ScenarioKey{.name = "gpus", .kind = KeyKind::kCount},
                                      kBandwidth, kLatency,
                                      ScenarioKey{.name = "bucket-mb", .otherwise = "25"}};
constexpr std::array kP3 = {kGpus, kBandwidth, kLatency};
constexpr std::array kBlueConnect = {
    kGpus, kBandwidth, kLatency,
    ScenarioKey{.name = "gpus-per-node", .kind = KeyKind::kCount, .otherwise = "2"},
    ScenarioKey{.name = "link-gbps", .otherwise = "200"}};
constexpr std::array kDgc = {kGpus, kBandwidth, kLatency,
                             ScenarioKey{.name = "ratio", .otherwise = "270"}};

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
    Scenario{"vdnn", "Inputs of convolutions wait for the backward in the host's memory", kVdnn,
             ApplyVdnn, true},
    Scenario{"gist", "Outputs of ReLUs are kept encoded until the backward", kGist, ApplyGist,
             true},
    Scenario{"batch-size", "Another number of samples per step", kBatchSize, ApplyBatchSize},
    Scenario{"checkpointing",
             "Repeated blocks keep no activations and run their forward again",
             {},
             ApplyCheckpointing},
    Scenario{"data-loading", "The loop never waits for its next batch", kDataLoading,
             ApplyDataLoading},
    Scenario{"callbacks", "Callbacks run beside the loop, or every N-th time only", kCallbacks,
             ApplyCallbacks},
    Scenario{"data-parallel", "The job on N GPUs, with all-reduces of its gradients", kDataParallel,
             ApplyDataParallel},
    Scenario{"p3", "Data-parallel by parameter servers, layers nearest the input first", kP3,
             ApplyP3, true},
    Scenario{"blueconnect", "Data-parallel with all-reduces in stages over two levels of links",
             kBlueConnect, ApplyBlueConnect, true},
    Scenario{"dgc", "Data-parallel that sends only the largest gradients", kDgc, ApplyDgc, true},
    Scenario{"horizontal-fusion", "Several copies of the job train together, kernel by kernel",
             kJobs, ApplyHorizontalFusion},
    Scenario{"remove-syncs", "The host waits for the GPU in no call", {}, ApplyRemoveSyncs},
    Scenario{"cuda-graph",
             "The step, or each pass through a region of it, is launched as one CUDA graph",
             kCudaGraph, ApplyCudaGraph},
    Scenario{"gpu-speed", "Every GPU task takes 1/factor of its time", kFactor, ApplyGpuSpeed},
    Scenario{"host-speed", "All host work and calls take 1/factor of their time", kFactor,
             ApplyHostSpeed},
    Scenario{"network-speed", "All communication takes 1/factor of its time", kFactor,
             ApplyNetworkSpeed},
    Scenario{"scale", "GPU tasks whose kernel, operator or layer matches take factor x their time",
             kScale, ApplyScale},
    Scenario{"remove", "GPU tasks that match, and their launches, are gone", kRemove, ApplyRemove},
};

}  // namespace

std::span<const Scenario> Catalogue() { return kScenarios; }

std::vector<std::string_view> ScenarioNames() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kScenarios));
  for (const Scenario& scenario : kScenarios) names.push_back(scenario.name);
  return names;
}

}  // namespace headroom
