#include "whatif/memory/step_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "analysis/verdict/remedies.h"
#include "whatif/job/step_operators.h"
#include "whatif/memory/caching_allocator.h"

namespace headroom {
namespace {

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

/// Returns the change in live memory at each position, from births and deaths of tensors. The
/// running sum is the live memory.
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

/// Replays the allocations of the first steps of a run, until all permanent tensors exist.
class AllocatorReplay {
 public:
  /// @param state  number of tensors that the optimizer keeps per parameter
  AllocatorReplay(const TensorLifetimes& tensors, int state,
                  const std::vector<LibraryWorkspace>& libraries, double batch_ratio)
      : tensors_(tensors),
        state_(state),
        libraries_(libraries),
        ratio_(batch_ratio),
        events_(tensors.operators + 2) {
    for (std::size_t s = 0; s < tensors.storages.size(); ++s) {
      if (tensors.storages[s].BytesAt(ratio_) <= 0) continue;
      for (const Lifetime& life : tensors.storages[s].Lives()) {
        events_[life.birth].born.push_back(s);
        events_[life.death].dying.push_back(s);
      }
    }
    for (const OperatorWorkspace& convolution : tensors.workspaces)
      events_[convolution.op].convolution = &convolution;
  }

  double Reserved() {
    AllocateParameters();
    if (tensors_.frozen_bytes > 0) allocator_.Allocate(tensors_.frozen_bytes);
    // The optimizer makes its state in its first update. Later steps reuse the free memory that
    // this leaves.
    constexpr int kSteps = 4;
    for (int step = 0; step < kSteps; ++step) {
      FreeGradients();
      for (std::size_t i = 0; i < events_.size(); ++i) Play(i, step == 0);
      for (int t = 0; step == 0 && t < state_; ++t) AllocateParameters();
    }
    return static_cast<double>(allocator_.reserved());
  }

 private:
  struct Events {
    std::vector<std::size_t> born, dying;  ///< Storages.
    const OperatorWorkspace* convolution = nullptr;
  };

  void AllocateParameters() {
    for (const double bytes : tensors_.parameters) allocator_.Allocate(bytes);
  }

  void Play(std::size_t position, bool first_step) {
    const Events& events = events_[position];
    for (const std::size_t storage : events.born)
      alive_[storage] = allocator_.Allocate(tensors_.storages[storage].BytesAt(ratio_));
    for (const LibraryWorkspace& library : libraries_) {
      if (first_step && library.first_use == position) allocator_.Allocate(library.bytes);
    }
    if (events.convolution != nullptr) {
      for (const GrowingBytes& call : events.convolution->calls) {
        if (call.At(ratio_) > 0) allocator_.Free(allocator_.Allocate(call.At(ratio_)));
      }
    }
    for (const std::size_t storage : events.dying) {
      // The optimizer's zero_grad() frees gradients in the next step.
      if (tensors_.storages[storage].kind == StorageKind::kParameterGradient) continue;
      allocator_.Free(alive_.extract(storage).mapped());
    }
  }

  void FreeGradients() {
    for (const auto& [storage, block] : alive_) allocator_.Free(block);
    alive_.clear();
  }

  const TensorLifetimes& tensors_;
  const int state_;
  const std::vector<LibraryWorkspace>& libraries_;
  const double ratio_;
  std::vector<Events> events_;  ///< Indexed by position.
  CachingAllocator allocator_;
  std::map<std::size_t, CachingAllocator::Block> alive_;  ///< Keyed by storage.
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

Result<StepMemoryModel> StepMemoryModel::Make(const Job& job, const MemoryChange& change) {
  if (job.steps().steps.source == StepSource::kNone) {
    return Status::NoAnswer("nothing marks the steps of the trace; " +
                            HowToTellSteps(job.store().metadata.recorded_as()));
  }
  const StepOperators step = OperatorsOfStep(job);
  if (std::none_of(step.list.begin(), step.list.end(),
                   [](const StepOperator& op) { return op.call.has_value(); })) {
    return Status::NoAnswer(
        fmt::format("the trace has no shapes of operators ({})",
                    RemedyOf(ImportIssue::kNoShapes, job.store().metadata.recorded_as())));
  }
  if (step.nodes.empty())
    return Status::NoAnswer("the step has no backward nodes, so the saved tensors are unknown");
  StepMemoryModel model;
  model.tensors_ = FindTensorLifetimes(job, step, change);
  model.optimizer_ = StateOf(step);
  model.other_state_bytes_ = change.optimizer_state_bytes;
  model.libraries_ = ProductWorkspaces(job, step);
  if (model.tensors_.parameters.empty()) {
    return Status::NoAnswer(
        "no accumulation of a gradient (torch::autograd::AccumulateGrad) has a recorded shape, "
        "so the parameters' sizes are unknown");
  }
  if (!model.tensors_.forward_is_seen) {
    return Status::NoAnswer(
        "no operator of the forward launches GPU work (a CUDA graph runs the whole forward), so "
        "its tensors are unknown");
  }
  return model;
}

/// Returns the memory that exists throughout the step.
MemoryParts StepMemoryModel::Constant() const {
  MemoryParts parts;
  const double trained =
      std::accumulate(tensors_.parameters.begin(), tensors_.parameters.end(), 0.0);
  parts.parameters = trained + tensors_.frozen_bytes;
  parts.optimizer_state = other_state_bytes_.value_or(optimizer_.tensors * trained);
  if (tensors_.gradients_stay) parts.gradients = trained;
  for (const LibraryWorkspace& library : libraries_) parts.workspace += library.bytes;
  return parts;
}

StepMemory StepMemoryModel::PeakAt(double batch_ratio, const Sharding& sharding,
                                   Workspaces workspaces) const {
  const std::vector<MemoryParts> changes = Changes(tensors_, batch_ratio);
  std::vector<double> workspace(changes.size());
  for (const OperatorWorkspace& convolution : tensors_.workspaces)
    workspace[convolution.op] =
        LargestCall(convolution, workspaces == Workspaces::kGrow ? batch_ratio : 1);
  MemoryParts alive = Constant();
  StepMemory peak;
  double at_peak = 0;  // Workspace of convolutions.
  for (std::size_t i = 0; i < tensors_.operators; ++i) {
    alive += changes[i];
    MemoryParts parts = Shard(alive, sharding);
    parts.workspace += workspace[i];
    if (sharding.stage >= 3)
      parts.temporaries +=
          *std::max_element(tensors_.parameters.begin(), tensors_.parameters.end());
    if (parts.Total() <= peak.peak_bytes) continue;
    peak = {.parts = parts, .peak_bytes = parts.Total()};
    at_peak = workspace[i];
  }
  constexpr double kLarge = 0.1;
  peak.workspace_uncertain = batch_ratio != 1 && at_peak > kLarge * peak.peak_bytes;
  return peak;
}

double StepMemoryModel::ReservedAt(double batch_ratio) const {
  return std::max(
      PeakAt(batch_ratio).peak_bytes,
      AllocatorReplay(tensors_, optimizer_.tensors, libraries_, batch_ratio).Reserved());
}

std::optional<double> StepMemoryModel::LargestBatch(double bytes, Workspaces workspaces) const {
  const auto fits = [&](double ratio) { return PeakAt(ratio, {}, workspaces).peak_bytes <= bytes; };
  if (!fits(0)) return 0;
  constexpr double kMax = 1 << 14;
  double low = 0, high = 1;
  while (fits(high)) {
    if (high >= kMax) return std::nullopt;
    low = std::exchange(high, 2 * high);
  }
  constexpr double kPrecision = 1e-3;
  while (high - low > kPrecision * high) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace headroom
