#include "whatif/step_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "whatif/caching_allocator.h"
#include "whatif/library_workspace.h"
#include "whatif/optimizer_state.h"
#include "whatif/step_operators.h"
#include "whatif/tensor_lifetimes.h"

namespace headroom {
namespace {

/// A step with all that it takes to know its memory at any batch.
struct StepModel {
  TensorLifetimes tensors;
  OptimizerState optimizer;
  std::vector<LibraryWorkspace> libraries;

  double ParameterBytes() const {
    return std::accumulate(tensors.parameters.begin(), tensors.parameters.end(), 0.0);
  }
  /// What is there all the time.
  MemoryParts Constant() const {
    MemoryParts parts;
    parts.parameters = ParameterBytes();
    parts.optimizer_state = optimizer.tensors * parts.parameters;
    if (tensors.gradients_stay) parts.gradients = parts.parameters;
    for (const LibraryWorkspace& library : libraries) parts.workspace += library.bytes;
    return parts;
  }
};

Result<StepModel> ModelOf(const Job& job, const MemoryChange& change) {
  if (job.steps().steps.source == StepSource::kNone) {
    return Status::NoAnswer(
        "nothing marks the steps of the trace; call prof.step() after each iteration "
        "(ProfilerStep), or name the range that begins one with --step-marker");
  }
  const StepOperators step = OperatorsOfStep(job);
  if (std::none_of(step.list.begin(), step.list.end(),
                   [](const StepOperator& op) { return op.call.has_value(); })) {
    return Status::NoAnswer("the trace has no shapes of operators; record with record_shapes=True");
  }
  if (step.nodes.empty())
    return Status::NoAnswer("the step has no nodes of a backward, so it is not known what is kept");
  StepModel model{.tensors = FindTensorLifetimes(job, step, change),
                  .optimizer = StateOf(step),
                  .libraries = ProductWorkspaces(job, step)};
  if (model.tensors.parameters.empty()) {
    return Status::NoAnswer(
        "no parameter's gradient is accumulated with its shape (torch::autograd::AccumulateGrad), "
        "so the sizes of parameters are not known");
  }
  if (!model.tensors.forward_is_seen) {
    return Status::NoAnswer(
        "no operator of the forward launches GPU work (a CUDA graph runs it as a whole), so its "
        "tensors are not known");
  }
  return model;
}

double& PartOf(MemoryParts& parts, StorageKind kind) {
  switch (kind) {
    case StorageKind::kSaved:
      return parts.activations;
    case StorageKind::kParameterGradient:
      return parts.gradients;
    case StorageKind::kActivation:
    case StorageKind::kGradient:
    case StorageKind::kUpdate:
      break;
  }
  return parts.temporaries;
}

MemoryParts& operator+=(MemoryParts& sum, const MemoryParts& other) {
  sum.parameters += other.parameters;
  sum.gradients += other.gradients;
  sum.optimizer_state += other.optimizer_state;
  sum.activations += other.activations;
  sum.temporaries += other.temporaries;
  sum.workspace += other.workspace;
  return sum;
}

double LargestCall(const OperatorWorkspace& workspace, double batch_ratio) {
  double largest = 0;
  for (const GrowingBytes& call : workspace.calls)
    largest = std::max(largest, call.At(batch_ratio));
  return largest;
}

/// What the tensors' births and deaths add at each position; sums of them are what is there.
std::vector<MemoryParts> Changes(const TensorLifetimes& tensors, double batch_ratio) {
  std::vector<MemoryParts> changes(tensors.operators + 2);
  for (const Storage& storage : tensors.storages) {
    const double bytes = storage.BytesAt(batch_ratio);
    for (const Lifetime& life : storage.Lives()) {
      PartOf(changes[life.birth], storage.kind) += bytes;
      PartOf(changes[life.death + 1], storage.kind) -= bytes;
    }
  }
  return changes;
}

struct Peak {
  MemoryParts parts;
  double convolution_workspace = 0;
};

Peak FindPeak(const StepModel& model, double batch_ratio, const Sharding& sharding) {
  const std::vector<MemoryParts> changes = Changes(model.tensors, batch_ratio);
  std::vector<double> workspace(changes.size());
  for (const OperatorWorkspace& convolution : model.tensors.workspaces)
    workspace[convolution.op] = LargestCall(convolution, batch_ratio);
  MemoryParts alive = model.Constant();
  Peak peak;
  for (std::size_t i = 0; i < model.tensors.operators; ++i) {
    alive += changes[i];
    MemoryParts parts = Shard(alive, sharding);
    parts.workspace += workspace[i];
    if (sharding.stage >= 3)
      parts.temporaries +=
          *std::max_element(model.tensors.parameters.begin(), model.tensors.parameters.end());
    if (parts.Total() > peak.parts.Total())
      peak = {.parts = parts, .convolution_workspace = workspace[i]};
  }
  return peak;
}

/// Plays the allocations of the first steps of a run, until all that stays is there.
class AllocatorReplay {
 public:
  AllocatorReplay(const StepModel& model, double batch_ratio)
      : model_(model), ratio_(batch_ratio), events_(model.tensors.operators + 2) {
    for (std::size_t s = 0; s < model.tensors.storages.size(); ++s) {
      if (model.tensors.storages[s].BytesAt(ratio_) <= 0) continue;
      for (const Lifetime& life : model.tensors.storages[s].Lives()) {
        events_[life.birth].born.push_back(s);
        events_[life.death].dying.push_back(s);
      }
    }
    for (const OperatorWorkspace& convolution : model.tensors.workspaces)
      events_[convolution.op].convolution = &convolution;
  }

  double Reserved() {
    AllocateParameters();
    // The optimizer makes its state in its first update; two steps more show what that leaves free.
    constexpr int kSteps = 4;
    for (int step = 0; step < kSteps; ++step) {
      FreeGradients();
      for (std::size_t i = 0; i < events_.size(); ++i) Play(i, step == 0);
      for (int t = 0; step == 0 && t < model_.optimizer.tensors; ++t) AllocateParameters();
    }
    return static_cast<double>(allocator_.reserved());
  }

 private:
  struct Events {
    std::vector<std::size_t> born, dying;  ///< Storages.
    const OperatorWorkspace* convolution = nullptr;
  };

  void AllocateParameters() {
    for (const double bytes : model_.tensors.parameters) allocator_.Allocate(bytes);
  }

  void Play(std::size_t position, bool first_step) {
    const Events& events = events_[position];
    for (const std::size_t storage : events.born)
      alive_[storage] = allocator_.Allocate(model_.tensors.storages[storage].BytesAt(ratio_));
    for (const LibraryWorkspace& library : model_.libraries) {
      if (first_step && library.first_use == position) allocator_.Allocate(library.bytes);
    }
    if (events.convolution != nullptr) {
      for (const GrowingBytes& call : events.convolution->calls) {
        if (call.At(ratio_) > 0) allocator_.Free(allocator_.Allocate(call.At(ratio_)));
      }
    }
    for (const std::size_t storage : events.dying) {
      // The optimizer's zero_grad() frees gradients in the next step.
      if (model_.tensors.storages[storage].kind == StorageKind::kParameterGradient) continue;
      allocator_.Free(alive_.extract(storage).mapped());
    }
  }

  void FreeGradients() {
    for (const auto& [storage, block] : alive_) allocator_.Free(block);
    alive_.clear();
  }

  const StepModel& model_;
  const double ratio_;
  std::vector<Events> events_;  ///< By position.
  CachingAllocator allocator_;
  std::map<std::size_t, CachingAllocator::Block> alive_;  ///< By storage.
};

}  // namespace

MemoryParts Shard(const MemoryParts& parts, const Sharding& sharding) {
  MemoryParts shard = parts;
  const double ranks = std::max(1, sharding.ranks);
  if (sharding.stage >= 1) shard.optimizer_state /= ranks;
  if (sharding.stage >= 2) shard.gradients /= ranks;
  if (sharding.stage >= 3) shard.parameters /= ranks;
  return shard;
}

Result<StepMemory> PeakMemory(const Job& job, const MemoryChange& change,
                              const Sharding& sharding) {
  const Result<StepModel> model = ModelOf(job, change);
  if (!model.ok()) return model.status();
  const Peak peak = FindPeak(model.value(), change.batch_ratio, sharding);
  constexpr double kLarge = 0.1;
  StepMemory memory{.parts = peak.parts,
                    .peak_bytes = peak.parts.Total(),
                    .unknown_operators = model.value().tensors.assumed,
                    .optimizer = model.value().optimizer.name};
  memory.workspace_uncertain =
      change.batch_ratio != 1 && peak.convolution_workspace > kLarge * memory.peak_bytes;
  memory.reserved_bytes =
      std::max(memory.peak_bytes, AllocatorReplay(model.value(), change.batch_ratio).Reserved());
  return memory;
}

Result<std::vector<std::optional<double>>> LargestBatches(const Job& job,
                                                          const MemoryChange& change,
                                                          std::span<const double> memory_bytes,
                                                          double margin) {
  const Result<StepModel> model = ModelOf(job, change);
  if (!model.ok()) return model.status();
  std::map<double, double> peaks;  // By ratio: memories ask for the same ones.
  const auto peak_at = [&](double ratio) {
    const auto [at, is_new] = peaks.try_emplace(ratio);
    if (is_new) at->second = FindPeak(model.value(), ratio, {}).parts.Total();
    return at->second;
  };
  std::vector<std::optional<double>> largest;
  for (const double memory : memory_bytes) {
    const double room = memory * (1 - margin);
    if (peak_at(0) > room) {
      largest.emplace_back();
      continue;
    }
    constexpr double kMost = 1 << 20;
    double low = 0, high = 1;
    while (high < kMost && peak_at(high) <= room) low = std::exchange(high, 2 * high);
    constexpr double kPrecision = 1e-3;
    while (high - low > kPrecision * high) {
      const double middle = (low + high) / 2;
      (peak_at(middle) <= room ? low : high) = middle;
    }
    largest.emplace_back(low);
  }
  return largest;
}

}  // namespace headroom
