#include "whatif/memory/backward_lifetimes.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cost/operator_args.h"
#include "whatif/job/gradients.h"
#include "whatif/memory/operator_results.h"

namespace headroom {
namespace {

class BackwardWalk {
 public:
  BackwardWalk(LifetimeRecorder& to, const AutogradPairs& pairs,
               const std::vector<Accesses>& forward)
      : to_(to), pairs_(pairs), forward_(forward) {}

  void Run() {
    for (const std::size_t node : to_.step().nodes) VisitNode(node);
  }

 private:
  /// Returns the storage that the backward wrote last with this size and type, or the storage
  /// written `before` writes earlier.
  std::optional<std::size_t> Latest(const TensorArg& tensor, std::size_t before = 0) const {
    const auto found = gradients_.find({Elements(tensor.dims), tensor.dtype});
    if (found == gradients_.end() || found->second.size() <= before) return std::nullopt;
    return found->second[found->second.size() - 1 - before];
  }

  std::size_t MakeGradient(const TensorArg& tensor, std::size_t op, StorageKind kind,
                           std::optional<double> element_bytes = {}) {
    const std::size_t storage = to_.Make(tensor, op, kind, element_bytes);
    gradients_[{Elements(tensor.dims), tensor.dtype}].push_back(storage);
    return storage;
  }

  void VisitNode(std::size_t node) {
    const std::vector<std::size_t> inside = Inside(node);
    if (inside.empty()) return;
    const StepOperator& first = to_.Op(inside.front());
    const std::string_view name = NameOfNode(to_.Op(node));
    for (const TensorUse& incoming : first.tensors) {
      const std::optional<std::size_t> storage = Latest(incoming.tensor);
      if (!storage) continue;
      to_.LiveUntil(*storage, to_.Op(node).last);
      // Both branches of a sum receive the same gradient.
      if (name == "AddBackward0") for_both_.push_back(*storage);
    }
    if (name == kAccumulateGrad) {
      if (!first.tensors.empty()) Accumulate(node, first.tensors.front().tensor);
      return;
    }
    for (const std::size_t op : inside) Visit(node, op);
  }

  /// Returns the operators and ranges whose innermost node is `node`, without the node.
  std::vector<std::size_t> Inside(std::size_t node) const {
    std::vector<std::size_t> inside;
    for (std::size_t op = node + 1; op <= to_.Op(node).last; ++op) {
      if (to_.Op(op).node == node) inside.push_back(op);
    }
    return inside;
  }

  /// Marks the gradient of a parameter as complete.
  void Accumulate(std::size_t node, const TensorArg& parameter) {
    if (to_.out().gradients_stay) return;
    std::optional<std::size_t> storage = Latest(parameter);
    if (!storage || to_.At(*storage).kind != StorageKind::kGradient)
      storage = MakeGradient(parameter, node, StorageKind::kGradient);
    if (AddsToGradient(to_.step(), Inside(node).front())) return;  // Adds to an existing gradient.
    Storage& gradient = to_.At(*storage);
    gradient.kind = StorageKind::kParameterGradient;
    gradient.element_bytes = BytesPerElement(gradient.dtype);
    gradient.grows = false;
    gradient.life.death = to_.step().list.size();
  }

  void Visit(std::size_t node, std::size_t position) {
    const StepOperator& op = to_.Op(position);
    if (op.is_range || !op.call) return;
    if (op.tasks.empty()) return HoldView(op);
    if (op.parent == node && IsAddition(op) && !op.tensors.empty())
      AddUp(op.tensors.front().tensor, position);
    if (const std::optional<std::vector<TensorArg>> results = ResultsOf(to_.step(), position)) {
      const std::optional<double> bytes = BytesInForward(to_.Op(node));
      for (const TensorArg& result : *results) {
        TensorArg made = result;
        if (made.dtype == DType::kUnknown) made.dtype = LatestTypeOf(made);
        to_.LiveUntil(MakeGradient(made, position, StorageKind::kGradient, bytes),
                      to_.Op(node).last);
      }
    }
    to_.AddWorkspace(position);
  }

  /// A part of a gradient keeps all of it. Views of the same size need no entry.
  void HoldView(const StepOperator& op) {
    const std::optional<TensorArg> view = ViewOf(op);
    if (!view) return;
    const TensorArg& seen = op.tensors.front().tensor;
    const double elements = Elements(view->dims);
    if (elements >= Elements(seen.dims)) return;
    if (const std::optional<std::size_t> storage = Latest(seen))
      gradients_[{elements, view->dtype}].push_back(*storage);
  }

  /// Returns the first type in the list below in which the backward wrote a tensor of this size;
  /// float32 if there is none. Profilers do not record the types of tensors in lists.
  DType LatestTypeOf(const TensorArg& tensor) const {
    for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kF64}) {
      if (Latest({.dims = tensor.dims, .strides = {}, .dtype = dtype})) return dtype;
    }
    return DType::kF32;
  }

  /// Merges two gradients into one.
  void AddUp(const TensorArg& tensor, std::size_t op) {
    const std::optional<std::size_t> first = Latest(tensor);
    std::optional<std::size_t> second = Latest(tensor, 1);
    const auto held = std::find_if(for_both_.rbegin(), for_both_.rend(), [&](std::size_t storage) {
      return to_.At(storage).elements == Elements(tensor.dims);
    });
    if (held != for_both_.rend()) {
      second = *held;
      for_both_.erase(std::next(held).base());
    }
    if (first) to_.LiveUntil(*first, op);
    if (second) to_.LiveUntil(*second, op);
  }

  /// Returns the element size of the forward operator's output, because with autocast the gradient
  /// has that type. Returns nullopt without autocast, or if the output is unknown.
  std::optional<double> BytesInForward(const StepOperator& node) const {
    const std::size_t creator = pairs_.CreatorOf(node);
    if (!to_.change().autocast || creator == kNowhere) return std::nullopt;
    const Accesses& accesses = forward_[creator];
    for (const std::size_t written : accesses.written) {
      if (IsFloating(to_.At(written).dtype)) return to_.At(written).element_bytes;
    }
    for (const Read& read : accesses.reads) {
      if (IsFloating(read.tensor.dtype)) return to_.At(read.storage).element_bytes;
    }
    return std::nullopt;
  }

  LifetimeRecorder& to_;
  const AutogradPairs& pairs_;
  const std::vector<Accesses>& forward_;
  /// Storages by element count and type, sorted by write.
  std::map<std::pair<double, DType>, std::vector<std::size_t>> gradients_;
  std::vector<std::size_t> for_both_;  ///< Storages that both branches of a sum receive.
};

}  // namespace

bool AddsToGradient(const StepOperators& step, std::size_t accumulate) {
  const std::vector<std::size_t>& inside = step.list[accumulate].children;
  return std::any_of(inside.begin(), inside.end(),
                     [&](std::size_t child) { return IsAddition(step.list[child]); });
}

void WalkBackward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                  const std::vector<Accesses>& forward) {
  BackwardWalk(recorder, pairs, forward).Run();
}

}  // namespace headroom
