#include "whatif/memory/tensor_lifetimes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "cost/operator_args.h"
#include "whatif/job/autograd_pairs.h"
#include "whatif/job/blocks.h"
#include "whatif/job/gradients.h"
#include "whatif/memory/backward_lifetimes.h"
#include "whatif/memory/forward_lifetimes.h"
#include "whatif/memory/lifetime_recorder.h"
#include "whatif/memory/optimizer_state.h"
#include "whatif/memory/saved_tensors.h"

namespace headroom {
namespace {

class LifetimeFinder {
 public:
  LifetimeFinder(const Job& job, const StepOperators& step, const MemoryChange& change)
      : job_(job), to_(job, step, change), pairs_(step) {}

  TensorLifetimes Find() {
    FindParameters();
    accesses_ = WalkForward(to_, pairs_, parameter_shapes_);
    to_.AddFrozenWeights(trained_, micro_batches_);
    for (const auto& [sequence, pair] : pairs_.pairs()) SaveFor(pair);
    WalkBackward(to_, pairs_, accesses_);
    if (to_.change().fused_update || to_.change().foreach_update) ChangeUpdate();
    if (to_.change().checkpointing) Checkpoint();
    return std::move(to_.out());
  }

 private:
  /// Finds the parameters. Each has one node that accumulates its gradient. A node that adds to an
  /// existing gradient belongs to a parameter that was already found, unless gradients stay in
  /// memory from step to step.
  void FindParameters() {
    std::vector<double> added;
    for (std::size_t i = 0; i < to_.step().list.size(); ++i) {
      const StepOperator& op = to_.Op(i);
      if (op.name != kAccumulateGrad || op.tensors.empty()) continue;
      const TensorArg& parameter = op.tensors.front().tensor;
      parameter_shapes_.insert(parameter.dims);
      ++trained_[ShapeOfWeight(parameter.dims)];
      const double bytes =
          AllocatedBytes(Elements(parameter.dims) * BytesPerElement(parameter.dtype));
      (AddsToGradient(to_.step(), i) ? added : to_.out().parameters).push_back(bytes);
    }
    for (const std::size_t node : to_.step().nodes) {
      for (const std::size_t child : to_.Op(node).children) {
        const StepOperator& op = to_.Op(child);
        if (IsAddition(op) && !op.tensors.empty())
          ++trained_[ShapeOfWeight(op.tensors.front().tensor.dims)];
      }
    }
    if (!to_.out().parameters.empty()) {
      micro_batches_ = 1 + added.size() / to_.out().parameters.size();
      return;
    }
    to_.out().gradients_stay = !added.empty();
    to_.out().parameters = std::move(added);
  }

  void SaveFor(const AutogradPairs::Pair& pair) {
    if (pair.creator == kNowhere) return;
    const StepOperator& op = to_.Op(pair.creator);
    const Accesses& accesses = accesses_[pair.creator];
    std::vector<TensorArg> results;
    for (const std::size_t written : accesses.written) {
      const Storage& storage = to_.At(written);
      results.push_back(
          {.dims = {std::llround(storage.elements)}, .strides = {}, .dtype = storage.dtype});
    }
    const SavedTensors saved = SavedBy(to_.step(), pair.node, op, results);
    to_.out().assumed += saved.assumed ? 1 : 0;
    if (saved.Nothing()) return;
    const std::map<std::size_t, std::size_t> arguments = ArgumentsOf(pair.creator);
    for (const std::size_t argument : saved.arguments) {
      if (const auto found = arguments.find(argument); found != arguments.end())
        Save(found->second, pair.node);
    }
    for (std::size_t r = 0; r < accesses.written.size(); ++r) {
      if (r == 0 ? saved.first_result : saved.other_results) Save(accesses.written[r], pair.node);
    }
  }

  void Save(std::size_t storage, std::size_t node) {
    to_.LiveUntil(storage, to_.Op(node).last);
    if (to_.At(storage).kind == StorageKind::kActivation)
      to_.At(storage).kind = StorageKind::kSaved;
  }

  /// Returns the storages that an operator gets as arguments, by argument: storages that it or a
  /// nested operator reads, and that neither of them made.
  std::map<std::size_t, std::size_t> ArgumentsOf(std::size_t position) const {
    std::vector<Read> reads;
    for (const Read& read : accesses_[position].reads) {
      const Storage& storage = to_.At(read.storage);
      if (storage.life.birth < position || storage.is_cast) reads.push_back(read);
    }
    std::map<std::size_t, std::size_t> arguments;
    for (const TensorUse& use : to_.Op(position).tensors) {
      const auto same_type = [&](const Read& read) {
        return read.tensor.dtype == use.tensor.dtype || use.tensor.dtype == DType::kUnknown;
      };
      auto found = std::find_if(reads.rbegin(), reads.rend(), [&](const Read& read) {
        return read.tensor.dims == use.tensor.dims && same_type(read);
      });
      if (found == reads.rend()) {
        found = std::find_if(reads.rbegin(), reads.rend(), [&](const Read& read) {
          return Elements(read.tensor.dims) == Elements(use.tensor.dims) && same_type(read);
        });
      }
      if (found == reads.rend()) continue;
      arguments.emplace(use.argument, found->storage);
      reads.erase(std::next(found).base());
    }
    return arguments;
  }

  void ChangeUpdate() {
    for (Storage& storage : to_.out().storages)
      storage.removed |= storage.kind == StorageKind::kUpdate;
    // Optimizers with a second moment take the roots of all second moments at once.
    constexpr int kMoments = 2;
    if (to_.change().foreach_update && !to_.change().fused_update &&
        StateOf(to_.step()).tensors >= kMoments)
      to_.MakeForAllParameters(to_.step().list.size() - 1);
  }

  /// Frees the saved tensors of each repeated block at the block's end, and recomputes them at the
  /// start of the block's backward.
  void Checkpoint() {
    const std::vector<Lifetime> blocks = BlocksOfStep();
    const auto block_of = [&](std::size_t op) {
      const auto after =
          std::upper_bound(blocks.begin(), blocks.end(), op,
                           [](std::size_t at, const Lifetime& block) { return at < block.birth; });
      const bool inside = after != blocks.begin() && op <= std::prev(after)->death;
      return inside ? std::prev(after) : blocks.end();
    };
    std::map<std::size_t, std::size_t> backward;  // First backward node, by start of the block.
    for (const auto& [sequence, pair] : pairs_.pairs()) {
      const auto block = pair.creator == kNowhere ? blocks.end() : block_of(pair.creator);
      if (block == blocks.end()) continue;
      std::size_t& first = backward.try_emplace(block->birth, pair.node).first->second;
      first = std::min(first, pair.node);
    }
    for (Storage& storage : to_.out().storages) {
      if (storage.kind != StorageKind::kSaved && storage.kind != StorageKind::kActivation) continue;
      const auto block = block_of(storage.life.birth);
      // A tensor that another block reads is that block's input, which stays in memory.
      if (block == blocks.end() || !backward.contains(block->birth) ||
          std::any_of(storage.readers.begin(), storage.readers.end(),
                      [&](std::size_t reader) { return block_of(reader) != block; }))
        continue;
      storage.away = {.birth = backward.at(block->birth),
                      .death = std::min(storage.life.death, block->death)};
    }
  }

  /// Returns the bytes of the forward's tensors that a later operator reads, indexed by position.
  std::vector<double> BytesAcross() {
    std::vector<double> changes(to_.step().list.size() + 1);
    for (const Storage& storage : to_.out().storages) {
      if (storage.readers.empty()) continue;
      const std::size_t last = *std::max_element(storage.readers.begin(), storage.readers.end());
      if (last <= storage.life.birth) continue;
      changes[storage.life.birth] += storage.BytesAt(1);
      changes[last] -= storage.BytesAt(1);
    }
    std::partial_sum(changes.begin(), changes.end(), changes.begin());
    return changes;
  }

  std::vector<Lifetime> BlocksOfStep() {
    std::vector<Lifetime> blocks;
    const std::vector<double> crossing = BytesAcross();
    const auto cost = [&](const LaunchingOperator& before) {
      const auto position = to_.step().positions.find(before.op);
      return position == to_.step().positions.end() ? 0 : crossing[position->second];
    };
    for (const Block& block : FindBlocks(job_, cost)) {
      const auto first = to_.step().positions.find(block.operators.front().op);
      const auto last = to_.step().positions.find(block.operators.back().op);
      if (first != to_.step().positions.end() && last != to_.step().positions.end())
        blocks.push_back({.birth = first->second, .death = to_.Op(last->second).last});
    }
    std::sort(blocks.begin(), blocks.end(),
              [](const Lifetime& a, const Lifetime& b) { return a.birth < b.birth; });
    const std::set<std::size_t>& chosen = to_.change().checkpointed_blocks;
    if (chosen.empty()) return blocks;
    std::vector<Lifetime> some;
    for (const std::size_t block : chosen) {
      if (block < blocks.size()) some.push_back(blocks[block]);
    }
    return some;
  }

  const Job& job_;
  LifetimeRecorder to_;
  const AutogradPairs pairs_;
  /// Accesses of the forward and the update, indexed by position.
  std::vector<Accesses> accesses_;
  std::set<std::vector<std::int64_t>> parameter_shapes_;
  std::map<WeightShape, std::size_t> trained_;  ///< Gradients and additions to them.
  std::size_t micro_batches_ = 1;               ///< Backward passes per update.
};

}  // namespace

double AllocatedBytes(double bytes) {
  constexpr double kBlock = 512;
  return std::ceil(bytes / kBlock) * kBlock;
}

double Storage::BytesAt(double batch_ratio) const {
  return removed ? 0 : AllocatedBytes(elements * element_bytes * (grows ? batch_ratio : 1));
}

std::vector<Lifetime> Storage::Lives() const {
  if (!away) return {life};
  std::vector<Lifetime> lives = {{.birth = life.birth, .death = away->death}};
  if (life.death >= away->birth) lives.push_back({.birth = away->birth, .death = life.death});
  return lives;
}

TensorLifetimes FindTensorLifetimes(const Job& job, const StepOperators& step,
                                    const MemoryChange& change) {
  return LifetimeFinder(job, step, change).Find();
}

}  // namespace headroom
