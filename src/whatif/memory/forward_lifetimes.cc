#include "whatif/memory/forward_lifetimes.h"

#include <algorithm>
#include <array>
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
      if (const auto storage = held_.Take(seen, stays(seen), taken)) {
        held_.Hold(*view, *storage);
      } else if (Elements(view->dims) < Elements(seen.dims)) {
        parts_.insert(ShapeOfWeight(view->dims));
      }
      return;
    }
    if (op.tasks.empty()) return;
    to_.out().forward_is_seen |= forward;
    if (to_.step().InUpdate(position)) BeginUpdateAt(position);
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
      if (!held) ReadUnwritten(launch, use);
      const std::optional<std::size_t> read = AsRead(launch, use.tensor, held);
      if (!read) continue;
      launch.taken.storages.push_back(*read);
      launch.reads.push_back({.tensor = use.tensor, .storage = *read});
      to_.LiveUntil(*read, launch.position);
    }
  }

  /// Forgets the temporary tensors of the previous parameter if the optimizer's loop begins again.
  /// Its last tensor stays in a Python variable until the same operator makes the next one.
  void BeginUpdateAt(std::size_t position) {
    const StepOperators& step = to_.step();
    if (update_begin_ == kNowhere && InOptimizer(position)) update_begin_ = position;
    if (update_begin_ == kNowhere || to_.Op(position).name != to_.Op(update_begin_).name) return;
    held_ = {};
    if (!last_of_update_) return;
    const std::string_view maker = to_.Op(to_.At(*last_of_update_).life.birth).name;
    for (std::size_t next = position; next < step.list.size(); ++next) {
      if (step.list[next].name != maker || step.list[next].tasks.empty()) continue;
      to_.LiveUntil(*last_of_update_, next);
      break;
    }
    last_of_update_.reset();
  }

  bool InOptimizer(std::size_t position) const {
    for (std::size_t op = position; op != kNowhere; op = to_.Op(op).parent) {
      if (to_.Op(op).name.starts_with("Optimizer.step#")) return true;
    }
    return false;
  }

  /// Records weights of products, convolutions and embeddings, and their copies by autocast.
  void ReadUnwritten(const Launch& launch, const TensorUse& use) {
    using Weight = std::pair<std::string_view, std::size_t>;
    constexpr std::array<Weight, 8> kWeights = {{{"aten::addmm", 2},
                                                 {"aten::mm", 1},
                                                 {"aten::cudnn_convolution", 1},
                                                 {"aten::miopen_convolution", 1},
                                                 {"aten::_conv_depthwise2d", 1},
                                                 {"aten::index_select", 0},
                                                 {"aten::embedding", 0},
                                                 {"aten::copy_", 1}}};
    if (!to_.step().InForward(launch.position) || !IsFloating(use.tensor.dtype) ||
        use.tensor.dims.size() < 2)
      return;
    const StepOperator& op = to_.Op(launch.position);
    const auto is_weight = [&](const auto& weight) {
      return op.name == weight.first && use.argument == weight.second;
    };
    if (std::none_of(kWeights.begin(), kWeights.end(), is_weight) ||
        parts_.contains(ShapeOfWeight(use.tensor.dims)))
      return;
    const bool is_copy = op.name == "aten::copy_";
    // Autocast converts to 16 bits. Other copies are of data.
    if (is_copy && (op.parent == kNowhere || to_.Op(op.parent).name != "aten::_to_copy" ||
                    launch.tensors.front().tensor.dtype == use.tensor.dtype))
      return;
    to_.ReadWeight(is_copy ? "aten::mm" : op.name, use.tensor);
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
      if (update) last_of_update_ = written.back();
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
  std::set<WeightShape> parts_;     ///< Shapes of parts of weights.
  /// First operator of the optimizer's loop over parameters, and the last tensor made since then.
  std::size_t update_begin_ = kNowhere;
  std::optional<std::size_t> last_of_update_;
};

}  // namespace

std::vector<Accesses> WalkForward(LifetimeRecorder& recorder, const AutogradPairs& pairs,
                                  const std::set<std::vector<std::int64_t>>& weights) {
  return ForwardWalk(recorder, pairs, weights).Run();
}

}  // namespace headroom
