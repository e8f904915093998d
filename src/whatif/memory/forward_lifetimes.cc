#include "whatif/memory/forward_lifetimes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "cost/operator_args.h"
#include "whatif/job/autocast.h"
#include "whatif/memory/held_tensors.h"
#include "whatif/memory/operator_results.h"

namespace headroom {
namespace {

/// Returns the view that an operator without GPU work makes of its first argument; nullopt if it
/// makes none.
std::optional<TensorArg> ViewOf(const StepOperator& op) {
  if (op.name != "aten::as_strided" && op.name != "aten::view" && op.name != "aten::_unsafe_view" &&
      op.name != "aten::_reshape_alias")
    return std::nullopt;
  const TensorArg* seen = op.call ? TensorAt(*op.call, 0) : nullptr;
  if (seen == nullptr || seen->dtype == DType::kUnknown || !op.tasks.empty()) return std::nullopt;
  std::optional<std::vector<std::int64_t>> dims = IntListAt(*op.call, 1);
  if (!dims) return std::nullopt;
  std::int64_t known = 1;
  for (const std::int64_t extent : *dims) known *= extent == -1 ? 1 : extent;
  for (std::int64_t& extent : *dims) {
    if (extent == -1)
      extent = std::llround(Elements(seen->dims)) / std::max<std::int64_t>(1, known);
  }
  return TensorArg{.dims = *std::move(dims), .strides = {}, .dtype = seen->dtype};
}

class ForwardWalk {
 public:
  ForwardWalk(LifetimeRecorder& to, const AutogradPairs& pairs,
              const std::set<std::vector<std::int64_t>>& weights)
      : to_(to), pairs_(pairs), weights_(weights), accesses_(to.step().list.size()) {}

  std::vector<Accesses> Run() {
    for (std::size_t op = 0; op < to_.step().list.size(); ++op) Visit(op);
    return std::move(accesses_);
  }

 private:
  void Visit(std::size_t position) {
    const StepOperator& op = to_.Op(position);
    if (op.is_range || op.node != kNowhere || !op.call) return;
    const std::optional<std::set<double>> again = pairs_.ReadAgainAfter(position);
    const auto stays = [&](const TensorArg& tensor) {
      return !again || again->contains(Elements(tensor.dims));
    };
    const bool forward = to_.step().InForward(position);
    if (const std::optional<TensorArg> view = forward ? ViewOf(op) : std::nullopt) {
      Taken taken;
      const TensorArg& seen = *TensorAt(*op.call, 0);
      if (const auto storage = held_.Take(seen, stays(seen), taken)) held_.Hold(*view, *storage);
      return;
    }
    if (op.tasks.empty()) return;
    to_.out().forward_is_seen |= forward;
    Launch launch = LaunchAt(position);
    ReadArguments(launch, stays);
    const std::vector<std::size_t> written =
        launch.results ? WriteResults(launch) : WriteInPlace(launch);
    for (std::size_t around = position; around != kNowhere; around = to_.Op(around).parent) {
      Accesses& accesses = accesses_[around];
      accesses.reads.insert(accesses.reads.end(), launch.reads.begin(), launch.reads.end());
      accesses.written.insert(accesses.written.end(), written.begin(), written.end());
    }
    to_.AddWorkspace(position);
  }

  /// State of one operator with GPU work during its visit.
  struct Launch {
    std::size_t position = 0;
    std::vector<TensorUse> tensors;
    std::optional<std::vector<TensorArg>> results = {};
    std::optional<AutocastRule> rule = {};  ///< nullopt if types stay unchanged.
    Taken taken;
    std::vector<Read> reads;
    /// Element sizes of its inputs, without biases and numbers.
    std::vector<double> element_bytes = {};
  };

  Launch LaunchAt(std::size_t position) const {
    const StepOperator& op = to_.Op(position);
    Launch launch{.position = position, .tensors = op.tensors, .taken = {}, .reads = {}};
    for (TensorUse& use : launch.tensors) {
      if (use.tensor.dtype == DType::kUnknown) use.tensor.dtype = held_.TypeOf(use.tensor);
    }
    launch.results = ResultsOf(to_.step(), position);
    if (launch.results) {
      for (TensorArg& result : *launch.results) {
        if (result.dtype == DType::kUnknown) result.dtype = launch.tensors.front().tensor.dtype;
      }
    }
    if (to_.change().autocast && to_.step().InForward(position))
      launch.rule = AutocastRuleOf(op.name);
    return launch;
  }

  template <typename Stays>
  void ReadArguments(Launch& launch, Stays stays) {
    std::vector<TensorUse> uses = launch.tensors;
    if (to_.Op(launch.position).name == "aten::copy_" && !uses.empty()) uses.erase(uses.begin());
    // Matches the last argument first, because it is usually the tensor computed last. An in-place
    // operator starts with its first argument.
    if (launch.results) std::reverse(uses.begin(), uses.end());
    for (const TensorUse& use : uses) {
      const std::optional<std::size_t> held =
          held_.Take(use.tensor, stays(use.tensor), launch.taken);
      if (held && to_.step().InForward(launch.position))
        to_.At(*held).readers.push_back(launch.position);
      const std::optional<std::size_t> read = AsRead(launch, use.tensor, held);
      if (!read) continue;
      launch.taken.storages.push_back(*read);
      launch.reads.push_back({.tensor = use.tensor, .storage = *read});
      to_.LiveUntil(*read, launch.position);
    }
  }

  /// Returns the storage that the operator reads for a tensor. With autocast, this may be a cast
  /// copy.
  std::optional<std::size_t> AsRead(Launch& launch, const TensorArg& tensor,
                                    std::optional<std::size_t> held) {
    const bool is_float = IsFloating(tensor.dtype), is_bias = tensor.dims.size() < 2;
    const bool is_product = launch.rule == AutocastRule::kProduct;
    if (!held) {
      // The tensor is a parameter. Biases are read without a cast.
      if (!is_product || !is_float || is_bias) return std::nullopt;
      const std::size_t copy = MakeCast(launch, tensor, kHalfBytes);
      to_.At(copy).grows = false;
      launch.element_bytes.push_back(kHalfBytes);
      return copy;
    }
    const double bytes = to_.At(*held).element_bytes;
    if (is_float && !is_bias) launch.element_bytes.push_back(bytes);
    // A softmax converts its input inside its kernel.
    const bool to_float = launch.rule == AutocastRule::kFloat && bytes == kHalfBytes &&
                          !to_.Op(launch.position).name.ends_with("softmax");
    if (!is_float || !(to_float || (is_product && bytes == kFloatBytes))) return held;
    to_.LiveUntil(*held, launch.position);
    return MakeCast(launch, tensor, to_float ? kFloatBytes : kHalfBytes);
  }

  std::size_t MakeCast(const Launch& launch, const TensorArg& tensor, double element_bytes) {
    const std::size_t copy =
        to_.Make(tensor, launch.position, StorageKind::kActivation, element_bytes);
    to_.At(copy).is_cast = true;
    return copy;
  }

  /// Returns the element size of the first result; nullopt if the change does not alter it.
  std::optional<double> ResultBytes(const Launch& launch) const {
    if (!launch.rule) return std::nullopt;
    if (*launch.rule == AutocastRule::kProduct) return kHalfBytes;
    if (*launch.rule == AutocastRule::kFloat) return kFloatBytes;
    if (launch.element_bytes.empty()) return kFloatBytes;
    const std::string_view name = to_.Op(launch.position).name;
    // Uses the first argument, which was read last. Running statistics and weights do not count.
    if (name == "aten::copy_" || name.find("batch_norm") != std::string_view::npos)
      return launch.element_bytes.back();
    return *std::max_element(launch.element_bytes.begin(), launch.element_bytes.end());
  }

  std::vector<std::size_t> WriteResults(const Launch& launch) {
    const bool update = to_.step().InUpdate(launch.position);
    const StorageKind kind = update ? StorageKind::kUpdate : StorageKind::kActivation;
    std::vector<std::size_t> written;
    for (const TensorArg& result : *launch.results) {
      const std::optional<double> bytes =
          written.empty() ? ResultBytes(launch) : std::optional<double>();
      written.push_back(to_.Make(result, launch.position, kind, bytes));
      held_.Write(result, written.back());
    }
    if (written.empty() && update) AddUnrecordedLists(launch);
    // A recorded copy of a weight by autocast does not grow with the batch.
    const StepOperator& op = to_.Op(launch.position);
    if (op.name == "aten::copy_" && launch.reads.empty() && launch.tensors.size() > 1 &&
        weights_.contains(launch.tensors[1].tensor.dims)) {
      for (const std::size_t storage : written) to_.At(storage).grows = false;
    }
    return written;
  }

  /// Profilers do not record long lists. Assumes that an operator on such lists makes one tensor
  /// for each parameter.
  void AddUnrecordedLists(const Launch& launch) {
    if (!to_.Op(launch.position).name.starts_with("aten::_foreach") || !launch.tensors.empty())
      return;
    to_.MakeForAllParameters(launch.position);
  }

  std::vector<std::size_t> WriteInPlace(Launch& launch) {
    if (launch.tensors.empty()) return {};
    const TensorArg& target = launch.tensors.front().tensor;
    const bool was_read = to_.Op(launch.position).name != "aten::copy_" &&
                          !launch.taken.storages.empty() &&
                          to_.At(launch.taken.storages.front()).elements == Elements(target.dims);
    const std::optional<std::size_t> storage =
        was_read ? launch.taken.storages.front() : held_.Take(target, false, launch.taken);
    if (!storage) return {};
    held_.Hold(target, *storage);
    to_.LiveUntil(*storage, launch.position);
    return {*storage};
  }

  LifetimeRecorder& to_;
  const AutogradPairs& pairs_;
  const std::set<std::vector<std::int64_t>>& weights_;
  HeldTensors held_;
  std::vector<Accesses> accesses_;  ///< Indexed by position.
};

}  // namespace

std::vector<Accesses> WalkForward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                                  const std::set<std::vector<std::int64_t>>& weights) {
  return ForwardWalk(recorder, pairs, weights).Run();
}

}  // namespace headroom
