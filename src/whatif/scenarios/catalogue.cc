#include "whatif/scenarios/catalogue.h"

#include <array>

namespace headroom {
namespace {

constexpr std::array kFactor = {ScenarioKey{.name = "factor", .otherwise = "2"}};
constexpr std::array kThreads = {ScenarioKey{.name = "from", .kind = KeyKind::kCount},
                                 ScenarioKey{.name = "n", .kind = KeyKind::kCount}};
constexpr std::array kOptimizer = {ScenarioKey{
    .name = "kind", .kind = KeyKind::kChoice, .choices = "fused|foreach", .otherwise = "fused"}};
constexpr std::array kVocabulary = {
    ScenarioKey{.name = "to", .kind = KeyKind::kCount, .otherwise = "64"}};
constexpr std::array kPacking = {ScenarioKey{.name = "fill"}};
constexpr std::array kAttention = {
    ScenarioKey{.name = "kind", .kind = KeyKind::kChoice, .choices = "flash3|flash2|sdpa|cudnn"}};
constexpr std::array kLength = {ScenarioKey{.name = "n", .kind = KeyKind::kCount}};
constexpr std::array kAlgorithm = {
    ScenarioKey{.name = "kind", .kind = KeyKind::kChoice, .choices = "sgd|adamw|8bit-adam|muon"}};
constexpr std::array kBatchSize = {ScenarioKey{.name = "n", .kind = KeyKind::kCount}};
constexpr std::array kCompile = {ScenarioKey{.name = "mode",
                                             .kind = KeyKind::kChoice,
                                             .choices = "default|reduce-overhead",
                                             .otherwise = "default"}};
constexpr std::array kFp8 = {ScenarioKey{.name = "recipe",
                                         .kind = KeyKind::kChoice,
                                         .choices = "tensor|mxfp8|nvfp4",
                                         .otherwise = "tensor"},
                             ScenarioKey{.name = "scaling",
                                         .kind = KeyKind::kChoice,
                                         .choices = "dynamic|delayed",
                                         .otherwise = "dynamic"}};
constexpr std::array kAccumulation = {ScenarioKey{.name = "n", .kind = KeyKind::kCount}};
constexpr std::array kAmp = {ScenarioKey{
    .name = "dtype", .kind = KeyKind::kChoice, .choices = "fp16|bf16", .otherwise = "bf16"}};
constexpr std::array kScale = {
    ScenarioKey{.name = "match", .kind = KeyKind::kRegex},
    ScenarioKey{.name = "factor"},
};
constexpr std::array kPowerLimit = {ScenarioKey{.name = "watts"}};
constexpr std::array kRemove = {ScenarioKey{.name = "match", .kind = KeyKind::kRegex}};

constexpr std::array kLora = {
    ScenarioKey{.name = "rank", .kind = KeyKind::kCount, .otherwise = "16"}};
constexpr std::array kFreeze = {ScenarioKey{.name = "match", .kind = KeyKind::kRegex}};
constexpr std::array kVdnn = {ScenarioKey{.name = "pcie-gbps", .otherwise = "200"}};
constexpr std::array kOffload = {
    ScenarioKey{.name = "what", .kind = KeyKind::kChoice, .choices = "activations|optimizer"},
    ScenarioKey{.name = "host-gbs", .otherwise = "100"}};
constexpr std::array kGist = {ScenarioKey{.name = "sparsity", .otherwise = "0.5"}};
constexpr std::array kCudaGraph = {
    ScenarioKey{.name = "region", .kind = KeyKind::kRegex, .otherwise = ".*"}};
constexpr std::array kCheckpointing = {
    ScenarioKey{.name = "every", .kind = KeyKind::kCount, .otherwise = "1"},
    ScenarioKey{.name = "match", .kind = KeyKind::kRegex, .otherwise = ".*"}};
constexpr std::array kJobs = {ScenarioKey{.name = "jobs", .kind = KeyKind::kCount}};
constexpr std::array kDataLoading = {
    ScenarioKey{.name = "wait", .kind = KeyKind::kChoice, .choices = "ideal", .otherwise = "ideal"},
    ScenarioKey{.name = "workers", .kind = KeyKind::kCount, .otherwise = "0"},
};
constexpr std::array kCallbacks = {
    ScenarioKey{.name = "run", .kind = KeyKind::kChoice, .choices = "async", .otherwise = "async"},
    ScenarioKey{.name = "every", .kind = KeyKind::kCount, .otherwise = "1"},
};

// Keys of all scenarios that exchange gradients. 100 Gbit/s are 12.5 GB/s. NCCL 2.20's tuning model
// takes 14 us per message of a ring over a network (nccl/src/graph/tuning.cc).
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

// Sorted in the order in which the parts of A+B are applied. Changes to the set of kernels come
// first, then changes to their times, to the number of samples, and to launches and waits. The
// power limit comes last, because it depends on all kernels that run.
constexpr std::array kScenarios = {
    Scenario{"fused-optimizer", "Fused optimizer", ScenarioGroup::kUsual,
             "Updates all parameters in one kernel per step, or in a few (kind=foreach)",
             kOptimizer, ApplyFusedOptimizer, false, true},
    Scenario{"optimizer", "Another optimizer", ScenarioGroup::kTraining,
             "Updates the parameters by another algorithm, in one kernel per step", kAlgorithm,
             ApplyOptimizer, true},
    Scenario{"flash-attention",
             "Fused attention (FlashAttention)",
             ScenarioGroup::kUsual,
             "Fuses attention into one kernel per pass, which keeps scores out of memory",
             {},
             ApplyFlashAttention},
    Scenario{"attention", "Another attention library", ScenarioGroup::kUsual,
             "Runs attention with the kernels of another library", kAttention, ApplyAttention,
             true},
    Scenario{"fused-cross-entropy",
             "Fused cross entropy",
             ScenarioGroup::kUsual,
             "Computes the loss and the gradient of its logits in one kernel",
             {},
             ApplyFusedCrossEntropy},
    Scenario{"amp", "Mixed precision", ScenarioGroup::kUsual,
             "Automatic mixed precision (autocast)", kAmp, ApplyAmp},
    Scenario{"fp8", "FP8 or FP4 linear layers", ScenarioGroup::kUsual,
             "Runs linear layers of a 16-bit job in FP8, MXFP8 or NVFP4", kFp8, ApplyFp8},
    Scenario{"tf32",
             "TF32",
             ScenarioGroup::kUsual,
             "Runs float32 products and convolutions on tensor cores",
             {},
             ApplyTf32},
    Scenario{
        "channels-last",
        "Channels-last layout",
        ScenarioGroup::kUsual,
        "Stores activations in the layout that tensor cores read, so convolutions reorder nothing",
        {},
        ApplyChannelsLast},
    Scenario{"vocabulary-padding", "Padded vocabulary", ScenarioGroup::kUsual,
             "Rounds the vocabulary up to a multiple, which aligns the products over it",
             kVocabulary, ApplyVocabularyPadding},
    Scenario{"restructured-batchnorm",
             "Restructured batch norms",
             ScenarioGroup::kResearch,
             "Splits batch norms and fuses them with the layers around them",
             {},
             ApplyRestructuredBatchnorm},
    Scenario{"metaflow",
             "Merged products (MetaFlow)",
             ScenarioGroup::kResearch,
             "Merges products with the same input; runs bias and ReLU inside convolutions",
             {},
             ApplyMetaflow},
    Scenario{"fuse-pointwise",
             "Fused elementwise kernels",
             ScenarioGroup::kResearch,
             "Fuses chains of elementwise kernels, as a compiler does",
             {},
             ApplyFusePointwise},
    Scenario{"vdnn", "Offloaded inputs of convolutions (vDNN)", ScenarioGroup::kMemory,
             "Offloads inputs of convolutions to host memory until the backward pass", kVdnn,
             ApplyVdnn, true},
    Scenario{"offload", "Offload to host memory", ScenarioGroup::kMemory,
             "Keeps activations or the optimizer's state in host memory", kOffload, ApplyOffload,
             true},
    Scenario{"gist", "Encoded activations (Gist)", ScenarioGroup::kMemory,
             "Keeps outputs of ReLUs encoded until the backward pass", kGist, ApplyGist, true},
    Scenario{"lora", "LoRA adapters", ScenarioGroup::kTraining,
             "Trains only low-rank adapters of Linear layers", kLora, ApplyLora, true},
    Scenario{"freeze", "Frozen layers", ScenarioGroup::kTraining,
             "Does not train parameters of matching layers or operators", kFreeze, ApplyFreeze,
             true},
    Scenario{"batch-size", "Batch size", ScenarioGroup::kUsual,
             "Changes the number of samples per step", kBatchSize, ApplyBatchSize, false, true},
    Scenario{"packing", "Packed sequences", ScenarioGroup::kTraining,
             "Packs sequences, so that no token is padding", kPacking, ApplyPacking, true},
    Scenario{"sequence-length", "Sequence length", ScenarioGroup::kTraining,
             "Changes the number of tokens per sample", kLength, ApplySequenceLength, true},
    Scenario{"gradient-accumulation", "Gradient accumulation", ScenarioGroup::kMemory,
             "Updates the parameters once for N micro-batches", kAccumulation,
             ApplyGradientAccumulation, true},
    Scenario{
        "checkpointing", "Activation checkpointing", ScenarioGroup::kMemory,
        "Repeated blocks, or every K-th of them, drop activations and recompute their forward pass",
        kCheckpointing, ApplyCheckpointing},
    Scenario{"compile", "torch.compile", ScenarioGroup::kUsual,
             "Runs forward and backward as torch.compile generates them", kCompile, ApplyCompile,
             false, true},
    Scenario{"data-loading", "Faster data loading", ScenarioGroup::kUsual,
             "The loop never waits for its next batch", kDataLoading, ApplyDataLoading, false,
             true},
    Scenario{"callbacks", "Fewer or parallel callbacks", ScenarioGroup::kUsual,
             "Runs callbacks in parallel with the loop, or only every N-th time", kCallbacks,
             ApplyCallbacks, false, true},
    Scenario{"data-parallel", "Data parallel", ScenarioGroup::kManyGpus,
             "Runs the job on N GPUs, with all-reduces of its gradients", kDataParallel,
             ApplyDataParallel},
    Scenario{"p3", "Parameter servers (P3)", ScenarioGroup::kManyGpus,
             "Data-parallel with parameter servers; layers nearest the input go first", kP3,
             ApplyP3, true},
    Scenario{"blueconnect", "All-reduce over two levels (BlueConnect)", ScenarioGroup::kManyGpus,
             "Data-parallel with all-reduces in stages over two levels of links", kBlueConnect,
             ApplyBlueConnect, true},
    Scenario{"dgc", "Compressed gradients (DGC)", ScenarioGroup::kManyGpus,
             "Data-parallel that sends only the largest gradients", kDgc, ApplyDgc, true},
    Scenario{"horizontal-fusion", "Several jobs in one (HFTA)", ScenarioGroup::kResearch,
             "Trains several copies of the job together, with one kernel for the same operator of "
             "all copies",
             kJobs, ApplyHorizontalFusion},
    Scenario{"remove-syncs",
             "No blocking calls",
             ScenarioGroup::kUsual,
             "No call of the host waits for the GPU",
             {},
             ApplyRemoveSyncs},
    Scenario{"cuda-graph", "CUDA graphs", ScenarioGroup::kUsual,
             "Launches the step, or each pass through a region of it, as one CUDA graph",
             kCudaGraph, ApplyCudaGraph},
    Scenario{"gpu-speed", "Faster GPU", ScenarioGroup::kBound,
             "Every GPU task takes 1/factor of its time", kFactor, ApplyGpuSpeed},
    Scenario{"threads", "CPU threads", ScenarioGroup::kUsual,
             "Runs CPU operators on a different number of threads", kThreads, ApplyThreads, true,
             true},
    Scenario{"host-speed", "Faster host", ScenarioGroup::kBound,
             "All host work and calls take 1/factor of their time", kFactor, ApplyHostSpeed, false,
             true},
    Scenario{"network-speed", "Faster network", ScenarioGroup::kBound,
             "All communication takes 1/factor of its time", kFactor, ApplyNetworkSpeed},
    Scenario{"scale", "Faster or slower kernels", ScenarioGroup::kBound,
             "Multiplies the time of GPU tasks with a matching kernel, operator or layer by factor",
             kScale, ApplyScale},
    Scenario{"remove", "Without some kernels", ScenarioGroup::kBound,
             "Removes matching GPU tasks and their launches", kRemove, ApplyRemove},
    Scenario{"power-limit", "Power limit", ScenarioGroup::kUsual,
             "The GPU holds a power limit by a lower clock", kPowerLimit, ApplyPowerLimit, true},
};

}  // namespace

std::span<const Scenario> Catalogue() { return kScenarios; }

std::string_view NameOf(ScenarioGroup group) {
  switch (group) {
    case ScenarioGroup::kUsual:
      return "usual";
    case ScenarioGroup::kTraining:
      return "training";
    case ScenarioGroup::kMemory:
      return "memory";
    case ScenarioGroup::kManyGpus:
      return "many-gpus";
    case ScenarioGroup::kResearch:
      return "research";
    case ScenarioGroup::kBound:
      return "bound";
  }
  return "";
}

std::vector<std::string_view> ScenarioNames() {
  std::vector<std::string_view> names;
  names.reserve(std::size(kScenarios));
  for (const Scenario& scenario : kScenarios) names.push_back(scenario.name);
  return names;
}

}  // namespace headroom
